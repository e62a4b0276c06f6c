"""How tables of training runs write things: their words -> ours."""

from __future__ import annotations

import re
from functools import cache

from rigright.base.errors import AskError
from rigright.cost.training_adapters import NAMES
from rigright.facts.training import Trainer, find_optimizer, trainers

KERNELS = frozenset({"unsloth"})  # run beneath other programs
_SHARDINGS = (
    (r"zero[-_ ]?(?:dp[-_ ]*o)?3", "zero3"),
    (r"zero[-_ ]?(?:dp[-_ ]*o)?2", "zero2"),
    (r"zero[-_ ]?(?:dp[-_ ]*o)?1|distributed.optimizer", "zero1"),
    (r"hsdp|hybrid", "hsdp"),
    (r"fsdp|full_shard", "fsdp"),
)
_METHODS = ((r"qlora", "qlora"), (r"dora", "dora"), (r"full|pretrain|sft|^train|^$", "full"))
_PAIRED = re.compile(r"rlhf=[a-z/]*(?:dpo|orpo|cpo|simpo|rm)\b")
_REFERENCES = {"dpo": 1, "kto": 1, "gkd": 1, "grpo": 1, "ppo": 3}
_RLHF = re.compile(r"rlhf=([a-z]+)")
_SHORT = re.compile(r"samples may be shorter|\bunpacked|variable.length.*short")
_KNOWN = {  # what a cell must bear to be understood
    "method": r"full|train|sft|fine.?tun|lora|dora|peft|adapter|boft|bone|llamapro|ia3|prefix|prompt|^$",
    "precision": r"[bf][fp]16|float16|half|mixed|amp|^16|[ft][fp]32|float32|^32"
    r"|fp8|float8|mxfp|fp4|4.?bit|nf4|int4|^$",
    "sharding": r"zero[-_ ]?(?:dp[-_ ]*o)?[0-3]|distributed.optimizer|hsdp|hybrid|fsdp|full_shard"
    r"|none|ddp|offload|replica|^(?:no|-)?$",
}
_RECOMPUTES = {
    "full": {"full", "true", "yes", "on", "block", "uniform"},
    "selective": {"selective", "core_attn"},
    "none": {"none", "false", "no", "off"},
}
_WORD = re.compile(r"[a-z0-9]+")
_RANK = re.compile(r"(?:lora[_ ]r(?:ank)?=|\br=|\brank)(\d+)")
_TARGETS = re.compile(r"targets=([^;=]*?)(?:;|$|\s\w+=)")
_CHUNKED = re.compile(r"cce=true|liger|fused.?linear|chunked.?(?:loss|ce|cross)|cut.?cross.?entropy")
_VIRTUAL = re.compile(
    r"num-layers-per-virtual-pipeline-stage=(\d+)|(?:num-virtual-stages-per-pipeline-rank|\bvpp?)=(\d+)"
)
_DROPOUT = re.compile(r"(?:hidden|resid)[-_]dropout=([01]?\.?\d*)")
_ACCUMULATED = re.compile(r"(?:grad_accum|gradient_accumulation_steps)=(\d+)\b")
_SCORES = re.compile(r"\beager\b|attention-backend=(?:unfused|local)")
_PLAIN_CORE = re.compile(r"transformer-impl=local")
_NO_FLASH = re.compile(r"no flash")
_FLASH = re.compile(r"flash")
_ANY_ADAM = frozenset({"", "adam", "adamw"})
_ALL_LINEAR = frozenset({"linear", "all-linear", "all", "all_linear"})


def trainer_of(framework: str, *, month: str | None = None) -> Trainer | None:
    """The training program whose longest known name stands in the text, as it was in that month."""
    text = _plain(framework)
    if text.startswith("mlperf"):
        return trainers()["megatron"]
    known = {word: row for row in trainers().values() for word in (row.id, *row.aliases)}
    found = [word for word in known if re.search(rf"(?:^|-){re.escape(_plain(word))}(?:-|$)", text)]
    if not found:
        return None
    return known[max(found, key=lambda word: (known[word].id in KERNELS, len(word)))].at(month)


def month_of(source: str) -> str | None:
    """The month that a source names, 2023-10; of a year alone its last, of several the first."""
    found = re.search(r"(?<!\d)(20[12]\d)(?:[-_]?(0[1-9]|1[0-2]))?(?!\d)", source)
    return f"{found.group(1)}-{found.group(2) or '12'}" if found else None


def _plain(text: str) -> str:
    return "-".join(_WORD.findall(text.lower()))


def method_of(method: str, precision: str) -> str:
    """full, lora, qlora or dora; every other adapter counts as lora."""
    text = method.lower()
    found = next((ours for pattern, ours in _METHODS if re.search(pattern, text)), "lora")
    return "qlora" if found == "lora" and re.search(r"4.?bit|nf4|int4", precision.lower()) else found


def sharding_of(sharding: str) -> str:
    """none, zero1-3, fsdp, hsdp."""
    return next((ours for pattern, ours in _SHARDINGS if re.search(pattern, sharding.lower())), "none")


def offload_of(text: str) -> str:
    """Whether parameters and states lie on the host."""
    lowered = re.sub(r"(?:activations?|inputs?) offload\w*", "", text.lower())
    return "all-cpu" if "offload" in lowered and "no offload" not in lowered else "none"


def is_inputs_offloaded(text: str) -> bool:
    """Whether what recompute keeps lies on the host."""
    return bool(re.search(r"full\+offload|(?:activations?|inputs?) offload", text.lower()))


def is_step_in_backward(text: str) -> bool:
    """Whether gradients are used and freed one by one."""
    return bool(re.search(r"\bin[ _-](?:bwd|backward)", text.lower()))


def precision_of(precision: str, trainer: Trainer, *, sharding: str) -> str | None:
    """The id of a precision; None where it is the trainer's own mixed precision."""
    text = precision.lower()
    if re.search(r"fp8|float8|mxfp|nvfp4", text):
        return None if trainer.mixed == "bf16-sharded" else "fp8"
    if re.search(r"[ft][fp]32|float32|^32", text):
        return "fp32"
    if not text and trainer.id.startswith("hf"):
        return "fp32"  # what transformers loaded by default up to its fourth version
    plain = trainer.id.startswith("hf") and not sharding.startswith("zero")
    return "bf16" if plain and re.fullmatch(r"bf16|bfloat16|fp16|float16", text) else None


def recompute_of(recompute: str) -> str | None:
    """none, selective, full; None where the row does not say."""
    text = recompute.strip().lower().partition("+")[0]
    return next((ours for ours, known in _RECOMPUTES.items() if text in known), None)


@cache
def optimizer_of(optimizer: str) -> str | None:
    """The id of an optimizer; None where the row leaves it to the trainer, or names none we know."""
    text = _plain(optimizer)
    if text in _ANY_ADAM:
        return None
    try:
        return find_optimizer(text).id
    except AskError:
        return None


def is_loose(optimizer: str) -> bool:
    """Whether a cell names no more than Adam: its states may be of any width."""
    return _plain(optimizer) in _ANY_ADAM


def says_flash(text: str) -> bool:
    """Whether the text tells which kernel attends."""
    return bool(re.search(r"flash|\bfa2?\b|sdpa|eager|unsloth", text.lower()))


def is_known(column: str, cell: str) -> bool:
    """Whether a cell of words is understood."""
    if column == "recompute":
        return not cell or recompute_of(cell) is not None
    if column == "optimizer":
        return _plain(cell) in _ANY_ADAM or optimizer_of(cell) is not None
    return bool(re.search(_KNOWN[column], cell.strip().lower()))


def rank_of(text: str) -> int | None:
    """The rank of adapters, where the text tells it."""
    found = _RANK.search(text.lower())
    return int(found.group(1)) if found else None


def targets_of(text: str) -> str | None:
    """Which matrices carry adapters, where the text tells it."""
    found = _TARGETS.search(text)
    words = found.group(1).split() if found else []
    if any(word in _ALL_LINEAR for word in words):
        return "linear"
    names = [word.removesuffix("_proj") for word in words]
    if names and all(name in NAMES for name in names):
        return " ".join(names)
    if "mlp" in "".join(words):
        return "linear"
    return "ffn" if "target-mlp" in text else None


def is_chunked(text: str) -> bool:
    """Whether logits never stand whole."""
    return bool(_CHUNKED.search(text.lower()))


def virtual_stages(text: str, *, layers: int, pp: int) -> int:
    """Model chunks a pipeline rank holds."""
    found = _VIRTUAL.search(text.lower())
    if found is None:
        return 1
    a_chunk, chunks = found.groups()
    return max(1, layers // pp // int(a_chunk)) if a_chunk else int(chunks)


def is_sequence_parallel(text: str) -> bool:
    """Whether norms and dropout are divided over tensor ranks."""
    return bool(re.search(r"sequence.parallel=true|\bsp=(?:true|1)\b", text.lower()))


def is_paired(text: str) -> bool:
    """Whether a sample is a pair: a chosen and a rejected answer."""
    return bool(_PAIRED.search(text.lower()))


def references_of(text: str) -> int:
    """Frozen models beside the one that learns."""
    found = _RLHF.search(text.lower())
    return _REFERENCES.get(found.group(1), 0) if found else 0


def is_short(text: str) -> bool:
    """Whether samples are shorter than the length that was allowed, and not packed to it."""
    lowered = text.lower()
    return bool(_SHORT.search(lowered)) and "packing=true" not in lowered


def is_flash(text: str) -> bool:
    """Whether attention never keeps its scores."""
    lowered = text.lower()
    if _NO_FLASH.search(lowered):
        return False
    if _PLAIN_CORE.search(lowered) and not _FLASH.search(lowered):
        return False
    return not _SCORES.search(lowered)


def dropout_of(text: str) -> float | None:
    """Dropout on the stream between layers, where the text tells it."""
    found = _DROPOUT.search(text.lower())
    return float(found.group(1)) if found and found.group(1) not in {"", "."} else None


def accumulated(text: str) -> int | None:
    """Micro-batches of one optimizer step, where the text tells it."""
    found = _ACCUMULATED.search(text.lower())
    return max(1, int(found.group(1))) if found else None


def matmul_of(precision: str, framework: str) -> str:
    """The format of multiplications: of a round of submissions, where a cell tells of two."""
    text = precision.lower()
    round_of = re.search(r"fp4 in (v[\d.]+)", text)
    if round_of:
        return "nvfp4" if round_of.group(1) in framework.lower() else "fp8"
    found = re.search(r"nvfp4|mxfp8|fp8|float8", text)
    return found.group().replace("float8", "fp8") if found else "16bit"


def is_compiled(text: str) -> bool:
    """Whether a compiler fused the cheap operations."""
    lowered = text.lower()
    told = re.search(r"torch[.-]compile|\+ ?compile|compile=true|fused (?:ln|layer ?norm|rmsnorm)", lowered)
    return told is not None and "no torch.compile" not in lowered


def mean_tok(text: str) -> int | None:
    """Tokens of a sample on average, where they vary and the text tells it."""
    found = re.search(r"mean (\d+) tok|\b(\d+) mean tok", text.lower())
    return int(found.group(1) or found.group(2)) if found else None


def is_padding_counted(text: str) -> bool:
    """Whether the tokens that are counted are those of whole batches, padding included."""
    return "mean tokens (padding" in text.lower()

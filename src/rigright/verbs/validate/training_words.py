"""How tables of training runs write things: their words -> ours."""

from __future__ import annotations

import re
from functools import cache

from rigright.arch.record import Arch
from rigright.base.errors import maybe
from rigright.base.tables import Row
from rigright.choice.training_runs import Reported
from rigright.cost.training.learners import GROUPS, NAMES
from rigright.demand import TrainingWish
from rigright.facts.training import Trainer, find_optimizer, labelled, optimizers, precisions, trainers
from rigright.verbs.validate.foreign import word

KERNELS = frozenset({"unsloth"})  # run beneath other programs
_RECIPE = re.compile(r"nemo|bridge|mlperf", re.IGNORECASE)
_WORD = re.compile(r"[a-z0-9]+")
_ANY_ADAM = frozenset({"", "adam", "adamw"})
_ALL_LINEAR = frozenset({"linear", "all-linear", "all", "all_linear"})


@cache
def trainer_of(framework: str, *, month: str | None = None) -> Trainer | None:
    """The training program whose longest known name stands in the text, as it was in that month."""
    named = labelled(framework, trainers())
    if named is not None:
        return named.at(month)
    text = _plain(framework)
    if text.startswith("mlperf"):
        return trainers()["megatron"]
    known = {word: row for row in trainers().values() for word in (row.id, *row.aliases)}
    texts = [word for word in known if re.search(rf"(?:^|-){re.escape(_plain(word))}(?:-|$)", text)]
    if not texts:
        return None
    return known[max(texts, key=lambda word: (known[word].id in KERNELS, len(word)))].at(month)


def month_of(source: str) -> str | None:
    """The month that a source names, 2023-10; of a year alone its last, of several the first."""
    match = re.search(r"(?<!\d)(20[12]\d)(?:[-_]?(0[1-9]|1[0-2]))?(?!\d)", source)
    return f"{match.group(1)}-{match.group(2) or '12'}" if match else None


def _plain(text: str) -> str:
    return "-".join(_WORD.findall(text.lower()))


def meant(column: str, cell: str, *, beside: str = "") -> str | None:
    """What a cell is read as beside another (data/foreign.toml); None: it is not understood."""
    row = word(column, cell, beside=beside)
    return None if row is None else row["is"]


def method_of(method: str, precision: str) -> str:
    """full, lora, qlora or dora; what is not understood counts as lora."""
    beside = precision.lower()
    return meant("method", method, beside=beside) or meant("method", "lora", beside=beside) or "lora"


def precision_of(precision: str, trainer: Trainer, *, sharding: str) -> str | None:
    """The id of a precision; None where it is the trainer's own mixed precision."""
    named = labelled(precision, precisions())
    if named is not None:
        return named.id
    return meant("precision", precision, beside=f"{trainer.id} {trainer.mixed} {sharding}") or None


@cache
def _optimizer_of(optimizer: str) -> str | None:
    """The id of an optimizer; None where the row leaves it to the trainer, or names none we know."""
    named = labelled(optimizer, optimizers())
    if named is not None:
        return named.id
    text = _plain(optimizer)
    if text in _ANY_ADAM:
        return None
    return maybe(lambda: find_optimizer(text).id)


def _is_loose(optimizer: str) -> bool:
    """Whether a cell names no more than Adam: its states may be of any width."""
    return _plain(optimizer) in _ANY_ADAM


def is_known(column: str, cell: str) -> bool:
    """Whether a cell of words is understood."""
    if column == "optimizer":
        return _is_loose(cell) or _optimizer_of(cell) is not None
    named = column == "precision" and labelled(cell, precisions()) is not None
    return named or meant(column, cell) is not None


def targets_of(cell: str | None) -> str | None:
    """Which matrices carry adapters, where a cell tells it."""
    words = (cell or "").split()
    if len(words) == 1 and words[0] in GROUPS:
        return words[0]
    if any(word in _ALL_LINEAR for word in words):
        return "linear"
    names = [word.removesuffix("_proj") for word in words]
    if names and all(name in NAMES for name in names):
        return " ".join(names)
    return "linear" if "mlp" in "".join(words) else "ffn" if words == ["ffn"] else None


def matmul_of(precision: str, framework: str) -> str:
    """The format of multiplications: of a round of submissions, where a cell tells of two."""
    return meant("matmul", f"{precision} @ {framework}") or "16bit"


def reported(row: Row, arch: Arch, *, trainer: Trainer) -> Reported:
    """What a row tells of a run, in our words."""

    def cell(column: str) -> str:
        return row.get(column) or ""

    sharding = (meant("sharding", cell("sharding")) or "none") if cell("sharding") else None
    return Reported(
        arch=arch,
        trainer=trainer,
        wish=TrainingWish(
            method=method_of(cell("method"), cell("precision")),
            optimizer=_optimizer_of(cell("optimizer")),
            precision=precision_of(cell("precision"), trainer, sharding=sharding or "none"),
            sharding=sharding,
            recompute=meant("recompute", cell("recompute")) or None,
            rank=row.get("lora_rank"),
            targets=targets_of(row.get("lora_targets")),
            global_batch=row.get("global_batch"),
            chunked_loss=bool(row.get("chunked_loss")),
            compiled=bool(row.get("compiled")),
            **{name: row.get(name) for name in _SAID},
        ),
        beside={
            "matmul": matmul_of(cell("precision"), cell("framework")),
            "dropout": row.get("dropout"),
            **{name: bool(row.get(name)) for name in ("offload_inputs", "step_in_backward")},
        },
        n_chips=row.get("n_chips"),
        learns_from=cell("rlhf"),
        pretrains="pretrain" in cell("method"),
        loose=_is_loose(cell("optimizer")),
        recipe=bool(_RECIPE.search(cell("framework"))),
        names_optimizer=bool(cell("optimizer")),
        names_attention=bool(row.get("attention_named")),
        layers_per_chunk=row.get("layers_per_chunk"),
        mean_tok=row.get("mean_tok"),
        **{name: bool(row.get(name)) for name in _OF_SAMPLES},
    )


_SAID = (
    "seq_tok", "micro_batch", "accumulate", "virtual_stages", "offload", "schedule", "base",
    "flash", "sequence_parallel", "tp", "pp", "cp", "ep", "dp",
)  # fmt: skip
_OF_SAMPLES = ("paired", "padding_free", "padding_counted", "short_samples")

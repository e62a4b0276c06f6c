"""Megatron-LM: its pretrain_gpt.py under torchrun, told the model's shape, the layout and the batch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import cast

from rigright.arch.record import Arch, Ffn, Mix, Mixer
from rigright.base.errors import AskError
from rigright.base.words import Sentence, say
from rigright.cost.shards import stage_bounds
from rigright.export.launch import Launch
from rigright.export.launches import torchrun
from rigright.export.text import DATA, TRAIN_ITERS, Words, given, script

NAME = "megatron"
CHECKPOINTS = "checkpoints"  # the notes of the table name it too
_SHARDED = {"zero2": "optim_grads", "zero3": "optim_grads_params", "fsdp": "optim_grads_params"}
_SHARDED["hsdp"] = _SHARDED["fsdp"]
_PRECISIONS = {"bf16-mixed": "--bf16", "fp16-mixed": "--fp16", "fp8": "--bf16", "fp32": None}
_YARN = ("yarn", 4096, 32, 1)  # of latent attention; no flag sets other values
_BLACKWELL = (10, 0)


def export(launch: Launch) -> dict[str, str]:
    """The launch of its trainer."""
    return {"train.sh": script(command(launch), head=launch.head, environment=launch.environment)}


def command(launch: Launch) -> Words:
    """The launch; of several nodes, that of each."""
    arch = _trained(launch)
    return (
        *torchrun.command(launch)[:-1],
        ("pretrain_gpt.py",),
        *_shape(arch, seq_tok=launch.training.seq_tok),
        *_experts(arch),
        *_layout(launch, arch),
        *_steps(launch),
        ("--tokenizer-type", "HuggingFaceTokenizer"),
        ("--tokenizer-model", launch.model),
        ("--data-path", DATA),
        ("--split", "99,1,0"),
        ("--save", CHECKPOINTS),
        ("--load", CHECKPOINTS),
        ("--save-interval", "500"),
        ("--exit-signal-handler",),
        ("--log-interval", "10"),
        ("--log-throughput",),
        ("--distributed-timeout-minutes", "30"),
    )


def _shape(arch: Arch, *, seq_tok: int) -> Words:
    """The model's layers, heads, widths, norms and positions."""
    numerics, trunk = arch.numerics, arch.trunk
    weights = {weight for layer in set(trunk.layers) for weight in layer.weights}
    roles = {weight.role for weight in weights}
    mixer = _mixer(arch)
    dense = next((layer.ffn for layer in trunk.layers if layer.ffn and not layer.ffn.experts), None)
    routed = next((layer.ffn for layer in trunk.layers if layer.ffn and layer.ffn.experts), None)
    ffn = cast("Ffn", dense or routed)
    latent = mixer.kind == Mix.LATENT
    learned = any(weight.role == "position" for weight in trunk.outer)
    grouped = not latent and mixer.kv_heads < mixer.heads
    return (
        *given(
            ("--num-layers", len(trunk.layers)),
            ("--hidden-size", trunk.hidden),
            ("--ffn-hidden-size", ffn.width),
            ("--num-attention-heads", mixer.heads),
            ("--group-query-attention", grouped),
            ("--num-query-groups", mixer.kv_heads if grouped else None),
            ("--kv-channels", None if latent else mixer.key_dim),
            (
                "--qk-layernorm",
                latent or any(item.role == "norm" and item.shape == (mixer.key_dim,) for item in weights),
            ),
            ("--normalization", "LayerNorm" if "norm.bias" in roles else "RMSNorm"),
            ("--norm-epsilon", numerics.norm_epsilon),
            ("--swiglu", ffn.gated),
            ("--disable-bias-linear", "attn.o.bias" not in roles),
            ("--add-qkv-bias", "attn.q.bias" in roles and "attn.o.bias" not in roles),
            ("--untie-embeddings-and-output-weights", not arch.tied),
            ("--vocab-size", arch.vocab),
            ("--position-embedding-type", "learned_absolute" if learned else "rope"),
            ("--max-position-embeddings", max(arch.max_context_tok or seq_tok, seq_tok)),
            ("--rotary-base", None if learned or numerics.rotary_base is None else int(numerics.rotary_base)),
            ("--rotary-percent", numerics.rotary_share),
        ),
        *(_latent(arch) if latent else _stretched(arch)),
    )


def _mixer(arch: Arch) -> Mixer:
    """The attention of a layer: every layer of those families has one."""
    return cast("Mixer", arch.trunk.layers[0].mixer)


def _latent(arch: Arch) -> Words:
    """Latent attention: the widths of its projections, and how its positions are stretched."""
    roles = {weight.role: weight.shape for weight in arch.trunk.layers[0].weights}
    mixer, stretch = _mixer(arch), arch.numerics.stretch
    rows = roles["attn.kv_b"][0] // mixer.heads - mixer.value_dim
    return given(
        ("--multi-latent-attention", True),
        ("--q-lora-rank", roles.get("attn.q_a", (None,))[0]),
        ("--kv-lora-rank", roles["attn.kv_b"][1]),
        ("--qk-head-dim", rows),
        ("--qk-pos-emb-head-dim", mixer.key_dim - rows),
        ("--v-head-dim", mixer.value_dim),
        ("--rope-type", "yarn" if stretch else "rope"),
        ("--rotary-scaling-factor", stretch and stretch.factor),
        ("--mscale", stretch and stretch.mscale),
        ("--mscale-all-dim", stretch and stretch.mscale_all_dim),
    )


def _stretched(arch: Arch) -> Words:
    """Llama 3's way to longer contexts."""
    stretch = arch.numerics.stretch
    if stretch is None:
        return ()
    return given(("--use-rope-scaling", True), ("--rope-scaling-factor", stretch.factor))


def _experts(arch: Arch) -> Words:
    """A mixture of experts: how many, how wide, where, and how tokens find them."""
    numerics, layers = arch.numerics, arch.trunk.layers
    routed = next((layer.ffn for layer in layers if layer.ffn and layer.ffn.experts), None)
    if routed is None:
        return ()
    runs = groupby(int(bool(layer.ffn and layer.ffn.experts)) for layer in layers)
    pattern = "+".join(f"[{kind}]*{len(list(run))}" for kind, run in runs)
    gated = any(weight.role == "shared.router" for layer in layers for weight in layer.weights)
    balanced = numerics.scores == "sigmoid"  # by a bias of each expert, with next to no loss of its own
    return given(
        ("--num-experts", routed.experts),
        ("--moe-ffn-hidden-size", routed.width),
        ("--moe-layer-freq", f"({pattern})" if "+" in pattern else None),
        ("--moe-shared-expert-intermediate-size", routed.shared_width or None),
        ("--moe-shared-expert-gate", gated),
        ("--moe-router-topk", routed.per_tok),
        ("--moe-router-score-function", numerics.scores),
        ("--moe-router-pre-softmax", not balanced and numerics.renormalised is False),
        ("--moe-router-num-groups", numerics.groups if (numerics.groups or 1) > 1 else None),
        ("--moe-router-group-topk", numerics.group_topk if (numerics.groups or 1) > 1 else None),
        ("--moe-router-topk-scaling-factor", numerics.routed_scale),
        ("--moe-router-enable-expert-bias", balanced),
        ("--moe-router-load-balancing-type", "seq_aux_loss" if balanced else "aux_loss"),
        ("--moe-aux-loss-coeff", "1e-4" if balanced else "1e-3"),
        ("--moe-router-dtype", "fp32"),
        ("--moe-grouped-gemm", True),
        ("--moe-permute-fusion", True),
        ("--moe-token-dispatcher-type", "alltoall"),
    )


def _layout(launch: Launch, arch: Arch) -> Words:
    """Ranks of each kind of parallelism, and what of the states each holds."""
    trained, layers = launch.training, len(arch.trunk.layers)
    # experts are not trained over tensor ranks without it
    mixed = any(layer.ffn and layer.ffn.experts for layer in arch.trunk.layers)
    chunks = trained.virtual_stages if launch.pp > 1 else 1
    stages = launch.pp * chunks
    even = layers % stages == 0
    sharded, fsdp = trained.sharding != "none", _fsdp(launch)
    copies = launch.copies if trained.sharding == "hsdp" else 1
    return given(
        ("--tensor-model-parallel-size", launch.tp),
        ("--sequence-parallel", launch.tp > 1 and (launch.sequence_parallel or mixed)),
        ("--pipeline-model-parallel-size", launch.pp),
        ("--num-virtual-stages-per-pipeline-rank", chunks if chunks > 1 and even else None),
        ("--pipeline-model-parallel-layout", None if even else _stages(layers, stages)),
        ("--context-parallel-size", launch.cp),
        ("--expert-model-parallel-size", launch.ep),
        ("--expert-tensor-parallel-size", max(launch.tp // launch.ep, 1) if launch.ep > 1 else None),
        ("--use-distributed-optimizer", sharded),
        ("--use-megatron-fsdp", fsdp),
        ("--data-parallel-sharding-strategy", _SHARDED[trained.sharding] if fsdp else None),
        ("--num-distributed-optimizer-instances", copies if copies > 1 else None),
        ("--ckpt-format", "fsdp_dtensor" if fsdp else "torch_dist"),
        ("--no-gradient-accumulation-fusion", fsdp),
        ("--overlap-grad-reduce", launch.dp > 1),
        ("--overlap-param-gather", launch.dp > 1 and sharded),
        ("--use-precision-aware-optimizer", trained.offload == "optimizer-cpu"),
        ("--optimizer-cpu-offload", trained.offload == "optimizer-cpu"),
        ("--overlap-cpu-optimizer-d2h-h2d", trained.offload == "optimizer-cpu"),
    )


def _stages(layers: int, stages: int) -> str:
    """Layers that the stages do not share evenly, as the plan deals them out."""
    sizes = [last - first for first, last in stage_bounds(layers, stages)]
    words = [f"t*{size}" if size > 1 else "t" * size for size in sizes]
    return "|".join(
        ("E" * (place == 0)) + word + "L" * (place == stages - 1) for place, word in enumerate(words)
    )


def _steps(launch: Launch) -> Words:
    """Batch, precision, recomputing, optimizer and schedule."""
    trained = launch.training
    eight = trained.mixed == "fp8"
    blocks = (launch.capability or (0, 0)) >= _BLACKWELL
    flag = _PRECISIONS[trained.mixed]
    return given(
        ("--micro-batch-size", trained.micro_batch),
        ("--global-batch-size", trained.micro_batch * trained.accumulate * launch.dp),
        ("--seq-length", trained.seq_tok),
        ("--train-iters", TRAIN_ITERS if trained.steps is None else trained.steps),
        *(((flag, True),) if flag else ()),
        ("--fp8-format", ("e4m3" if blocks else "hybrid") if eight else None),
        ("--fp8-recipe", ("mxfp8" if blocks else "tensorwise") if eight else None),
        ("--recompute-granularity", None if trained.recompute == "none" else trained.recompute),
        ("--recompute-method", "uniform" if trained.recompute == "full" else None),
        ("--recompute-num-layers", 1 if trained.recompute == "full" else None),
        ("--attention-backend", None if trained.flash else "unfused"),
        ("--cross-entropy-loss-fusion", trained.chunked_loss),
        ("--hidden-dropout", f"{trained.dropout:g}"),
        ("--attention-dropout", f"{trained.dropout:g}"),
        ("--optimizer", trained.optimizer),
        ("--lr", "3e-4"),
        ("--min-lr", "3e-5"),
        ("--lr-decay-style", "cosine"),
        ("--lr-warmup-fraction", "0.01"),
        ("--weight-decay", "0.1"),
        ("--adam-beta1", "0.9"),
        ("--adam-beta2", "0.95"),
        ("--clip-grad", "1.0"),
    )


def _fsdp(launch: Launch) -> bool:
    return launch.training.sharding in _SHARDED


def _trained(launch: Launch) -> Arch:
    """The model, where Megatron trains it as planned; what it does not do is refused with what does."""
    arch = cast("Arch", launch.arch)  # the verb opens it for a program with families
    for asked, hint in (*_strange(launch, arch), *_refused(launch)):
        raise AskError(
            say("{engine} does not train {asked}", engine=launch.program.label, asked=asked), hint=hint
        )
    return arch


def _strange(launch: Launch, arch: Arch) -> Iterator[tuple[Sentence, Sentence]]:
    """What of a model it has no flags for, each with what to use."""
    other = say("use torchtitan, or --trainer hf with export accelerate")
    layers, stretch, seq_tok = arch.trunk.layers, arch.numerics.stretch, launch.training.seq_tok
    if arch.family not in launch.program.families or len(arch.towers) > 1:
        known = ", ".join(launch.program.families)
        yield say("models of the {family} family", family=arch.family), say("it trains: {known}", known=known)
        return
    windows = [layer.mixer.window_tok for layer in layers if layer.mixer and layer.mixer.window_tok]
    if windows and min(windows) < seq_tok:
        yield say("windows of {tokens} tokens in longer sequences", tokens=min(windows)), other
    if stretch is not None:
        yarn = (stretch.kind, stretch.original_max_position_embeddings, stretch.beta_fast, stretch.beta_slow)
        if yarn != _YARN if _mixer(arch).kind == Mix.LATENT else stretch.kind != "llama3":
            yield say("positions stretched like that ({kind})", kind=stretch.kind), other


def _refused(launch: Launch) -> Iterator[tuple[Sentence, Sentence]]:
    """What of a plan's choices it cannot carry out, each with what to use."""
    trained, wide = launch.training, 2 * launch.cp
    choices = {  # what was chosen, whether it is refused, what to use
        say("adapters ({method})", method=trained.method): (
            trained.is_adapter,
            say("use --trainer hf, or --method full"),
        ),
        say("in {precision}", precision=trained.mixed): (
            trained.mixed not in _PRECISIONS,
            say("use --precision: {known}", known=", ".join(_PRECISIONS)),
        ),
        say("with --offload {offload}", offload=trained.offload): (
            trained.offload not in {"none", "optimizer-cpu"},
            say("use --trainer deepspeed"),
        ),
        say("with --compiled"): (
            trained.compiled,
            say("it has fused kernels of its own: leave --compiled out"),
        ),
        say("with --schedule {schedule}", schedule=trained.schedule): (
            launch.pp > 1 and trained.schedule not in {"1f1b", "interleaved"},
            say("use 1f1b or interleaved"),
        ),
        say("with {sharding} and pipeline parallelism", sharding=trained.sharding): (
            _fsdp(launch) and launch.pp > 1,
            say("use --sharding zero1"),
        ),
        say(
            "sequences of {tokens} tokens over {ranks} context ranks", tokens=trained.seq_tok, ranks=launch.cp
        ): (
            launch.cp > 1 and trained.seq_tok % wide > 0,
            say("use a multiple of {tokens} tokens", tokens=wide),
        ),
    }
    yield from ((asked, hint) for asked, (is_refused, hint) in choices.items() if is_refused)

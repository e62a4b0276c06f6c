"""State spaces, alone or beside attention."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.arch import blocks
from rigright.arch.blocks import Block, beside, matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import (
    MTP_LAYERS,
    Sizes,
    Style,
    attend,
    layer,
    mtp_joint,
    read_sizes,
    text_arch,
)
from rigright.arch.defaults import full
from rigright.arch.families import kind_of
from rigright.arch.plan import listed, repeat
from rigright.arch.record import Arch, Cut, Ffn, Layer, Tower, Weight
from rigright.arch.ssm import mamba, mamba2, read_mamba, read_mamba2
from rigright.base.errors import DataError
from rigright.base.record import replace
from rigright.base.words import say


def bare_sizes(config: Config, *, tied: bool) -> Sizes:
    """Sizes of a model without attention."""
    return Sizes(
        hidden=config.size("hidden_size"),
        layers=config.layers("num_hidden_layers"),
        heads=1,
        kv_heads=1,
        head_dim=1,
        width=1,
        vocab=config.size("vocab_size"),
        tied=tied,
    )


def read_zamba(config: Config, name: str) -> Arch:
    """Zamba 1 and 2: Mamba layers, and before some of them one of a few blocks that all share."""
    second = config.raw.get("model_type") == "zamba2"
    config = full(config, "zamba2" if second else "zamba")
    hidden = config.size("hidden_size")
    style = Style(family=kind_of(config, "zamba"), norms=1)
    state = mamba2(read_mamba2(config)) if second else mamba(read_mamba(config))
    plain = layer(hidden, style, state)
    hybrids = [kind == "hybrid" for kind in _zamba_kinds(config, second=second)]
    joined = _joined(config, plain, state=state, uses=sum(hybrids), second=second)
    size = bare_sizes(config, tied=config.flag("tie_word_embeddings", default=True))
    layers = tuple(next(joined) if is_hybrid else plain for is_hybrid in hybrids)
    return text_arch(config, name, style=style, size=size, layers=layers)


def _zamba_kinds(config: Config, *, second: bool) -> list[object]:
    layers = config.layers("num_hidden_layers")
    values = listed(config, "layers_block_type", layers=layers)
    if values:
        return values
    chosen = set(config.sizes("hybrid_layer_ids", default=()))
    if not second:
        period, offset = config.size("attn_layer_period"), config.whole("attn_layer_offset")
        chosen = {2, *(index + 3 for index in range(layers) if index % period == offset)}
    chosen = chosen or {6, 12, 18, 24, 30, 36, 42, 47, 51}
    return ["hybrid" if index in chosen else "mamba" for index in range(layers)]


def _joined(config: Config, plain: Layer, *, state: Block, uses: int, second: bool) -> Iterator[Layer]:
    """The layers with a shared block: the first to use a block bears its weights."""
    hidden = config.size("hidden_size")
    count = config.size("num_mem_blocks", default=1)
    # attention over the state and the token's embedding side by side: twice the model's width
    wide = 2 * config.size("hidden_size")
    heads = config.size("num_attention_heads")
    mixer = blocks.gqa(
        heads,
        config.maybe("num_key_value_heads") or heads,
        head_dim=config.maybe("attention_head_dim") or wide // heads,
    )
    attention = beside(blocks.attention(wide, mixer), state)
    for use in range(uses):
        times = len(range(use, uses, count))
        block = _block(config, attention, state=state) if use < count else ()
        own = (
            *matrix("project", hidden, inputs=hidden, cut=Cut.WHOLE),
            *(_adapters(config) if second else ()),
        )
        yield replace(
            plain,
            weights=(*plain.weights, *own, *(replace(weight, sites=times) for weight in block)),
            mixer=attention.mixer,
            ffn=blocks.dense(hidden, _zamba_width(config)).ffn,
        )


def _zamba_width(config: Config) -> int:
    return config.maybe("intermediate_size") or 4 * config.size("hidden_size")


def _block(config: Config, attention: Block, *, state: Block) -> tuple[Weight, ...]:
    hidden = config.size("hidden_size")
    mixer = attention.mixer
    rows = mixer.heads * mixer.value_dim if mixer else 0
    queries = attention.weights[: len(attention.weights) - len(state.weights)]
    return (
        *(weight for weight in queries if weight.role != "attn.o"),
        *matrix("attn.o", hidden, inputs=rows, cut=Cut.IN),
        *blocks.dense(
            hidden, _zamba_width(config), bias=config.flag("add_bias_linear", default=False)
        ).weights,
        *norm(2 * hidden),
        *norm(hidden),
    )


def _adapters(config: Config) -> tuple[Weight, ...]:
    """What each use of a shared block adds of its own: low-rank terms on the feed-forward, and on q, k, v."""
    hidden, rank = config.size("hidden_size"), config.size("adapter_rank")
    wide = 2 * hidden
    low = (
        *matrix("ffn.gate_up.a", rank, inputs=hidden, cut=Cut.WHOLE),
        *matrix("ffn.gate_up.b", 2 * _zamba_width(config), inputs=rank, cut=Cut.OUT),
    )
    if not config.flag("use_shared_attention_adapter", default=False):
        return low
    pair = (
        *matrix("attn.qkv.a", rank, inputs=wide, cut=Cut.WHOLE),
        *matrix("attn.qkv.b", wide, inputs=rank, cut=Cut.OUT),
    )
    return (*low, *pair * 3)


_KINDS = {
    "M": "mamba",
    "linear_attention": "mamba",
    "mamba": "mamba",
    "*": "attention",
    "full_attention": "attention",
    "attention": "attention",
    "E": "moe",
    "moe": "moe",
    "-": "mlp",
    "mlp": "mlp",
}


def read_nemotron_h(config: Config, name: str) -> Arch:
    """Nemotron-H and Nemotron 3: layers that are one thing each: Mamba-2, attention, experts or dense."""
    kinds = _nemotron_h_kinds(config, "hybrid_override_pattern", "layers_block_type", "layer_types")
    style = Style(family="nemotron_h", norms=1)
    size = read_sizes(config, layers=len(kinds), tied=False)

    def build(kind: str) -> Layer:
        part = attend(size, style) if kind == "attention" else _part(config, kind)
        return layer(size.hidden, style, part)

    arch = text_arch(config, name, style=style, size=size, layers=repeat(kinds, build))
    count = config.layers(*MTP_LAYERS, default=0)
    if not count:
        return arch
    body = repeat(_nemotron_h_kinds(config, "mtp_hybrid_override_pattern", "mtp_layers_block_type"), build)
    spare = Tower(name="mtp", hidden=size.hidden, layers=body * count, outer=mtp_joint(size.hidden) * count)
    return replace(arch, spare=(spare,))


def _nemotron_h_kinds(config: Config, *keys: str) -> list[str]:
    """Each layer's kind, from a pattern ("M-M*E") or a list."""
    value = next((config.raw[key] for key in keys if config.raw.get(key) is not None), ["M", "E", "*", "-"])
    marks = [mark for mark in value if mark != "|"] if isinstance(value, str | list) else []
    try:
        return [_KINDS[str(mark)] for mark in marks]
    except KeyError as strange:
        raise DataError(
            say("{where}: no layer of type {kind}", where=config.where, kind=str(strange))
        ) from None


def _part(config: Config, kind: str) -> Block:
    hidden = config.size("hidden_size")
    if kind == "mamba":
        return mamba2(read_mamba2(config))
    if kind == "moe":
        return _moe(config, hidden)
    biased = config.flag("mlp_bias", default=False)
    return blocks.dense(hidden, config.size("intermediate_size"), gated=False, bias=biased)


def _moe(config: Config, hidden: int) -> Block:
    """Experts, of a smaller width than the model's where they are latent, and shared experts of the whole."""
    latent = config.maybe("moe_latent_size")
    ffn = Ffn(
        width=config.size("moe_intermediate_size"),
        gated=False,
        experts=config.size("n_routed_experts"),
        per_tok=config.size("num_experts_per_tok"),
    )
    routed = blocks.experts(latent or hidden, ffn)
    shared = config.whole("moe_shared_expert_intermediate_size")
    biased = config.flag("mlp_bias", default=False)
    weights = (
        *matrix("router", ffn.experts, inputs=hidden, cut=Cut.WHOLE),
        *(weight for weight in routed.weights if weight.role != "router"),
        *(matrix("project", latent, inputs=hidden, cut=Cut.WHOLE, bias=biased) if latent else ()),
        *(matrix("project", hidden, inputs=latent, cut=Cut.WHOLE, bias=biased) if latent else ()),
        *matrix("shared.up", shared, inputs=hidden, cut=Cut.OUT, bias=biased),
        *matrix("shared.down", hidden, inputs=shared, cut=Cut.IN, bias=biased),
    )
    return Block(weights, ffn=replace(ffn, shared_width=shared))

"""State spaces, alone or beside attention."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.arch import blocks
from rigright.arch.blocks import Block, matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import (
    MTP_LAYERS,
    Sizes,
    Style,
    attend,
    feed,
    layer,
    layer_types,
    mtp_joint,
    read_sizes,
    text_arch,
)
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, feeding, moe, routing
from rigright.arch.families import kind_of
from rigright.arch.plan import listed, repeat, sparse_layers
from rigright.arch.record import Arch, Cut, Ffn, Layer, Tower, Weight
from rigright.arch.ssm import Mamba, mamba, mamba2
from rigright.base.errors import DataError
from rigright.base.record import replace
from rigright.base.words import say


def read_mamba(config: Config, name: str) -> Arch:
    """Mamba and Falcon-Mamba: layers of one state-space mixer each, no feed-forward."""
    kind = kind_of(config, "mamba")
    # the authors' own keys, where they stand instead of Transformers'
    pairs = {"d_model": "hidden_size", "n_layer": "num_hidden_layers"}
    own = {new: config.raw[old] for old, new in pairs.items() if old in config.raw and new not in config.raw}
    multiple = config.whole("pad_vocab_size_multiple", default=1) or 1
    if own and multiple > 1:
        own["vocab_size"] = -(-config.size("vocab_size") // multiple) * multiple
    config = full(config.over(**own) if own else config, kind)
    hidden = config.size("hidden_size")
    dims = Mamba(
        hidden=hidden,
        inner=config.size("intermediate_size", "d_inner", default=config.size("expand", default=2) * hidden),
        state=config.size("state_size"),
        conv=config.size("conv_kernel"),
        dt_rank=dt_rank(config, "time_step_rank", hidden=hidden),
        bias=config.flag("use_bias", default=False),
        conv_bias=config.flag("use_conv_bias", default=True),
    )
    style = Style(family=kind, norms=1)
    size = bare_sizes(config, tied=config.flag("tie_word_embeddings", default=True))
    same = layer(hidden, style, mamba(dims))
    return text_arch(config, name, style=style, size=size, layers=(same,) * size.layers)


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


def dt_rank(config: Config, key: str, *, hidden: int) -> int:
    """The rank of the time steps: told, or a sixteenth of the width."""
    return -(-hidden // 16) if config.raw.get(key) in ("auto", None) else config.size(key)


def read_mamba2(config: Config, name: str) -> Arch:
    """Mamba-2: layers of one state-space mixer each, heads and groups."""
    hidden = config.size("hidden_size")
    dims = Mamba(
        hidden=hidden,
        inner=config.size("expand") * hidden,
        state=config.size("state_size"),
        conv=config.size("conv_kernel"),
        heads=config.size("num_heads"),
        groups=config.size("n_groups"),
        bias=config.flag("use_bias", default=False),
        conv_bias=config.flag("use_conv_bias", default=True),
        inner_norms=True,
    )
    style = Style(family="mamba2", norms=1)
    size = bare_sizes(config, tied=config.flag("tie_word_embeddings", default=False))
    same = layer(hidden, style, mamba2(dims))
    return text_arch(config, name, style=style, size=size, layers=(same,) * size.layers)


def read_jamba(config: Config, name: str) -> Arch:
    """Jamba: Mamba layers, attention every eighth, experts in every second."""
    style, size = Style(family="jamba"), read_sizes(config)
    hidden = config.size("hidden_size")
    mixers = {
        True: attend(size, style),
        False: mamba(replace(_dims(config, hidden), inner_norms=True)),
    }
    ffns = {True: routing(config, shared=False), False: None}

    def build(key: tuple[bool, bool]) -> Layer:
        attends, is_sparse = key
        feed = feeding(size, style, mixture=Mixture(), ffn=ffns[is_sparse])
        return layer(size.hidden, style, mixers[attends], feed)

    period, offset = config.size("attn_layer_period"), config.whole("attn_layer_offset")
    attends = (index % period == offset for index in range(size.layers))
    many = config.whole("num_experts") > 1
    sparse = sparse_layers(config, size.layers) if many else [False] * size.layers
    return text_arch(
        config, name, style=style, size=size, layers=repeat(zip(attends, sparse, strict=True), build)
    )


ATTENTION = frozenset({"attention", "full_attention"})


def read_bamba(config: Config, name: str) -> Arch:
    """Bamba, Granite 4 and Falcon-H1: Mamba-2 beside attention, in turns or in the same layer."""
    kind = kind_of(config, "bamba")
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family=kind,
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=False),
    )
    size = read_sizes(config)
    parallel = kind == "falcon_h1"
    whole, state = attend(size, style), mamba2(dims(config, normed=not parallel))
    feeds = _granite(config, size.hidden) if kind == "granitemoehybrid" else (feed(size, style),)
    mixers = {True: whole, False: beside(whole, state) if parallel else state}

    def build(attends: bool) -> Layer:  # noqa: FBT001 (a key of `repeat`)
        return layer(size.hidden, style, mixers[attends], *feeds)

    chosen = set(config.sizes("attn_layer_indices", default=()))
    kinds = layer_types(
        config, size.layers, default=lambda index: "attention" if index in chosen else "mamba"
    )
    return text_arch(
        config, name, style=style, size=size, layers=repeat([kind in ATTENTION for kind in kinds], build)
    )


def dims(config: Config, *, normed: bool = True) -> Mamba:
    """Mamba-2's dimensions under the keys these configs use."""
    hidden = config.size("hidden_size")
    inner = config.maybe("mamba_d_ssm") or config.size("mamba_expand") * hidden
    return Mamba(
        hidden=hidden,
        inner=inner,
        state=config.size("mamba_d_state"),
        conv=config.size("mamba_d_conv"),
        heads=config.size("mamba_n_heads"),
        groups=config.size("mamba_n_groups"),
        bias=config.flag("mamba_proj_bias", default=False),
        out_bias=config.flag("projectors_bias", default=False) if config.has("projectors_bias") else None,
        conv_bias=config.flag("mamba_conv_bias", default=True),
        inner_norms=normed or config.flag("mamba_rms_norm", default=False),
    )


def beside(attention: Block, state: Block) -> Block:
    """Attention and a state-space mixer side by side in one layer: it keeps a cache and a state."""
    if attention.mixer is None or state.mixer is None:
        return attention
    mixer = replace(
        attention.mixer,
        state32_elems=state.mixer.state32_elems,
        state16_elems=state.mixer.state16_elems,
    )
    return Block((*attention.weights, *state.weights), mixer=mixer)


def _granite(config: Config, hidden: int) -> tuple[Block, ...]:
    """Experts with a shared expert; the shared one alone where there are no experts."""
    if config.whole("num_local_experts", default=0):
        return (moe(hidden, routing(config), mixture=Mixture()),)
    width = config.size("shared_intermediate_size")
    return (feed(read_sizes(config, width=width), Style(family="granitemoehybrid")),)


def read_zamba(config: Config, name: str) -> Arch:
    """Zamba 1 and 2: Mamba layers, and before some of them one of a few blocks that all share."""
    second = config.raw.get("model_type") == "zamba2"
    config = full(config, "zamba2" if second else "zamba")
    hidden = config.size("hidden_size")
    style = Style(family=kind_of(config, "zamba"), norms=1)
    state = mamba2(_dims2(config, hidden)) if second else mamba(_dims(config, hidden))
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


def _dims(config: Config, hidden: int) -> Mamba:
    return Mamba(
        hidden=hidden,
        inner=config.size("mamba_expand") * hidden,
        state=config.size("mamba_d_state"),
        conv=config.size("mamba_d_conv"),
        dt_rank=dt_rank(config, "mamba_dt_rank", hidden=hidden),
        bias=config.flag("mamba_proj_bias", default=False),
        conv_bias=config.flag("mamba_conv_bias", default=True),
    )


def _dims2(config: Config, hidden: int) -> Mamba:
    return Mamba(
        hidden=hidden,
        inner=config.size("mamba_expand") * hidden,
        state=config.size("mamba_d_state"),
        conv=config.size("mamba_d_conv"),
        heads=config.size("n_mamba_heads"),
        groups=config.size("mamba_ngroups"),
        bias=config.flag("add_bias_linear", default=False),
        conv_bias=config.flag("use_conv_bias", default=True),
        inner_norms=True,
    )


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
        heads = config.size("mamba_num_heads")
        return mamba2(
            Mamba(
                hidden=hidden,
                inner=heads * config.size("mamba_head_dim"),
                state=config.size("ssm_state_size"),
                conv=config.size("mamba_d_conv", "conv_kernel"),
                heads=heads,
                groups=config.size("mamba_n_groups", "n_groups"),
                bias=config.flag("use_bias", default=False),
                conv_bias=config.flag("use_conv_bias", default=True),
                inner_norms=True,
            )
        )
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

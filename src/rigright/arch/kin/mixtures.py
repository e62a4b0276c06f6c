"""Experts beside attention of a kind of its own, or in an order that no row can say."""

from __future__ import annotations

from collections.abc import Callable

from rigright.arch import blocks
from rigright.arch.blocks import Block, borrow, matrix
from rigright.arch.config import Config
from rigright.arch.decoder import (
    SLIDING,
    Style,
    attend,
    every,
    feed,
    layer,
    layer_types,
    near_published,
    norm,
    read_sizes,
    text_arch,
    windows,
    with_mtp,
)
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, at, attentions, extras, feeding, moe, read_mixture, routing
from rigright.arch.families import kind_of
from rigright.arch.plan import listed, repeat
from rigright.arch.record import Arch, Cut, Ffn, Layer, Mix, Mixer, Weight
from rigright.arch.ssm import vector
from rigright.base.record import replace


def read_grok(config: Config, name: str) -> Arch:
    """Grok 1 and 2: four norms a layer, 8 experts, in the second a dense feed-forward beside them."""
    style, size = Style(family="grok", norms=4), read_sizes(config)
    ffn = routing(config, shared=False)
    experts = moe(size.hidden, ffn, mixture=Mixture())
    parts = [attend(size, style), experts]
    if config.flag("residual_moe", default=False):
        parts = [
            parts[0],
            replace(experts, ffn=replace(ffn, shared_width=size.width)),
            Block(feed(size, style).weights),
        ]
    same = layer(size.hidden, style, *parts)
    return near_published(text_arch(config, name, style=style, size=size, layers=(same,) * size.layers))


def read_arctic(config: Config, name: str) -> Arch:
    """Snowflake Arctic: a dense feed-forward in every layer and experts beside it in every second."""
    style, size = Style(family="arctic"), read_sizes(config)
    attention = attend(size, style)
    ffn = routing(config, shared=False)
    residual = config.flag("use_residual", "parallel_attn_mlp_res", default=True)
    beside = (
        Block((*norm(size.hidden, style), *feed(size, style, width=size.hidden).weights))
        if residual
        else Block(())
    )
    ffn = replace(ffn, shared_width=size.hidden if residual else 0)
    experts = replace(moe(size.hidden, replace(ffn, shared_width=0), mixture=Mixture()), ffn=ffn)

    def build(is_sparse: bool) -> Layer:  # noqa: FBT001 (a key of `repeat`)
        if not is_sparse:
            return layer(size.hidden, style, attention, feed(size, style))
        return layer(size.hidden, style, attention, experts, beside)

    period = config.size("moe_layer_frequency", default=1 if residual else 2)
    sparse = ((index + 1) % period == 0 for index in range(size.layers))
    return near_published(text_arch(config, name, style=style, size=size, layers=repeat(sparse, build)))


def read_dbrx(config: Config, name: str) -> Arch:
    """DBRX: fused q, k, v, LayerNorms without shifts, 16 experts of which 4 are used."""
    attention, ffn = config.part("attn_config"), config.part("ffn_config")
    size = read_sizes(
        config,
        kv_heads=attention.size("kv_n_heads", default=1),
        width=ffn.size("ffn_hidden_size", default=3584),
    )
    flat = config.over(
        moe_intermediate_size=size.width,
        num_local_experts=ffn.size("moe_num_experts", default=4),
        num_experts_per_tok=ffn.size("moe_top_k", default=1),
    )
    return read_mixture(flat, name, style=Style(family="dbrx"), mixture=Mixture(shared=False), size=size)


def read_jetmoe(config: Config, name: str) -> Arch:
    """JetMoE: attention has experts too, each with its own queries and outputs."""
    style = Style(family="jetmoe")
    kv_heads, top = config.size("num_key_value_heads"), config.size("num_experts_per_tok")
    width = config.size("kv_channels")
    size = read_sizes(
        config,
        heads=kv_heads * top,
        kv_heads=kv_heads,
        head_dim=width,
        tied=config.flag("tie_word_embeddings", default=True),
    )
    count = config.size("num_local_experts")
    experts = moe(size.hidden, routing(config, shared=False), mixture=Mixture())
    shift = Weight(role="other", shape=(size.hidden,))
    rows = kv_heads * width
    mixer = Mixer(kind=Mix.FULL, heads=kv_heads * top, kv_heads=kv_heads, key_dim=width, value_dim=width)
    attention = (
        *(
            Weight(role=role, shape=shape, cut=Cut.EXPERT, copies=count, used=top)
            for role, shape in (("attn.q", (rows, size.hidden)), ("attn.o", (size.hidden, rows)))
        ),
        *matrix("router", count, inputs=size.hidden, cut=Cut.WHOLE),
        *matrix("attn.k", rows, inputs=size.hidden, cut=Cut.KV),
        *matrix("attn.v", rows, inputs=size.hidden, cut=Cut.KV),
        shift,
    )
    feed = Block((*experts.weights, shift), ffn=experts.ffn)
    same = layer(size.hidden, style, Block(attention, mixer=mixer), feed)
    return text_arch(config, name, style=style, size=size, layers=(same,) * size.layers)


def read_qwen2_moe(config: Config, name: str) -> Arch:
    """Qwen1.5-MoE and Qwen2-MoE: biases on q, k, v; a gated shared expert beside the routed ones."""
    slides = config.flag("use_sliding_window", default=False)
    last = config.whole("max_window_layers", default=0)
    style = Style(
        family="qwen2_moe",
        qkv_bias=config.flag("qkv_bias", default=True),
        windows=windows(config, lambda index: index % 2 == 0 and index < last) if slides else (),
    )
    return read_mixture(config, name, style=style, mixture=Mixture(shared_gate=True))


def read_glm4_moe(config: Config, name: str) -> Arch:
    """GLM-4.5 to 4.7: biases on q, k, v, norms on q and k where asked, dense layers first, shared experts."""
    kind = kind_of(config, "glm4_moe")
    style = Style(
        family=kind,
        qkv_bias=config.flag("attention_bias", default=False),
        qk_norm="head" if config.flag("use_qk_norm", default=False) else "none",
    )
    width = config.size("hidden_size") // config.size("num_attention_heads")
    size = read_sizes(config, head_dim=config.maybe("head_dim") or width)
    return with_mtp(
        config, read_mixture(config, name, style=style, mixture=Mixture(dense_first=1), size=size)
    )


def read_hunyuan(config: Config, name: str) -> Arch:
    """Hunyuan-Large: pairs of layers share one cache: the second has no keys and values."""
    biased = config.flag("attention_bias", default=False)
    normed = config.flag("use_qk_norm", default=False)
    style = Style(family="hunyuan", qkv_bias=biased, out_bias=biased, qk_norm="head" if normed else "none")
    size = read_sizes(config)
    own = attend(size, style)
    group = config.size("cla_share_factor", default=1) if config.flag("use_cla", default=False) else 1
    attends = tuple(own if index % group == 0 else borrow(own) for index in range(size.layers))
    mixture = Mixture(shared=config.flag("use_mixed_mlp_moe", default=True))
    return near_published(
        read_mixture(config, name, style=style, mixture=mixture, attends=attends, size=size)
    )


def read_hunyuan_v1_moe(config: Config, name: str) -> Arch:
    """HunYuan MoE (A13B): norms on q and k, a shared expert as wide as a routed one."""
    biased = config.flag("attention_bias", default=False)
    style = Style(family="hunyuan_v1_moe", qkv_bias=biased, out_bias=biased, qk_norm="head")
    size = read_sizes(config)
    attention = attend(size, style)

    def build(ffn: Ffn) -> Layer:
        return layer(size.hidden, style, attention, feeding(size, style, mixture=Mixture(), ffn=ffn))

    ffns = [_routing(config, index) for index in range(size.layers)]
    return text_arch(config, name, style=style, size=size, layers=repeat(ffns, build))


def _routing(config: Config, index: int) -> Ffn:
    ffn = routing(config, index, shared=False)
    number = at(config, index, "num_shared_expert", default=1)
    return replace(ffn, shared_width=max(number, 1) * ffn.width)


def read_kolibri1(config: Config, name: str) -> Arch:
    """Kolibri and Flint: norms on q and k, a shared expert of its own width, sliding windows."""
    is_flint = config.raw.get("model_type") == "flint"
    config = full(config, "flint" if is_flint else "kolibri1")
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family=kind_of(config, "kolibri1"),
        qkv_bias=biased,
        out_bias=biased,
        qk_norm="head",
        norms=2 if is_flint else 4,
        windows=windows(config, _flint_slides(config) if is_flint else every(5)),
    )
    if is_flint and config.null("mlp_only_layers"):
        config = config.over(mlp_only_layers=[0, 1])
    return read_mixture(config, name, style=style, mixture=Mixture(sinks=is_flint))


def _flint_slides(config: Config) -> Callable[[int], bool]:
    """All but the first two, every fourth and the last."""
    last = config.layers("num_hidden_layers") - 1
    return lambda index: index >= 2 and index % 4 != 1 and index != last


def read_afmoe(config: Config, name: str) -> Arch:
    """Trinity (AFMoE) and Beam: gated attention, four norms a layer, norms on q and k, sliding windows."""
    is_beam = config.raw.get("model_type") == "beam"
    config = full(config, "beam" if is_beam else "afmoe")
    biased = config.flag("attention_bias", default=False)
    period = config.size("global_attn_every_n_layers", default=4)
    style = Style(
        family=kind_of(config, "afmoe"),
        qkv_bias=biased,
        out_bias=biased,
        qk_norm="head",
        norms=4,
        windows=windows(config, _beam_slides(config) if is_beam else every(period)),
    )
    mixture = Mixture(
        gate="wide", correction=not is_beam, dense_first=3 if is_beam else 0, shared=not is_beam
    )
    size = read_sizes(config)
    attends = attentions(size, style, mixture=mixture)
    if is_beam:
        bias = vector("attn.gate.bias", size.heads)
        attends = tuple(replace(block, weights=(*block.weights, *bias)) for block in attends)
    return read_mixture(config, name, style=style, mixture=mixture, attends=attends, size=size)


def _beam_slides(config: Config) -> Callable[[int], bool]:
    """All but every sixth layer and the last."""
    last = config.layers("num_hidden_layers") - 1
    return lambda index: bool((index + 1) % 6) and index != last


def read_laguna(config: Config, name: str) -> Arch:
    """Laguna and Step-3.7: norms on q and k, a gate a head, windows with heads of their own number."""
    gate = "head" if config.raw.get("gating") in {True, "per-head", None} else "wide"
    values = listed(config, "num_attention_heads_per_layer", layers=config.layers("num_hidden_layers"))
    heads = tuple(head for head in values if isinstance(head, int))
    mixture = Mixture(gate=gate, correction=True, dense_first=1)
    return read_gated(config, name, family="laguna", mixture=mixture, heads=heads)


def read_gated(
    config: Config, name: str, *, family: str, mixture: Mixture, heads: tuple[int, ...] = ()
) -> Arch:
    """A decoder with an output gate, and in each layer as many heads as listed."""
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family=family,
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=False),
        qk_norm="head",
    )
    size = read_sizes(config)
    kinds = layer_types(config, size.layers, default=lambda _: "full_attention")
    window = config.maybe("sliding_window")
    numbers = heads or (size.heads,) * size.layers

    def build(kind: str, number: int) -> Block:
        whole = attend(replace(size, heads=number), style, window_tok=window if kind in SLIDING else None)
        return extras(whole, size.hidden, gate=mixture.gate)

    made = {key: build(*key) for key in set(zip(kinds, numbers, strict=True))}
    attends = tuple(made[key] for key in zip(kinds, numbers, strict=True))
    return read_mixture(config, name, style=style, mixture=mixture, attends=attends, size=size)


def read_step3p5(config: Config, name: str) -> Arch:
    """Step-3.5 and 3.7 Flash, text part: gated attention, windows in three of four, a shared expert."""
    config = full(config, "step3p7_text")
    heads = config.size("num_attention_heads")
    other = config.part("attention_other_setting")
    sliding = config.maybe("num_sliding_attention_heads") or other.size("num_attention_heads", default=heads)
    kinds = layer_types(config, config.layers("num_hidden_layers"), default=lambda _: "full_attention")
    numbers = tuple(sliding if kind in SLIDING else heads for kind in kinds)
    return read_gated(
        config, name, family="step3p7", mixture=Mixture(gate="head", dense_first=3), heads=numbers
    )


def read_step3_text(config: Config, name: str) -> Arch:
    """Step-3's language part: compressed queries, one key-value head, listed layers with experts."""
    size = read_sizes(config, kv_heads=config.size("num_attention_groups", "num_key_value_heads", default=1))
    rank, rows = config.size("share_q_dim"), size.heads * size.head_dim
    whole = blocks.attention(size.hidden, blocks.gqa(size.heads, size.kv_heads, head_dim=size.head_dim))
    weights = (
        *matrix("attn.q_a", rank, inputs=size.hidden, cut=Cut.WHOLE),
        *blocks.norm(rank),
        *matrix("attn.q_b", rows, inputs=rank, cut=Cut.OUT),
        *(weight for weight in whole.weights if weight.role != "attn.q"),
    )
    attends = (Block(weights, mixer=whole.mixer),) * size.layers
    return near_published(read_mixture(config, name, style=Style(family="step3"), attends=attends, size=size))


def read_mimo_v2_flash(config: Config, name: str) -> Arch:
    """MiMo-V2-Flash: values narrower than keys, windows with more key-value heads, one dense layer."""
    size = read_sizes(config)
    values = listed(config, "hybrid_layer_pattern", layers=size.layers)  # 1: a window
    slides = (
        [bool(kind) for kind in values]
        if values
        else [index != 0 and bool((index + 1) % 6) for index in range(size.layers)]
    )
    kinds = layer_types(
        config, size.layers, default=lambda i: "sliding_attention" if slides[i] else "full_attention"
    )
    made = {wide: _attention(config, window=wide) for wide in (True, False)}
    attends = tuple(made[kind in SLIDING] for kind in kinds)
    biased = config.flag("attention_bias", default=False)
    style = Style(family="mimo_v2_flash", qkv_bias=biased)
    return read_mixture(config, name, style=style, mixture=Mixture(dense_first=1), attends=attends, size=size)


def _attention(config: Config, *, window: bool) -> Block:
    """Sliding layers may have heads of their own; their window counts the token itself as well."""
    of = "swa_" if window else ""
    heads = config.size(f"{of}num_attention_heads", "num_attention_heads")
    kv_heads = config.size(f"{of}num_key_value_heads", "num_key_value_heads")
    if window and not config.raw.get("swa_num_key_value_heads"):
        kv_heads *= 2
    span = config.maybe("sliding_window_size")
    mixer = replace(
        blocks.gqa(
            heads,
            kv_heads,
            head_dim=config.size(f"{of}head_dim", "head_dim"),
            window_tok=(span + 1 if span else config.size("sliding_window")) if window else None,
        ),
        value_dim=config.size(f"{of}v_head_dim", "v_head_dim"),
    )
    hidden, biased = config.size("hidden_size"), config.flag("attention_bias", default=False)
    key = "add_swa_attention_sink_bias" if window else "add_full_attention_sink_bias"
    block = blocks.attention(hidden, mixer, qkv_bias=biased)
    return extras(block, hidden, sinks=config.flag(key, default=window))


CHUNKED = "chunked_attention"


def read_llama4_text(config: Config, name: str) -> Arch:
    """Llama 4, language part: attention in chunks, one expert of many and a shared one."""
    if config.raw.get("num_local_experts") is None or config.raw.get("moe_layers") is None:
        config = config.over(moe_layers=None)
    biased = config.flag("attention_bias", default=False)
    style = Style(family="llama4_text", qkv_bias=biased, out_bias=biased)
    size = replace(read_sizes(config), width=config.size("intermediate_size_mlp", "intermediate_size"))
    ones = config.over(n_shared_experts=1)
    return read_mixture(
        ones,
        name,
        style=style,
        mixture=Mixture(),
        attends=_attentions(config, size.layers, whole=attend(size, style)),
        size=size,
    )


def _attentions(config: Config, layers: int, *, whole: Block) -> tuple[Block, ...]:
    """Layers with positions see their own chunk only; those without see everything."""
    chunk = config.maybe("attention_chunk_size")
    if whole.mixer is None or not chunk:
        return (whole,) * layers
    part = replace(whole, mixer=replace(whole.mixer, kind=Mix.CHUNK, window_tok=chunk))
    period = config.size("no_rope_layer_interval", default=4)
    values = listed(config, "no_rope_layers", layers=layers)
    default = [bool(flag) for flag in values] if values else [bool((i + 1) % period) for i in range(layers)]
    kinds = layer_types(config, layers, default=lambda index: CHUNKED if default[index] else "full_attention")
    return tuple(part if kind == CHUNKED else whole for kind in kinds)


def read_muse_spark_text(config: Config, name: str) -> Arch:
    """Muse Spark and Glimmer, language parts: gated attention, windows, experts in a narrower width."""
    has_experts = config.raw.get("model_type") != "muse_glimmer_text"
    config = full(config, "muse_spark_text" if has_experts else "muse_glimmer_text")
    size = read_sizes(config)
    biased = config.flag("attention_bias", default=False)
    gates = vector("other.gate", size.hidden) * 2
    style = Style(
        family=kind_of(config, "muse_spark_text"),
        qkv_bias=biased,
        out_bias=biased,
        norms=3 if has_experts else 4,
        windows=windows(config, every(4, offset=2) if has_experts else every(4)),
        extra=gates if has_experts else (),
    )
    latent = config.maybe("moe_hidden_size") or 0
    mixture = Mixture(gate="wide", latent=latent, latent_norm=True, shared=False)
    attends = attentions(size, style, mixture=mixture)
    if not has_experts:
        config = config.over(mlp_layer_types=["dense"] * size.layers)
    arch = read_mixture(config, name, style=style, mixture=mixture, attends=attends, size=size)
    second = blocks.norm(latent) if has_experts else ()  # the experts' own norm, after them
    layers = tuple(
        replace(layer, weights=(*layer.weights, *second)) if layer.ffn and layer.ffn.experts else layer
        for layer in arch.trunk.layers
    )
    return replace(arch, towers=(replace(arch.trunk, layers=layers),))

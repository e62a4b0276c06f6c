"""DeepSeek's heirs: latent attention, sparse indexers, experts."""

from __future__ import annotations

from rigright.arch.blocks import Block, connections, head_connection, matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import (
    SLIDING,
    Style,
    attend,
    feed,
    layer,
    layer_types,
    read_sizes,
    text_arch,
    with_mtp,
)
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, extras, feeding, moe, read_mixture, routing
from rigright.arch.families import kind_of
from rigright.arch.latent import Latent, indexed, mla, read_index, read_latent, read_latent_moe
from rigright.arch.plan import listed, repeat
from rigright.arch.record import Arch, Cut, Layer, Mix, Mixer, Weight
from rigright.arch.ssm import vector
from rigright.base.record import replace


def read_axk1(config: Config, name: str) -> Arch:
    """A.X-K1: DeepSeek-V3 with a norm after the experts, the first layer dense."""
    arch = read_latent_moe(full(config, "axk1"), name, family="axk1", dense_first=1)
    layers = tuple(_normed(layer, arch) for layer in arch.trunk.layers)
    return with_mtp(config, replace(arch, towers=(replace(arch.trunk, layers=layers),)))


def _normed(layer: Layer, arch: Arch) -> Layer:
    """A norm after the experts."""
    if layer.ffn is None or not layer.ffn.experts:
        return layer
    return replace(layer, weights=(*layer.weights, *norm(arch.trunk.hidden)))


def read_minicpm3(config: Config, name: str) -> Arch:
    """MiniCPM3 and Youtu: latent attention over dense feed-forwards."""
    config = full(config, "minicpm3" if config.raw.get("model_type") == "minicpm3" else "youtu")
    style = Style(family=kind_of(config, "minicpm3"), ffn_bias=config.flag("mlp_bias", default=False))
    if config.raw.get("v_head_dim") is None:
        config = config.over(v_head_dim=config.size("hidden_size") // config.size("num_attention_heads"))
    latent = read_latent(config)
    size = read_sizes(config, head_dim=latent.nope_dim + latent.rope_dim)
    same = layer(size.hidden, style, mla(latent), feed(size, style))
    return text_arch(config, name, style=style, size=size, layers=(same,) * size.layers)


def read_deepseek_v32(config: Config, name: str) -> Arch:
    """DeepSeek-V3.2, GLM-5: latent attention that reads the keys an indexer chose, shared by some layers."""
    kind = kind_of(config, "deepseek_v32")
    latent, index = read_latent(config), read_index(config)
    made = {own: indexed(mla(latent), latent, index=index, own=own) for own in (True, False)}
    attends = tuple(made[own] for own in owners(config, config.layers("num_hidden_layers")))
    arch = read_latent_moe(config, name, family=kind, attends=attends)
    own = read_latent_moe(config, name, family=kind, attends=(made[True],) * len(attends))
    return with_mtp(config, arch, layer=own.trunk.layers[-1], copies=kind != "glm_moe_dsa")


def owners(config: Config, layers: int, *, period: int = 1) -> list[bool]:
    """Whether each layer has its own indexer, as each `period`-th has, or uses an earlier layer's choice."""
    values = listed(config, "indexer_types", layers=layers)
    if values:
        return [kind == "full" for kind in values]
    pattern = config.raw.get("index_topk_pattern")
    if isinstance(pattern, str | list) and len(pattern) >= layers:
        return [kind in {"F", "full"} for kind in pattern[:layers]]
    period = max(config.whole("index_topk_freq", default=period), 1)
    offset = config.whole("index_skip_topk_offset", default=2)
    return [max(index - offset + 1, 0) % period == 0 for index in range(layers)]


DEEPSEEK_V4_SPARSE, HEAVY, SLIDES = (
    "compressed_sparse_attention",
    "heavily_compressed_attention",
    "sliding_attention",
)


_BY_RATIO = {0: SLIDES, 1: SLIDES, 4: DEEPSEEK_V4_SPARSE, 128: HEAVY}


_HASHED_LAYERS = 3  # what the class takes where a config is silent


_RATES = {DEEPSEEK_V4_SPARSE: 4, HEAVY: 128}


def read_deepseek_v4(config: Config, name: str) -> Arch:
    """DeepSeek-V4: one key-value head over a window, caches compressed 4- and 128-fold, hyper-connections."""
    size = read_sizes(config, width=config.size("moe_intermediate_size"))
    streams = config.size("hc_mult")
    style = Style(family="deepseek_v4", outer=head_connection(size.hidden, streams))
    ffn = replace(routing(config), shared_width=size.width)  # one shared expert, whatever the config says
    mixture = Mixture(shared_bias=config.flag("mlp_bias", default=False))
    feeds = [
        feeding(size, style, mixture=mixture, ffn=replace(ffn, hashed=stated)) for stated in (False, True)
    ]

    def build(pair: tuple[str, bool]) -> Layer:
        kind, by_word = pair
        made = layer(size.hidden, style, attention(config, kind), feeds[by_word])
        return replace(made, weights=(*made.weights, *connections(size.hidden, streams) * 2))

    given = zip(kinds(config, size.layers), hashed(config, size.layers), strict=True)
    layers = repeat(given, build)
    arch = text_arch(config, name, style=style, size=size, layers=layers)
    return with_mtp(config, arch, layer=build((SLIDES, False)), copies=False, extra=style.outer)


def hashed(config: Config, layers: int) -> list[bool]:
    """Whether a table of words tells each layer's experts: those of the first layers."""
    values = listed(config, "mlp_layer_types", layers=layers)
    first = config.layers("num_hash_layers", default=_HASHED_LAYERS)
    return [kind == "hash_moe" for kind in values] if values else [index < first for index in range(layers)]


def kinds(config: Config, layers: int) -> list[str]:
    """Each layer's kind of cache."""
    values = listed(config, "layer_types", layers=layers)
    if values:
        return [str(kind) for kind in values]
    ratios = listed(config, "compress_ratios", layers=layers)
    if ratios:
        return [_BY_RATIO.get(ratio, HEAVY) if isinstance(ratio, int) else SLIDES for ratio in ratios]
    return [HEAVY if index < 2 or index % 2 == 0 else DEEPSEEK_V4_SPARSE for index in range(layers)]


def attention(config: Config, kind: str) -> Block:
    """The attention of one layer: a window of whole tokens, and compressed entries of all before."""
    hidden, heads, width = (config.size(key) for key in ("hidden_size", "num_attention_heads", "head_dim"))
    rank, groups = config.size("q_lora_rank"), config.size("o_groups")
    low = groups * config.size("o_lora_rank")
    rate = config.part("compress_rates").size(kind, default=_RATES.get(kind, 1))
    index = config.size("index_head_dim") if kind == DEEPSEEK_V4_SPARSE else 0
    mixer = Mixer(
        kind=Mix.WINDOW if kind == SLIDES else Mix.LATENT,
        heads=heads,
        kv_heads=1,
        key_dim=width,
        value_dim=width,
        latent_dim=width,
        window_tok=config.maybe("sliding_window"),
        every_tok=rate,
        index_dim=index,
        topk_tok=config.size("index_topk") if kind == DEEPSEEK_V4_SPARSE else None,
        state16_elems=2 * rate * (width + index)
        if kind == DEEPSEEK_V4_SPARSE
        else 0,  # half of a group not yet closed
    )
    weights = (
        *vector("attn.sink", heads),
        *matrix("attn.q_a", rank, inputs=hidden, cut=Cut.WHOLE),
        *norm(rank),
        *matrix("attn.q_b", heads * width, inputs=rank, cut=Cut.OUT),
        *matrix("attn.kv_a", width, inputs=hidden, cut=Cut.WHOLE),
        *norm(width),
        *matrix("attn.o_a", low, inputs=heads * width // groups, cut=Cut.OUT),
        *matrix("attn.o", hidden, inputs=low, cut=Cut.IN),
        *_compressor(config, kind, rate=rate),
    )
    return Block(weights, mixer=mixer)


def _compressor(config: Config, kind: str, *, rate: int) -> tuple[Weight, ...]:
    if kind == SLIDES:
        return ()
    hidden, width = config.size("hidden_size"), config.size("head_dim")
    if kind == HEAVY:
        return _squeeze("attn.compress", hidden, width=width, positions=(rate, width))
    index, heads = config.size("index_head_dim"), config.size("index_n_heads")
    return (
        *_squeeze("attn.compress", hidden, width=width, positions=(rate, 2 * width)),
        *_squeeze("attn.index.k", hidden, width=index, positions=(rate, 2 * index)),
        *matrix("attn.index.q", heads * index, inputs=config.size("q_lora_rank"), cut=Cut.WHOLE),
        *matrix("attn.index.weight", heads, inputs=hidden, cut=Cut.WHOLE),
    )


def _squeeze(role: str, hidden: int, *, width: int, positions: tuple[int, int]) -> tuple[Weight, ...]:
    """What makes one entry of many tokens: values, gates, positions in the group, a norm."""
    return (
        *matrix(role, positions[1], inputs=hidden, cut=Cut.WHOLE),
        *matrix(f"{role}.gate", positions[1], inputs=hidden, cut=Cut.WHOLE),
        Weight(role="position", shape=positions),
        *norm(width),
    )


def read_axk2(config: Config, name: str) -> Arch:
    """A.X-K2: latent attention with an indexer and a gate from compressed queries, gated norms."""
    latent = read_latent(config)
    whole = indexed(_gated(latent), latent, index=read_index(config))
    attends = (whole,) * config.layers("num_hidden_layers")
    arch = read_latent_moe(config, name, family="axk2", attends=attends, dense_first=1)
    rank = config.size("gated_norm_rank")
    layers = tuple(_narrow_gates(layer, latent.hidden, rank=rank) for layer in arch.trunk.layers)
    return replace(arch, towers=(replace(arch.trunk, layers=layers),))


def _gated(latent: Latent) -> Block:
    """Queries and gate come from one matrix, of the compressed queries and as many elements beside them."""
    block, rank = mla(latent), latent.q_rank or 0
    rows = latent.heads * (latent.nope_dim + latent.rope_dim + latent.value_dim)
    wide = matrix("attn.q_b", rows, inputs=2 * rank, cut=Cut.OUT)
    weights = tuple(weight for weight in block.weights if weight.role != "attn.q_b")
    return replace(block, weights=(*weights, *wide))


def _narrow_gates(layer: Layer, hidden: int, *, rank: int) -> Layer:
    """Every norm before attention has a gate, those before experts too."""
    pair = (
        *matrix("other", rank, inputs=hidden, cut=Cut.WHOLE),
        *matrix("other", hidden, inputs=rank, cut=Cut.WHOLE),
    )
    both = layer.ffn is not None and layer.ffn.experts
    return replace(layer, weights=(*layer.weights, *pair * (2 if both else 1)))


def read_hy_v4(config: Config, name: str) -> Arch:
    """Hunyuan 4: latent attention with sinks and a gate, shared indexers, hyper-connections."""
    latent, index = read_latent(config), read_index(config)
    size = read_sizes(config, head_dim=latent.nope_dim + latent.rope_dim)
    streams = config.size("hc_mult")
    style = Style(
        family="hy_v4",
        extra=connections(size.hidden, streams, mixed=False) * 2,
        outer=head_connection(size.hidden, streams),
    )
    whole = extras(mla(latent), size.hidden, gate="wide", sinks=True)
    made = {own: indexed(whole, latent, index=index, own=own) for own in (True, False)}
    attends = tuple(made[own] for own in owners(config, size.layers, period=4))
    return read_mixture(config, name, style=style, mixture=Mixture(dense_first=1), attends=attends, size=size)


def read_mistral_large4_text(config: Config, name: str) -> Arch:
    """Mistral Large 4, language part: latent attention with an indexer, learned scales of the scores."""
    config = full(config, "mistral_large4_text").over(q_lora_rank=None)
    turning = read_latent(config)
    still = replace(turning, nope_dim=turning.nope_dim + turning.rope_dim, rope_dim=0)
    layers = config.layers("num_hidden_layers")
    values = listed(config, "no_rope_layers", layers=layers)  # 1: with positions
    turns = [bool(flag) for flag in values] if values else [bool((i + 1) % 4) for i in range(layers)]
    made = {True: _attention(config, turning), False: _attention(config, still)}
    attends = tuple(made[does] for does in turns)
    return read_latent_moe(config, name, family="mistral_large4", attends=attends, dense_first=1)


def _attention(config: Config, latent: Latent) -> Block:
    index = read_index(config)
    block = indexed(mla(latent), latent, index=index)
    scales = (
        *norm(latent.hidden, bias=True),
        *vector("attn.index.scale", index.heads) * 2,
        *vector("attn.scale", latent.heads) * 2,
    )
    return replace(block, weights=(*block.weights, *scales))


def read_longcat_flash(config: Config, name: str) -> Arch:
    """LongCat-Flash: two latent attentions and two dense feed-forwards a layer, with experts across them."""
    style, latent = Style(family="longcat_flash"), read_latent(config)
    blocks = config.maybe("num_layers") or config.layers("num_hidden_layers") // 2
    size = read_sizes(
        config,
        layers=2 * blocks,
        head_dim=latent.nope_dim + latent.rope_dim,
        width=config.size("ffn_hidden_size", "intermediate_size"),
    )
    attention, dense = mla(latent), feed(size, style)
    first = layer(size.hidden, style, attention, dense)
    # experts, and more places in the router than experts: a token sent there passes as it is
    ffn = routing(config, shared=False)
    ffn = replace(ffn, per_tok=min(ffn.per_tok, ffn.experts))  # the rest goes to places without an expert
    block = moe(size.hidden, ffn, mixture=Mixture())
    idle = config.whole("zero_expert_num", default=0)
    rest = tuple(weight for weight in block.weights if weight.role != "router")
    biased = config.flag("router_bias", default=False)
    experts = replace(
        block,
        weights=(
            *matrix("router", ffn.experts + idle, inputs=size.hidden, cut=Cut.WHOLE, bias=biased),
            *rest,
        ),
    )
    second = layer(size.hidden, style, attention, experts, Block(dense.weights))
    second = replace(second, ffn=replace(second.ffn, shared_width=size.width) if second.ffn else None)
    return text_arch(config, name, style=style, size=size, layers=(first, second) * blocks)


_SLIDING_DEFAULTS = {
    "num_attention_heads": 64,
    "q_lora_rank": 1024,
    "kv_lora_rank": 1024,
    "head_dim": 256,
    "qk_nope_head_dim": 192,
    "v_head_dim": 128,
}


def read_dots3_note_text(config: Config, name: str) -> Arch:
    """dots.3, language part: indexed latent attention, and windows of it with dimensions of their own."""
    config = full(config, "dots3_note_text")
    latent = read_latent(config)
    size = read_sizes(config, head_dim=latent.nope_dim + latent.rope_dim)
    dsa = config.flag("use_dsa", default=True)
    slides = config.flag("use_sliding_window", default=True)

    def default(index: int) -> str:
        return "full_attention" if not slides or index < 2 or index % 4 == 1 else "sliding_attention"

    whole = _finished(latent)
    made = {
        True: _finished(_sliding(config)),
        False: indexed(whole, latent, index=read_index(config)) if dsa else whole,
    }
    attends = tuple(made[kind in SLIDING] for kind in layer_types(config, size.layers, default=default))
    each = config.size("moe_shared_expert_intermediate_size", "shared_experts_intermediate_size")
    config = config.over(shared_expert_intermediate_size=each * config.whole("n_shared_experts", default=1))
    style = Style(family="dots3_note")
    return read_mixture(config, name, style=style, mixture=Mixture(dense_first=1), attends=attends, size=size)


def _finished(latent: Latent) -> Block:
    """With a gate a head, and a norm on the key's part that turns."""
    block = extras(mla(latent), latent.hidden, gate="head")
    return replace(block, weights=(*block.weights, *norm(latent.rope_dim)))


def _sliding(config: Config) -> Latent:
    listed = config.part("per_layer_config")
    rows = [listed.part(key) for key in listed if isinstance(listed.raw[key], dict) and listed.raw[key]]
    row = rows[0] if rows else Config({}, config.where)

    def width_of(key: str) -> int:
        return row.maybe(key) or config.size(f"swa_{key}", default=_SLIDING_DEFAULTS[key])

    nope = width_of("qk_nope_head_dim")
    turning = (
        config.maybe("swa_qk_rope_head_dim") or row.maybe("qk_rope_head_dim") or width_of("head_dim") - nope
    )
    return Latent(
        hidden=config.size("hidden_size"),
        heads=width_of("num_attention_heads"),
        q_rank=width_of("q_lora_rank"),
        kv_rank=width_of("kv_lora_rank"),
        nope_dim=nope,
        rope_dim=turning,
        value_dim=width_of("v_head_dim"),
        bias=config.flag("attention_bias", default=False),
        window_tok=config.maybe("sliding_window") or config.size("sliding_window_size", default=512),
    )


MINIMAX_M3_VL_TEXT_SPARSE = "minimax_m3_sparse"


_OWN_KEYS = {
    "sparse_num_index_heads": "index_n_heads",
    "sparse_index_dim": "index_head_dim",
    "sparse_block_size": "index_block_size",
    "sparse_topk_blocks": "index_topk_blocks",
}


def read_minimax_m3_vl_text(config: Config, name: str) -> Arch:
    """MiniMax-M3's language part: grouped-query attention that reads the blocks an indexer chose."""
    own = config.part("sparse_attention_config")
    config = config.over(**{new: own.raw[old] for old, new in _OWN_KEYS.items() if old in own.raw})
    style = Style(family="minimax_m3", qk_norm="head")
    size = read_sizes(config, width=config.size("dense_intermediate_size"))
    whole = attend(size, style)
    sparse = _indexed(config, whole)
    attends = tuple(sparse if is_sparse else whole for is_sparse in _chosen(config, own, layers=size.layers))
    return read_mixture(config, name, style=style, mixture=Mixture(), attends=attends, size=size)


def _chosen(config: Config, own: Config, *, layers: int) -> list[bool]:
    kinds = listed(config, "layer_types", layers=layers)
    if kinds:
        return [kind == MINIMAX_M3_VL_TEXT_SPARSE for kind in kinds]
    values = listed(own, "sparse_attention_freq", layers=layers)
    return [bool(kind) for kind in values] if values else [False] * layers


def _indexed(config: Config, whole: Block) -> Block:
    """Attention with an indexer of its own: queries and one key a token, normed, in blocks of tokens."""
    if whole.mixer is None:
        return whole
    hidden, width = config.size("hidden_size"), config.size("index_head_dim")
    weights = (
        *matrix("attn.index.q", config.size("index_n_heads") * width, inputs=hidden, cut=Cut.WHOLE),
        *matrix("attn.index.k", width, inputs=hidden, cut=Cut.WHOLE),
        *(norm(width) * 2),
    )
    read_tok = config.size("index_topk_blocks") * config.size("index_block_size")
    mixer = replace(whole.mixer, index_dim=width, topk_tok=read_tok)
    return Block((*whole.weights, *weights), mixer=mixer)

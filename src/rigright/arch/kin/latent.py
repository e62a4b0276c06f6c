"""DeepSeek's heirs: latent attention, sparse indexers, experts."""

from __future__ import annotations

from rigright.arch.blocks import Block, connections, head_connection, matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import (
    SLIDING,
    Draft,
    Style,
    attend,
    extras,
    feed,
    layer,
    layer_types,
    read_sizes,
    text_arch,
    with_mtp,
)
from rigright.arch.experts import Mixture, feeding, moe, routing
from rigright.arch.latent import Latent, indexed, mla, read_index, read_latent
from rigright.arch.plan import listed, repeat
from rigright.arch.record import Arch, Cut, Layer, Mix, Mixer, Weight
from rigright.arch.ssm import vector
from rigright.base.record import replace

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


def _gated(latent: Latent) -> Block:
    """Queries and gate come from one matrix, of the compressed queries and as many elements beside them."""
    block, rank = mla(latent), latent.q_rank or 0
    rows = latent.heads * (latent.nope_dim + latent.rope_dim + latent.value_dim)
    wide = matrix("attn.q_b", rows, inputs=2 * rank, cut=Cut.OUT)
    weights = tuple(weight for weight in block.weights if weight.role != "attn.q_b")
    return replace(block, weights=(*weights, *wide))


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


def axk2(draft: Draft) -> tuple[Block, ...]:
    """A.X-K2's attention: an indexer, and a gate from the compressed queries."""
    latent = read_latent(draft.config)
    return (indexed(_gated(latent), latent, index=read_index(draft.config)),) * draft.size.layers


def narrow_gates(config: Config, arch: Arch) -> Arch:
    """A.X-K2 with a gate on every norm before attention, and on those before experts too."""
    rank, hidden = config.size("gated_norm_rank"), arch.trunk.hidden
    pair = (
        *matrix("other", rank, inputs=hidden, cut=Cut.WHOLE),
        *matrix("other", hidden, inputs=rank, cut=Cut.WHOLE),
    )
    layers = tuple(
        replace(layer, weights=(*layer.weights, *pair * (2 if layer.ffn and layer.ffn.experts else 1)))
        for layer in arch.trunk.layers
    )
    return replace(arch, towers=(replace(arch.trunk, layers=layers),))


def mistral_large4(draft: Draft) -> tuple[Block, ...]:
    """Mistral Large 4's attention: learned scales of the scores; every fourth layer has no positions."""
    turning, index = read_latent(draft.config), read_index(draft.config)
    still = replace(turning, nope_dim=turning.nope_dim + turning.rope_dim, rope_dim=0)
    values = listed(draft.config, "no_rope_layers", layers=draft.size.layers)  # 1: with positions
    turns = [bool(flag) for flag in values] or [bool((i + 1) % 4) for i in range(draft.size.layers)]
    scales = (
        *norm(turning.hidden, bias=True),
        *vector("attn.index.scale", index.heads) * 2,
        *vector("attn.scale", turning.heads) * 2,
    )

    def block(latent: Latent) -> Block:
        whole = indexed(mla(latent), latent, index=index)
        return replace(whole, weights=(*whole.weights, *scales))

    made = {True: block(turning), False: block(still)}
    return tuple(made[does] for does in turns)


def dots3(draft: Draft) -> tuple[Block, ...]:
    """dots.3's attention: indexed, and windows of it with dimensions of their own."""
    slides = draft.config.flag("use_sliding_window", default=True)
    kinds = layer_types(
        draft.config,
        draft.size.layers,
        default=lambda i: "full_attention" if not slides or i < 2 or i % 4 == 1 else "sliding_attention",
    )

    def block(latent: Latent) -> Block:
        whole = extras(mla(latent), latent.hidden, style=draft.style)
        return replace(whole, weights=(*whole.weights, *norm(latent.rope_dim)))  # on the key's turning part

    latent = read_latent(draft.config)
    whole = block(latent)
    if draft.config.flag("use_dsa", default=True):
        whole = indexed(whole, latent, index=read_index(draft.config))
    window = block(_sliding(draft.config))
    return tuple(window if kind in SLIDING else whole for kind in kinds)


def minimax_m3(draft: Draft) -> tuple[Block, ...]:
    """MiniMax-M3's attention: grouped queries that, in some layers, read the blocks an indexer chose."""
    kinds = listed(draft.config, "layer_types", layers=draft.size.layers)
    own = draft.config.part("sparse_attention_config")
    listing = listed(own, "sparse_attention_freq", layers=draft.size.layers) or [0] * draft.size.layers
    sparse = [kind == "minimax_m3_sparse" for kind in kinds] or [bool(value) for value in listing]
    read_tok = draft.config.size("index_topk_blocks") * draft.config.size("index_block_size")
    heads, width = draft.config.size("index_n_heads"), draft.config.size("index_head_dim")
    whole = attend(draft.size, draft.style)
    made = {
        False: whole,
        True: indexed_heads(whole, draft.size.hidden, heads=heads, width=width, topk_tok=read_tok),
    }
    return tuple(made[is_sparse] for is_sparse in sparse)


def indexed_heads(whole: Block, hidden: int, *, heads: int, width: int, topk_tok: int | None) -> Block:
    """Attention with an indexer of its own: queries and one key a token, normed."""
    if whole.mixer is None:
        return whole
    weights = (
        *matrix("attn.index.q", heads * width, inputs=hidden, cut=Cut.WHOLE),
        *matrix("attn.index.k", width, inputs=hidden, cut=Cut.WHOLE),
        *(norm(width) * 2),
    )
    mixer = replace(whole.mixer, index_dim=width, topk_tok=topk_tok)
    return Block((*whole.weights, *weights), mixer=mixer)

"""DeepSeek-V4: one key-value head over a window, caches compressed 4- and 128-fold, hyper-connections."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import Block, matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import Style, layer, read_sizes, text_arch
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, feeding, routing
from rigright.arch.hyper import connections, head_connection
from rigright.arch.mtp import with_mtp
from rigright.arch.plan import listed, repeat
from rigright.arch.record import Arch, Cut, Layer, Mix, Mixer, Weight
from rigright.arch.ssm import vector

MATCHES = ("deepseek_v4", "DeepseekV4ForCausalLM")
SPARSE, HEAVY, SLIDING = (
    "compressed_sparse_attention",
    "heavily_compressed_attention",
    "sliding_attention",
)
_BY_RATIO = {0: SLIDING, 1: SLIDING, 4: SPARSE, 128: HEAVY}
_HASHED_LAYERS = 3  # what the class takes where a config is silent
_RATES = {SPARSE: 4, HEAVY: 128}


def read(config: Config, name: str) -> Arch:
    """Read a DeepSeek-V4 config."""
    config = full(config, "deepseek_v4")
    size = read_sizes(config, width=config.size("moe_intermediate_size"))
    streams = config.size("hc_mult")
    style = Style(family="deepseek_v4", outer=head_connection(size.hidden, streams))
    ffn = replace(routing(config), shared_width=size.width)  # one shared expert, whatever the config says
    mixture = Mixture(shared_bias=config.flag("mlp_bias", default=False))
    feeds = [feeding(size, style, mixture=mixture, ffn=replace(ffn, hashed=told)) for told in (False, True)]

    def build(told: tuple[str, bool]) -> Layer:
        kind, by_word = told
        made = layer(size.hidden, style, attention(config, kind), feeds[by_word])
        return replace(made, weights=(*made.weights, *connections(size.hidden, streams) * 2))

    told = zip(kinds(config, size.layers), hashed(config, size.layers), strict=True)
    layers = repeat(told, build)
    arch = text_arch(config, name, style=style, size=size, layers=layers)
    return with_mtp(config, arch, layer=build((SLIDING, False)), copies=False, extra=style.outer)


def hashed(config: Config, layers: int) -> list[bool]:
    """Whether a table of words tells each layer's experts: those of the first layers."""
    told = listed(config, "mlp_layer_types", layers=layers)
    first = config.layers("num_hash_layers", default=_HASHED_LAYERS)
    return [kind == "hash_moe" for kind in told] if told else [index < first for index in range(layers)]


def kinds(config: Config, layers: int) -> list[str]:
    """Each layer's kind of cache."""
    told = listed(config, "layer_types", layers=layers)
    if told:
        return [str(kind) for kind in told]
    ratios = listed(config, "compress_ratios", layers=layers)
    if ratios:
        return [_BY_RATIO.get(ratio, HEAVY) if isinstance(ratio, int) else SLIDING for ratio in ratios]
    return [HEAVY if index < 2 or index % 2 == 0 else SPARSE for index in range(layers)]


def attention(config: Config, kind: str) -> Block:
    """The attention of one layer: a window of whole tokens, and compressed entries of all before."""
    hidden, heads, width = (config.size(key) for key in ("hidden_size", "num_attention_heads", "head_dim"))
    rank, groups = config.size("q_lora_rank"), config.size("o_groups")
    low = groups * config.size("o_lora_rank")
    rate = config.part("compress_rates").size(kind, default=_RATES.get(kind, 1))
    index = config.size("index_head_dim") if kind == SPARSE else 0
    mixer = Mixer(
        kind=Mix.WINDOW if kind == SLIDING else Mix.LATENT,
        heads=heads,
        kv_heads=1,
        key_dim=width,
        value_dim=width,
        latent_dim=width,
        window_tok=config.maybe("sliding_window"),
        every_tok=rate,
        index_dim=index,
        topk_tok=config.size("index_topk") if kind == SPARSE else None,
        state16_elems=2 * rate * (width + index) if kind == SPARSE else 0,  # half of a group not yet closed
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
    if kind == SLIDING:
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

"""Decoders with one part that no row can say: heads, widths or tables by a rule of their own."""

from __future__ import annotations

import math

from rigright.arch import blocks
from rigright.arch.blocks import matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import (
    CONTEXT,
    HEADS,
    HIDDEN,
    Sizes,
    Style,
    always,
    attend,
    both_ways,
    every,
    feed,
    layer,
    read_decoder,
    read_sizes,
    text_arch,
    windows,
)
from rigright.arch.experts import Mixture, extras, read_mixture
from rigright.arch.record import Arch, Cut, Ffn, Layer, Weight
from rigright.arch.ssm import vector
from rigright.base.record import replace


def read_plamo(config: Config, name: str) -> Arch:
    """PLaMo: Llama with attention and feed-forward side by side behind one norm, few key-value heads."""
    shared = config.size("n_shared_head", default=8)
    kv_heads = -(-config.size(*HEADS) // shared)
    return read_decoder(config, name, style=Style(family="plamo", norms=1), kv_heads=kv_heads)


def read_chatglm(config: Config, name: str) -> Arch:
    """ChatGLM 2 and 3, CodeGeeX 2, and the first GLM-4; the first ChatGLM had LayerNorm and no gate."""
    if config.has("inner_hidden_size"):
        style = Style(
            family="chatglm", qkv_bias=True, out_bias=True, ffn_bias=True, gated=False, norm="layer"
        )
        return read_decoder(config, name, style=style, width=config.size("inner_hidden_size"))
    everywhere = config.flag("add_bias_linear", default=False)
    style = Style(
        family="chatglm",
        qkv_bias=everywhere or config.flag("add_qkv_bias", default=False),
        out_bias=everywhere,
        ffn_bias=everywhere,
        norm="rms" if config.flag("rmsnorm", default=True) else "layer",
        last_norm=config.flag("post_layer_norm", default=True),
    )
    grouped = config.flag("multi_query_attention", default=False)
    heads = config.size(*HEADS)
    kv_heads = config.size("multi_query_group_num", default=1) if grouped else heads
    vocab = config.size("padded_vocab_size", "vocab_size")
    return read_decoder(config, name, style=style, kv_heads=kv_heads, vocab=vocab)


def read_mpt(config: Config, name: str) -> Arch:
    """MPT: ALiBi, no biases, norms with a scale only."""
    hidden = config.size(*HIDDEN)
    attention = config.part("attn_config")
    kind = attention.word("attn_type", default="multihead_attention")
    own = config.size(*HEADS)
    heads = {"multiquery_attention": 1, "grouped_query_attention": attention.size("kv_n_heads", default=own)}
    style = Style(
        family="mpt", gated=False, qk_norm="all" if attention.flag("qk_ln", default=False) else "none"
    )
    width = int(hidden * config.number("expansion_ratio", default=4))
    return read_decoder(config, name, style=style, kv_heads=heads.get(kind, own), width=width)


SPARE_ROWS = 2


def read_opt(config: Config, name: str) -> Arch:
    """OPT: GPT-2 with two rows more of positions, the first model with a narrower token table too."""
    biased = config.flag("enable_bias", default=True)
    before = config.flag("do_layer_norm_before", default=True)
    style = Style(
        family="opt",
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=biased,
        gated=False,
        norm="layer" if config.flag("layer_norm_elementwise_affine", default=True) else "none",
        last_norm=before and not config.flag("_remove_final_layer_norm", default=False),
        positions=config.size(*CONTEXT) + SPARE_ROWS,
    )
    arch = read_decoder(config, name, style=style)
    narrow = config.size("word_embed_proj_dim", default=arch.trunk.hidden)
    return arch if narrow == arch.trunk.hidden else _narrowed(arch, narrow)


def _narrowed(arch: Arch, narrow: int) -> Arch:
    """The token table of another width than the layers, with a projection in and one out."""
    hidden = arch.trunk.hidden
    bridges = (
        *matrix("project", hidden, inputs=narrow, cut=Cut.WHOLE),
        *matrix("project", narrow, inputs=hidden, cut=Cut.WHOLE),
    )
    tables = tuple(
        replace(weight, shape=(weight.shape[0], narrow)) if weight.role in {"embed", "head"} else weight
        for weight in arch.trunk.outer
    )
    return replace(arch, towers=(replace(arch.trunk, outer=(*tables, *bridges)),))


def read_cpmant(config: Config, name: str) -> Arch:
    """CPM-Ant: rows for soft prompts in the token table, segments, position biases, an untied head."""
    size = read_sizes(config)
    types = config.size("prompt_types", default=32)
    segments = config.size("segment_types", default=32)
    buckets = config.size("position_bias_num_buckets", default=512) + segments * segments
    style = Style(
        family="cpmant",
        outer=(
            Weight(role="position", shape=(segments, size.hidden)),
            Weight(role="position", shape=(buckets, size.heads)),
            *matrix("head", size.vocab, inputs=size.hidden, cut=Cut.VOCAB),
        ),
    )
    rows = size.vocab + types * config.size("prompt_length", default=32)
    return read_decoder(config, name, style=style, vocab=rows, tied=True)


def read_xlnet(config: Config, name: str) -> Arch:
    """XLNet: relative positions as a fifth matrix, biases and segment vectors a head; sees both ways."""
    size = read_sizes(config)
    inner = size.heads * size.head_dim
    head = (size.heads, size.head_dim)
    style = Style(
        family="xlnet",
        ffn_bias=True,
        gated=False,
        norm="layer",
        last_norm=False,
        head_bias="XLNetModel" not in config.items("architectures", default=[]),
        extra=(
            *matrix("attn.r", inner, inputs=size.hidden, cut=Cut.OUT),
            *(Weight(role="position", shape=head),) * 3,
            Weight(role="position", shape=(2, *head)),
        ),
        outer=(Weight(role="embed.mask", shape=(1, 1, size.hidden)),),
    )
    return both_ways(read_decoder(config, name, style=style))


def read_xlm(config: Config, name: str) -> Arch:
    """XLM and FlauBERT's kin: norms after each part and the token table, perhaps vectors of languages."""
    size = read_sizes(config, width=1)
    languages = config.size("n_langs", default=1)
    spoken = languages > 1 and config.flag("use_lang_emb", default=True)
    style = Style(
        family="xlm",
        qkv_bias=True,
        out_bias=True,
        ffn_bias=True,
        gated=False,
        norm="layer",
        last_norm=False,
        head_bias="XLMModel" not in config.items("architectures", default=[]),
        positions=config.size(*CONTEXT, default=512),
        outer=(
            *((Weight(role="embed.language", shape=(languages, size.hidden)),) if spoken else ()),
            *norm(size.hidden, bias=True),
        ),
    )
    arch = read_decoder(config, name, style=style, width=4 * size.hidden)
    return arch if config.flag("causal", default=False) else both_ways(arch)


def read_minicpm(config: Config, name: str) -> Arch:
    """MiniCPM 1, 2 and 4: Llama with multipliers, in one edition with experts."""
    biased = config.flag("attention_bias", default=False)
    style = Style(family="minicpm", qkv_bias=biased, out_bias=biased)
    tied = config.flag("tie_word_embeddings", default=True)
    count = config.whole("num_experts", default=0)
    if not count:
        return read_decoder(config, name, style=style, tied=tied)
    size = read_sizes(config, tied=tied)
    routed = Ffn(
        width=size.width, gated=True, experts=count, per_tok=config.size("num_experts_per_tok", default=2)
    )
    each = layer(size.hidden, style, attend(size, style), blocks.experts(size.hidden, routed))
    return text_arch(config, name, style=style, size=size, layers=(each,) * size.layers)


def read_gemma3_text(config: Config, name: str) -> Arch:
    """Gemma 3: Gemma 2 with norms on q and k, five layers with a window to one without."""
    biased = config.flag("attention_bias", default=False)
    window = config.maybe("sliding_window")
    if window and config.raw.get("use_bidirectional_attention"):
        config = config.over(sliding_window=window // 2 + 1)
    slides = every(config.size("sliding_window_pattern", "_sliding_window_pattern", default=6))
    style = Style(
        family="gemma3_text",
        qkv_bias=biased,
        out_bias=biased,
        norms=4,
        qk_norm="head",
        windows=windows(config, slides),
    )
    return read_decoder(config, name, style=style)


def read_doge(config: Config, name: str) -> Arch:
    """Doge: attention masked by its values, weighed residuals, in one edition with single-vector experts."""
    size = read_sizes(config)
    biased = config.flag("attention_bias", default=False)
    kv_width = size.kv_heads * size.head_dim
    extra = (
        Weight(role="attn.gate", shape=(size.kv_heads,)),
        *blocks.matrix("attn.gate", size.kv_heads, inputs=kv_width, cut=Cut.WHOLE, bias=biased),
        *(Weight(role="norm", shape=(size.hidden,)),) * 2,
        *(_vectors(config, size) if config.flag("is_moe", default=False) else ()),
    )
    style = Style(
        family="doge",
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=False),
        qk_norm="head",
        windows=windows(config, always),
        extra=extra,
    )
    return read_decoder(config, name, style=style)


def _vectors(config: Config, size: Sizes) -> tuple[Weight, ...]:
    """Experts of one vector in and one out, found by two keys."""
    experts = config.size("num_experts")
    used = min(config.size("num_experts_per_tok"), experts)
    return (
        *blocks.matrix("router", 2 * math.isqrt(experts), inputs=size.hidden, cut=Cut.WHOLE),
        Weight(role="expert.down", shape=(size.hidden,), cut=Cut.EXPERT, copies=experts, used=used),
        Weight(role="expert.up", shape=(size.hidden,), cut=Cut.EXPERT, copies=experts, used=used),
    )


def read_hrm_text(config: Config, name: str) -> Arch:
    """HRM-Text: two stacks of layers run in nested cycles; every run keeps a cache of its own."""
    biased = config.flag("attention_bias", default=False)
    hidden = config.size("hidden_size")
    style = Style(
        family="hrm_text",
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=False),
        norms=0,
        last_norm=False,
        outer=vector("other", hidden),
    )
    size = read_sizes(config)
    slow, fast = config.size("H_cycles"), config.size("L_cycles")
    stack = config.maybe("num_layers_per_stack") or size.layers
    whole = extras(attend(size, style), hidden, gate="wide", gate_bias=biased)
    each = layer(hidden, style, whole, feed(size, style))
    again = replace(each, weights=())  # a later run of the same weights
    runs = slow * (fast + 1) * stack
    first = (_run(each, slow * fast),) * stack + (_run(each, slow),) * stack
    return text_arch(config, name, style=style, size=size, layers=first + (again,) * (runs - 2 * stack))


def _run(each: Layer, times: int) -> Layer:
    return replace(each, weights=tuple(replace(weight, sites=times) for weight in each.weights))


def read_params_json(config: Config, name: str) -> Arch:
    """The params.json of Meta and Mistral, beside their own weight files: Llama and Mixtral in short keys."""
    hidden, heads = config.size("dim"), config.size("n_heads")
    # told by Mistral; by Meta two thirds of four times the hidden width, scaled, rounded up
    if config.raw.get("hidden_dim") is not None:
        wide = config.size("hidden_dim")
    else:
        step = config.size("multiple_of", default=256)
        width = int(int(2 * 4 * hidden / 3) * config.number("ffn_dim_multiplier", default=1.0))
        wide = -(-width // step) * step
    named = config.over(
        hidden_size=hidden,
        num_hidden_layers=config.layers("n_layers"),
        num_attention_heads=heads,
        num_key_value_heads=config.size("n_kv_heads", default=heads),
        intermediate_size=wide,
        tie_word_embeddings=config.flag("tied_embeddings", default=False),
        max_position_embeddings=config.raw.get("max_seq_len"),
    )
    style = Style(family="params_json", windows=windows(named, always))
    experts = config.part("moe")
    if not experts.has("num_experts"):
        return read_decoder(named, name, style=style)
    routed = {key: experts.whole(key) for key in ("num_experts", "num_experts_per_tok")}
    return read_mixture(named.over(**routed), name, style=style, mixture=Mixture(shared=False))

"""Gemma 3n and 4: layers that share a cache, token tables for every layer, eyes and ears."""

from __future__ import annotations

from rigright.arch import blocks
from rigright.arch.blocks import Block, borrow, matrix, norm
from rigright.arch.config import Config
from rigright.arch.conformer import FRAMES, Conformer, ear_tower
from rigright.arch.decoder import Sizes, Style, every, layer_types, read_sizes, text_arch
from rigright.arch.defaults import part
from rigright.arch.families import kind_of
from rigright.arch.multimodal import join, language
from rigright.arch.plan import repeat
from rigright.arch.record import Arch, Cut, Ffn, Layer, Mixer, Tower, Weight
from rigright.arch.stack import Stack, conv, eye_tower, linear, table, vector
from rigright.base.errors import DataError
from rigright.base.record import replace
from rigright.base.tables import DATA, read_rows, text, whole
from rigright.base.words import say

FULL = "full_attention"


def read_gemma3n_text(config: Config, name: str) -> Arch:
    """Gemma 3n: streams of hidden states (AltUp), low-rank side paths, small token tables for every layer."""
    value = config.raw.get("intermediate_size")
    widths = config.sizes("intermediate_size") if isinstance(value, list) else []
    size = read_sizes(config, width=widths[0] if widths else config.size("intermediate_size"))
    widths = widths or [size.width] * size.layers
    kinds = layer_types(
        config, size.layers, default=lambda index: FULL if (index + 1) % 5 == 0 else "sliding_attention"
    )
    first_borrower = size.layers - config.whole("num_kv_shared_layers", default=0)
    keys = (
        (kind, width, index >= first_borrower)
        for index, (kind, width) in enumerate(zip(kinds, widths, strict=True))
    )
    layers = repeat(
        keys, lambda key: _gemma3n_text_layer(config, size, kind=key[0], width=key[1], borrows=key[2])
    )
    streams = config.size("altup_num_inputs", default=4)
    mixing = matrix("project", size.hidden, inputs=size.hidden, cut=Cut.WHOLE) * (2 * (streams - 1))
    style = Style(family="gemma3n_text", outer=(*_per_layer_tables(config, size), *mixing))
    return text_arch(config, name, style=style, size=size, layers=layers)


def _gemma3n_text_layer(config: Config, size: Sizes, *, kind: str, width: int, borrows: bool) -> Layer:
    window = None if kind == FULL else config.maybe("sliding_window")
    mixer = blocks.gqa(size.heads, size.kv_heads, head_dim=size.head_dim, window_tok=window)
    attention = _shared_attention(config, size.hidden, mixer=mixer, values=True)
    attention = borrow(attention) if borrows else attention
    ffn = blocks.dense(size.hidden, width)
    # altUp's mixing of streams, the low-rank path (Laurel), and the layer's own token vectors
    streams = config.size("altup_num_inputs", default=4)
    rank = config.size("laurel_rank", default=64)
    inner = config.size("hidden_size_per_layer_input", default=256)
    return Layer(
        weights=(
            *attention.weights,
            *ffn.weights,
            *norm(size.hidden) * 4,
            *norm(size.hidden),
            *matrix("other", streams, inputs=streams, cut=Cut.WHOLE),
            *matrix("other", streams * streams, inputs=streams, cut=Cut.WHOLE),
            *matrix("router", streams, inputs=size.hidden, cut=Cut.WHOLE),
            *norm(size.hidden),
            *matrix("other", rank, inputs=size.hidden, cut=Cut.WHOLE),
            *matrix("other", size.hidden, inputs=rank, cut=Cut.WHOLE),
            *norm(size.hidden),
            *matrix("ffn.gate", inner, inputs=size.hidden, cut=Cut.WHOLE),
            *matrix("project", size.hidden, inputs=inner, cut=Cut.WHOLE),
            *norm(size.hidden),
        ),
        mixer=attention.mixer,
        ffn=ffn.ffn,
    )


def read_gemma4_text(config: Config, name: str) -> Arch:
    """Gemma 4: wide global heads, small token tables for every layer, shared caches, perhaps experts."""
    size = read_sizes(config)
    slides = every(6)
    kinds = layer_types(
        config, size.layers, default=lambda index: "sliding_attention" if slides(index) else FULL
    )
    kinds[-1] = FULL
    first_borrower = size.layers - config.whole("num_kv_shared_layers", default=0)
    keys = ((kind, index >= first_borrower) for index, kind in enumerate(kinds))
    layers = repeat(keys, lambda key: _gemma4_text_layer(config, size, kind=key[0], borrows=key[1]))
    style = Style(family="gemma4_text", outer=_per_layer_tables(config, size))
    return text_arch(config, name, style=style, size=size, layers=layers)


def _gemma4_text_layer(config: Config, size: Sizes, *, kind: str, borrows: bool) -> Layer:
    # global layers have wider heads, perhaps fewer of them, and perhaps no values of their own
    whole = kind == FULL
    alike = whole and config.flag("attention_k_eq_v", default=False)
    fewer = config.maybe("num_global_key_value_heads") if alike else None
    head_dim = config.size("global_head_dim", default=512) if whole else size.head_dim
    window = None if whole else config.maybe("sliding_window")
    mixer = blocks.gqa(size.heads, fewer or size.kv_heads, head_dim=head_dim, window_tok=window)
    attention = _shared_attention(config, size.hidden, mixer=mixer, values=not alike)
    attention = borrow(attention) if borrows else attention
    double = borrows and config.flag("use_double_wide_mlp", default=False)
    parts = [blocks.dense(size.hidden, size.width * (2 if double else 1))]
    moe = config.flag("enable_moe_block", default=False)
    inner = config.whole("hidden_size_per_layer_input", default=0)
    return Layer(
        weights=(
            *attention.weights,
            *(weight for part in parts for weight in part.weights),
            *(_experts(config, size).weights if moe else ()),
            *blocks.norm(size.hidden) * (7 if moe else 4),
            *(blocks.matrix("ffn.gate", inner, inputs=size.hidden, cut=Cut.WHOLE) if inner else ()),
            *(blocks.matrix("project", size.hidden, inputs=inner, cut=Cut.WHOLE) if inner else ()),
            *(blocks.norm(size.hidden) if inner else ()),
        ),
        mixer=attention.mixer,
        ffn=_experts(config, size).ffn if moe else parts[0].ffn,
    )


def _experts(config: Config, size: Sizes) -> Block:
    """Routed experts beside the dense feed-forward."""
    ffn = Ffn(
        width=config.size("moe_intermediate_size"),
        gated=True,
        experts=config.size("num_experts"),
        per_tok=config.size("top_k_experts", "num_experts_per_tok", default=1),
    )
    routed = blocks.experts(size.hidden, ffn)
    scales = (Weight(role="router", shape=(size.hidden,)), Weight(role="router", shape=(ffn.experts,)))
    return Block((*routed.weights, *scales), ffn=ffn)


_SEEN_TOK = 256  # an image becomes 16 x 16 tokens


def read_gemma3n(config: Config, name: str) -> Arch:
    """Gemma 3n: a MobileNet eye known by its name alone, an ear of conformer layers, a Gemma 3n decoder."""
    arch = language(config, name, kind="gemma3n_text")
    number = arch.trunk.hidden
    eye, ear = (
        part(config, "vision_config", kind="gemma3n_vision"),
        part(config, "audio_config", kind="gemma3n_audio"),
    )
    whole_arch = join(config, arch, towers=(_gemma3n_eye(eye, number), _gemma3n_ear(ear, number)))
    doubt = say("vision network {kind}: parameters counted, compute not counted", kind=_called(eye))
    return replace(whole_arch, warnings=(*whole_arch.warnings, doubt))


def _called(eye: Config) -> str:
    return eye.word("architecture", default="mobilenetv5_300m_enc")


def _entry(config: Config, number: int, *, tok: int) -> tuple[Weight, ...]:
    """Tokens of its own for a sense, norms for hard and soft ones, a projection."""
    width = config.size("hidden_size")
    return (
        *table(config.size("vocab_size"), width),
        *norm(width) * 2,
        *linear("project", (number, width), bias=False, sites=tok),
    )


def _gemma3n_eye(eye: Config, number: int) -> Tower:
    called = _called(eye)
    rows = read_rows(DATA / "arch" / "timm.csv", {"model": text, "params": whole})
    known = next((row["params"] for row in rows if row["model"] == called), None)
    if known is None:
        raise DataError(
            say('{where}: "{key}" cannot be {value}', where=eye.where, key="architecture", value=called)
        )
    network = Weight(role="other", shape=(known,))
    outer = (network, *_entry(eye, number, tok=_SEEN_TOK))
    return Tower(name="vision", hidden=eye.size("hidden_size"), layers=(), outer=outer, sample_tok=_SEEN_TOK)


def _gemma3n_ear(config: Config, number: int) -> Tower:
    first, second = config.sizes("sscp_conv_channel_size")
    features = config.size("input_feat_size")
    ear = Conformer(
        hidden=config.size("hidden_size"),
        heads=config.size("conf_num_attention_heads"),
        layers=config.layers("conf_num_hidden_layers"),
        kernel=config.size("conf_conv_kernel_size"),
        channels=(first, second),
        bands=features // 4,
        features=features,
        window_tok=config.whole("conf_attention_chunk_size") + config.whole("conf_attention_context_left"),
    )
    tok = FRAMES // 4 // config.size("conf_reduction_factor", default=4)
    return ear_tower(ear, after=_entry(config, number, tok=tok))


PATCHES = 2520  # of an image that becomes 280 tokens of 3 x 3 patches


def read_gemma4(config: Config, name: str) -> Arch:
    """Gemma 4: an eye with gated layers, an ear of conformer layers where there is one, a Gemma 4 decoder."""
    kind = kind_of(config, "gemma4")
    arch = language(config, name, kind=f"{kind}_text")
    number = arch.trunk.hidden
    build = (_flat_eye, _flat_ear) if kind == "gemma4_unified" else (_gemma4_eye, _gemma4_ear)
    senses = zip(("vision_config", "audio_config"), (f"{kind}_vision", f"{kind}_audio"), build, strict=True)
    towers = tuple(
        tower(part(config, key, kind=sense), number)
        for key, sense, tower in senses
        if config.raw.get(key) is not None
    )
    return join(config, arch, towers=towers)


def _gemma4_eye(config: Config, number: int) -> Tower:
    """Patches as flat pixels, two axes of positions, four norms a layer."""
    hidden, head = config.size("hidden_size"), config.size("head_dim")
    stack = Stack(
        hidden=hidden,
        heads=config.size("num_attention_heads"),
        kv_heads=config.size("num_key_value_heads"),
        head_dim=head,
        width=config.size("intermediate_size"),
        gated=True,
        biases="",
        norms=4,
        norm_bias=False,
        qk_norm=head,
        tok=PATCHES,
    )
    pixels = 3 * config.size("patch_size") ** 2
    pool = config.size("pooling_kernel_size", default=3) ** 2
    return eye_tower(
        stack,
        config.layers("num_hidden_layers"),
        outer=(
            *conv("patch", (hidden, pixels), bias=False, sites=PATCHES),
            *table(2 * config.size("position_embedding_size"), hidden),
            *linear("project", (number, hidden), bias=False, sites=PATCHES // pool),
        ),
    )


def _gemma4_ear(config: Config, number: int) -> Tower:
    hidden, width = config.size("hidden_size"), config.size("output_proj_dims")
    first, second = config.sizes("subsampling_conv_channels")
    ear = Conformer(
        hidden=hidden,
        heads=config.size("num_attention_heads"),
        layers=config.layers("num_hidden_layers"),
        kernel=config.size("conv_kernel_size"),
        channels=(first, second),
        bands=first // 4,
        window_tok=config.whole("attention_chunk_size") + config.whole("attention_context_left"),
    )
    handed = linear("project", (width, hidden), sites=FRAMES // 4)
    return ear_tower(ear, after=(*handed, *linear("project", (number, width), bias=False, sites=FRAMES // 4)))


def _flat_eye(config: Config, number: int) -> Tower:
    """No layers of its own: patches are projected and the language model looks at them."""
    width = config.size("mm_embed_dim", "hidden_size")
    pixels = 3 * (config.size("patch_size") * config.size("pooling_kernel_size", default=3)) ** 2
    rows = config.size("mm_posemb_size", "position_embedding_size")
    weights: tuple[Weight, ...] = (
        *norm(pixels, bias=True),
        *linear("patch", (width, pixels), sites=PATCHES),
        *norm(width, bias=True) * 2,
        *vector(rows, 2, width),
        *linear("project", (number, width), bias=False, sites=PATCHES),
    )
    return Tower(name="vision", hidden=width, layers=(), outer=weights, sample_tok=PATCHES)


def _flat_ear(config: Config, number: int) -> Tower:
    width = config.size("audio_embed_dim", "output_proj_dims", "hidden_size")
    weights = linear("project", (number, width), bias=False, sites=FRAMES // 4)
    return Tower(name="audio", hidden=width, layers=(), outer=weights, sample_tok=FRAMES // 4)


def _shared_attention(config: Config, hidden: int, *, mixer: Mixer, values: bool) -> Block:
    """Attention with a norm on each head of q and k; without `values` the keys serve as values too."""
    biased = config.flag("attention_bias", default=False)
    block = blocks.attention(hidden, mixer, qkv_bias=biased, out_bias=biased, qk_norm=mixer.key_dim)
    if values:
        return block
    return Block(tuple(each for each in block.weights if not each.role.startswith("attn.v")), mixer=mixer)


def _per_layer_tables(config: Config, size: Sizes) -> tuple[Weight, ...]:
    """A small token table for every layer, the projection that joins it, and its norm."""
    inner = config.whole("hidden_size_per_layer_input", default=0)
    if not inner:
        return ()
    rows = config.size("vocab_size_per_layer_input", default=size.vocab)
    return (
        Weight(role="embed.layer", shape=(rows, size.layers * inner), cut=Cut.VOCAB),
        *matrix("project", size.layers * inner, inputs=size.hidden, cut=Cut.WHOLE),
        *norm(inner),
    )

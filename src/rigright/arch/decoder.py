"""Decoder language models: the sizes a config gives, a family's style, and layers built of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rigright.arch import blocks
from rigright.arch.blocks import Block, matrix
from rigright.arch.config import Config
from rigright.arch.record import Arch, Cut, Layer, Mix, Tower, Weight
from rigright.base.errors import DataError
from rigright.base.record import dataclass, replace
from rigright.base.words import Sentence, say

# one quantity, and every key that configs name it by
HIDDEN = ("hidden_size", "n_embd", "d_model", "model_dim", "dim", "embed_dim", "emb_dim", "hidden_dim")
LAYERS = (
    "num_hidden_layers",
    "n_layer",
    "n_layers",
    "num_layers",
    "num_decoder_layers",
    "decoder_layers",
    "num_transformer_layers",
)
HEADS = (
    "num_attention_heads",
    "n_head",
    "n_heads",
    "num_heads",
    "attention_heads",
    "decoder_attention_heads",
)
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_kv_heads", "n_head_kv", "multi_query_group_num")
HEAD_DIM = ("head_dim", "attention_head_dim", "kv_channels", "d_head", "dim_head", "attention_head_size")
WIDTH = ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", "d_inner", "d_ff", "dim_ff", "dff")
VOCAB = ("vocab_size", "padded_vocab_size", "n_vocab", "n_words", "n_token")
CONTEXT = (
    "max_position_embeddings",
    "n_positions",
    "n_ctx",
    "max_seq_len",
    "max_sequence_length",
    "seq_length",
)
SLIDING = frozenset(
    {"sliding_attention", "sliding", "local", "local_attention", "sliding_window", "swa", "chunked_attention"}
)
MTP_LAYERS = ("num_nextn_predict_layers", "num_mtp_modules", "num_mtp_layers", "mtp_num_hidden_layers")
_SLIDES = {True: "sliding_attention", False: "full_attention"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The dimensions of a decoder."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    width: int
    vocab: int
    tied: bool
    value_dim: int = 0  # of a head; 0: as wide as its keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """In what a family differs from Llama, as far as anything can be counted."""

    family: str
    qkv_bias: bool = False
    out_bias: bool = False
    ffn_bias: bool = False
    gated: bool = True
    norms: int = 2  # norms of the hidden width in a layer
    norm: str = "rms"  # "rms": a scale; "layer": scale and shift; "none": no weights
    qk_norm: str = "none"  # "head": one of a head's width on q and on k; "all": of all heads'; "none"
    last_norm: bool = True
    head_bias: bool = False
    positions: int = 0  # rows of a learned position table
    windows: tuple[int | None, ...] = ()  # each layer's; empty: none slides
    chunks: bool = False  # a layer that slides sees its own chunk only
    gate: str = "none"  # gate on the attention's output: "head": one a head, "wide": one an element
    gate_bias: bool = False
    sinks: bool = False  # a learned sink a head
    extra: tuple[Weight, ...] = ()  # more weights of each layer
    outer: tuple[Weight, ...] = ()  # more weights outside the layers


@dataclass(frozen=True, slots=True)
class Draft:
    """A decoder that a row has described, for the code that gives its attentions."""

    config: Config
    size: Sizes
    style: Style


def read_sizes(config: Config, **given: int | bool) -> Sizes:
    """The dimensions under whatever keys the config has; what is given stands before it."""
    hidden = config.size(*HIDDEN)
    heads = int(given.get("heads") or config.size(*HEADS))
    tied = given.get("tied")
    return Sizes(
        hidden=hidden,
        layers=int(given.get("layers") or config.layers(*LAYERS)),
        heads=heads,
        kv_heads=int(given.get("kv_heads") or config.size(*KV_HEADS, default=heads)),
        head_dim=int(given.get("head_dim") or _head_width(config, hidden=hidden, heads=heads)),
        width=int(given["width"]) if "width" in given else config.size(*WIDTH, default=4 * hidden),
        vocab=int(given.get("vocab") or config.size(*VOCAB)),
        tied=config.flag("tie_word_embeddings", default=False) if tied is None else bool(tied),
        value_dim=int(given.get("value_dim") or 0),
    )


def _head_width(config: Config, *, hidden: int, heads: int) -> int:
    """The width of a head: told, or the hidden width shared out evenly."""
    number = next((config.size(key) for key in HEAD_DIM if config.raw.get(key) is not None), None)
    if number is None and hidden % heads:
        raise DataError(
            say(
                "{where}: {heads} heads do not divide a width of {hidden}",
                where=config.where,
                heads=heads,
                hidden=hidden,
            )
        )
    return number or hidden // heads


def attend(size: Sizes, style: Style, *, window_tok: int | None = None) -> Block:
    """The attention of one layer."""
    kind = Mix.CHUNK if style.chunks and window_tok is not None else Mix.FULL
    mixer = blocks.gqa(size.heads, size.kv_heads, head_dim=size.head_dim, window_tok=window_tok, kind=kind)
    mixer = replace(mixer, value_dim=size.value_dim or size.head_dim)
    block = blocks.attention(
        size.hidden,
        mixer,
        qkv_bias=style.qkv_bias,
        out_bias=style.out_bias,
        qk_norm=size.head_dim if style.qk_norm == "head" else 0,
    )
    if style.qk_norm == "all":
        norms = (*blocks.norm(size.heads * size.head_dim), *blocks.norm(size.kv_heads * size.head_dim))
        block = Block((*block.weights, *norms), mixer=mixer)
    return extras(block, size.hidden, style=style)


def extras(attention: Block, hidden: int, *, style: Style) -> Block:
    """Attention with the family's gate on its output and its learned sinks."""
    mixer = attention.mixer
    if mixer is None:
        return attention
    width = {"none": 0, "head": mixer.heads, "wide": mixer.heads * mixer.value_dim}[style.gate]
    more = (
        *(matrix("attn.gate", width, inputs=hidden, cut=Cut.OUT, bias=style.gate_bias) if width else ()),
        *((Weight(role="attn.sink", shape=(mixer.heads,), cut=Cut.OUT),) if style.sinks else ()),
    )
    return replace(attention, weights=(*attention.weights, *more))


def feed(size: Sizes, style: Style, *, width: int | None = None) -> Block:
    """The dense feed-forward of one layer."""
    wide = width or size.width
    return blocks.dense(size.hidden, wide, gated=style.gated, bias=style.ffn_bias) if wide else Block(())


def norm(width: int, style: Style) -> tuple[Weight, ...]:
    """One norm in the family's kind."""
    return () if style.norm == "none" else blocks.norm(width, bias=style.norm == "layer")


def layer(hidden: int, style: Style, *parts: Block) -> Layer:
    """A layer of the parts given, with the family's norms."""
    return Layer(
        weights=(
            *(norm(hidden, style) * style.norms),
            *(weight for part in parts for weight in part.weights),
            *style.extra,
        ),
        mixer=next((part.mixer for part in parts if part.mixer is not None), None),
        ffn=next((part.ffn for part in parts if part.ffn is not None), None),
    )


def text_arch(
    config: Config,
    name: str,
    *,
    style: Style,
    size: Sizes,
    layers: Sequence[Layer],
) -> Arch:
    """A language model of one tower: token table, layers, last norm, head, and what more stands outside."""
    positions = (Weight(role="position", shape=(style.positions, size.hidden)),) if style.positions else ()
    tower = Tower(
        name="text",
        hidden=size.hidden,
        layers=tuple(layers),
        outer=(
            *blocks.embedding(size.vocab, size.hidden),
            *positions,
            *style.outer,
            *(norm(size.hidden, style) if style.last_norm else ()),
            *blocks.head(size.vocab, size.hidden, tied=size.tied, bias=style.head_bias),
        ),
    )
    return Arch(
        name=name,
        family=style.family,
        task="text",
        towers=(tower,),
        vocab=size.vocab,
        tied=size.tied,
        max_context_tok=context(config),
    )


def both_ways(arch: Arch) -> Arch:
    """The same layers, each token seeing those after it too: nothing to cache."""
    layers = tuple(
        layer if layer.mixer is None else replace(layer, mixer=replace(layer.mixer, kind=Mix.BOTH))
        for layer in arch.trunk.layers
    )
    return replace(arch, towers=(replace(arch.trunk, layers=layers),))


def context(config: Config) -> int | None:
    """The longest context the config promises; None where it does not say."""
    return next((config.whole(key) for key in CONTEXT if config.raw.get(key) is not None), None)


def layer_types(config: Config, layers: int, *, default: Callable[[int], str]) -> list[str]:
    """Each layer's kind of attention: listed, or by the family's own rule; a list too short is an error."""
    values = config.items("layer_types", default=[])
    if not values:
        return [default(index) for index in range(layers)]
    if len(values) < layers:
        raise DataError(
            say(
                "{where}: layer_types lists {told} layers, the model has {layers}",
                where=config.where,
                told=len(values),
                layers=layers,
            )
        )
    return [str(kind) for kind in values[:layers]]


def windows(config: Config, slides: Callable[[int], bool]) -> tuple[int | None, ...]:
    """Each layer's window: by layer_types, else where the family's own rule says it slides."""
    window = config.maybe("sliding_window")
    if not window:
        return ()
    kinds = layer_types(config, config.layers(*LAYERS), default=lambda index: _SLIDES[slides(index)])
    return tuple(window if kind in SLIDING else None for kind in kinds)


def every(period: int, *, offset: int = 0) -> Callable[[int], bool]:
    """A rule: all layers slide but each `period`-th (the last of each group; `offset` moves it)."""
    return lambda index: bool((index + 1 + offset) % period)


def always(_: int) -> bool:
    """A rule: every layer slides."""
    return True


def near_published(arch: Arch) -> Arch:
    """Counted from a description; only the publisher's rounded total is known to agree."""
    return warned(
        arch,
        say(
            "{family}: counted from its description; close to the published total, not checked "
            "against a reference implementation",
            family=arch.family,
        ),
    )


def warned(arch: Arch, warning: Sentence) -> Arch:
    """The Arch with one more warning."""
    return replace(arch, warnings=(*arch.warnings, warning))


def with_mtp(
    config: Config,
    arch: Arch,
    *,
    layer: Layer | None = None,
    copies: bool = True,
    extra: tuple[Weight, ...] = (),
) -> Arch:
    """The Arch with its prediction layers spare, as many as the config says.

    Each is a layer like the trunk's last, what joins it to the trunk and, with `copies`, the token
    table and the head once more, as DeepSeek-V3's files have them.
    """
    count = next((config.layers(key) for key in MTP_LAYERS if config.raw.get(key) is not None), 0)
    if not count or not arch.trunk.layers:
        return arch
    body = layer or arch.trunk.layers[-1]
    hidden, vocab = arch.trunk.hidden, arch.vocab
    tables = (*blocks.embedding(vocab, hidden), *blocks.head(vocab, hidden, tied=False)) if copies else ()
    outer = (*mtp_joint(hidden), *tables, *extra)
    tower = Tower(name="mtp", hidden=hidden, layers=(body,) * count, outer=outer * count)
    return replace(arch, spare=(*arch.spare, tower))


def mtp_joint(hidden: int) -> tuple[Weight, ...]:
    """Norms of the token and of the state, the matrix that joins them, the last norm."""
    return (*blocks.norm(hidden) * 3, *matrix("project", hidden, inputs=2 * hidden, cut=Cut.WHOLE))

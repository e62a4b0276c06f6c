"""Reads a decoder by its row of the table of families: what the row says of the config's keys, and flags."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar

from rigright.arch.blocks import Block, beside, borrow, connections, head_connection
from rigright.arch.cells import Cell, Scope, names
from rigright.arch.config import Config
from rigright.arch.decoder import (
    HEADS,
    HIDDEN,
    KV_HEADS,
    LAYERS,
    SLIDING,
    VOCAB,
    WIDTH,
    Draft,
    Sizes,
    Style,
    attend,
    both_ways,
    context,
    extras,
    layer,
    layer_types,
    near_published,
    read_sizes,
    with_mtp,
)
from rigright.arch.defaults import full
from rigright.arch.experts import EXPERTS, Mixture, feeding, read_decoder
from rigright.arch.record import Arch, Cut, Weight
from rigright.base.record import dataclass, replace

Row = Mapping[str, Any]
T = TypeVar("T")

_FILLED = ("experts", "latent", "state", "attends", "filled")  # such rows read over their class's defaults
_BIASES = {"bias": ("qkv_bias", "out_bias"), "all_bias": ("qkv_bias", "out_bias", "ffn_bias")}
_FLAGS = (
    "qkv_bias",
    "out_bias",
    "ffn_bias",
    "head_bias",
    "gated",
    "last_norm",
    "chunks",
    "gate_bias",
    "sinks",
)
_CHOICES = ("norm", "qk_norm", "gate")
_SIZES = ("heads", "kv_heads", "head_dim", "value_dim", "width", "vocab")
_COUNTS = ("dense_first", "latent", "latent_norms", "beside")  # of a mixture; all else is yes or no
_OF_A_LAYER = frozenset({"i", "slides"})  # names whose cells are worked out for each layer
_STATES = frozenset({"linear_attention", "mamba", "conv", "recurrent"})  # kinds of layers without attention
_OWN_WORDS = ("none", "rms", "layer", "head", "all", "wide")


def read_row(row: Row, config: Config, *, name: str) -> Arch:
    """Read a config as its family's row says."""
    if any(key in row for key in _FILLED):
        config = full(config, row.get("defaults", row["id"]))
    for key, cell in row.get("given", {}).items():
        config = config.over(**{key: _cells(config).value(cell)})
    cells = _cells(config)
    config.size(*HIDDEN)  # of all that may be missing this is said first
    slides = _slides(row, cells)
    layers = _Layers(cells.over(i=0, slides=slides[:1] == (True,)), slides)
    sizes = _sizes(row, layers)
    size = sizes[0]
    style = _style(row, layers.cells, size=size)
    mixture = _mixture(row, cells)
    attends, whole = _attends(row, layers, style=style, sizes=sizes)
    arch = read_decoder(config, name, style=style, mixture=mixture, attends=attends, sizes=sizes)
    if "mtp" in row:
        # what predicts ahead is like the last layer, with an attention of its own to all before
        ffn = arch.trunk.layers[-1].ffn if arch.trunk.layers else None
        body = layer(size.hidden, style, whole, feeding(sizes[-1], style, mixture=mixture, ffn=ffn))
        arch = with_mtp(config, arch, layer=body, copies=row["mtp"] == "copies")
    if cells.flag(row.get("both_ways", False)):
        arch = both_ways(arch)
    if "finish" in row:
        arch = _code(row["finish"])(config, arch)
    return near_published(arch) if cells.flag(row.get("near_published", False)) else arch


def _cells(config: Config) -> Scope:
    """The reader's own quantities: what a decoder usually has, and the words that its style is said in."""
    own = {
        "layers": lambda: config.layers(*LAYERS),
        "last": lambda: config.layers(*LAYERS) - 1,
        "hidden": lambda: config.size(*HIDDEN),
        "heads": lambda: config.size(*HEADS),
        "kv_heads": lambda: config.size(*KV_HEADS, default=config.size(*HEADS)),
        "width": lambda: config.size(*WIDTH, default=4 * config.size(*HIDDEN)),
        "vocab": lambda: config.size(*VOCAB),
        "context": lambda: context(config),
        "experts": lambda: next((config.raw[key] for key in EXPERTS if config.raw.get(key)), None),
    }
    return Scope(config, {**own, **{word: word for word in _OWN_WORDS}})


def _code(place: str) -> Callable[..., Any]:
    """What no row can say: a function of a kin."""
    module, _, function = place.partition(".")
    code: Callable[..., Any] = getattr(import_module(f"rigright.arch.kin.{module}"), function)
    return code


@dataclass(frozen=True, slots=True)
class _Layers:
    """The layers of a decoder, and which of them slide."""

    cells: Scope  # of the first layer
    slides: tuple[bool, ...]

    def each(self, read: Callable[[Scope], T], *stated: Cell) -> list[T]:
        """What cells say of each layer; worked out once where it is the same for all."""
        if not any(_OF_A_LAYER & names(cell) for cell in stated):
            return [read(self.cells)] * len(self.slides)
        return [read(self.cells.over(i=index, slides=slides)) for index, slides in enumerate(self.slides)]


def _slides(row: Row, cells: Scope) -> tuple[bool, ...]:
    """Which layers slide: by layer_types, else where the row's rule says so."""
    layers = cells.config.layers(*LAYERS)
    if "windows" not in row or not cells.flag(row.get("windowed", True)):
        return (False,) * layers
    of_layers = [cells.over(i=index) for index in range(layers)]
    kinds = layer_types(
        cells.config,
        layers,
        default=lambda index: "sliding" if of_layers[index].flag(row["windows"]) else "full",
    )
    whole = row.get("whole", False)
    return tuple(kind in SLIDING and not own.flag(whole) for kind, own in zip(kinds, of_layers, strict=True))


def _sizes(row: Row, layers: _Layers) -> tuple[Sizes, ...]:
    """The dimensions, some under keys of the family's own: of each layer, or one for all."""
    stated = {key: row[key] for key in _SIZES if key in row}
    config = layers.cells.config
    given: dict[str, int] = {"tied": layers.cells.flag(row["tied"])} if "tied" in row else {}
    if layers.cells.flag(row.get("latent", False)):
        from rigright.arch.latent import read_latent

        latent = read_latent(config)
        given["head_dim"] = latent.nope_dim + latent.rope_dim

    def sizes(cells: Scope) -> Sizes:
        return read_sizes(config, **given, **{key: cells.size(cell) for key, cell in stated.items()})

    return tuple(layers.each(sizes, *stated.values())) or (sizes(layers.cells),)


def _style(row: Row, cells: Scope, *, size: Sizes) -> Style:
    """In what the family differs from Llama."""
    stated: dict[str, Any] = {}
    for word, parts in _BIASES.items():
        if word in row:
            stated |= dict.fromkeys(parts, cells.flag(row[word]))
    stated |= {key: cells.flag(row[key]) for key in _FLAGS if key in row}
    stated |= {key: cells.value(row[key]) for key in _CHOICES if key in row}
    stated |= {key: cells.whole(row[key]) for key in ("norms", "positions") if key in row}
    own = cells.over(heads=size.heads, kv_heads=size.kv_heads, head_dim=size.head_dim, width=size.width)
    for key in ("extra", "outer"):
        stated[key] = _weights(row.get(key, ()), own)
    if "streams" in row:
        count = cells.size(row["streams"]["of"])
        stated["extra"] += connections(size.hidden, count, mixed=row["streams"]["mixed"]) * 2
        stated["outer"] += head_connection(size.hidden, count) if row["streams"]["head"] else ()
    return Style(family=row["family"], **stated)


def _weights(rows: Sequence[Row], cells: Scope) -> tuple[Weight, ...]:
    """Weights beside the usual ones, some with a shift each."""
    weights: tuple[Weight, ...] = ()
    for each in rows:
        if not cells.flag(each.get("if", True)):
            continue
        sizes = each["of"] if isinstance(each["of"], list) else [each["of"]]
        shape = tuple(cells.size(cell) for cell in sizes)
        copies = cells.size(each.get("copies", 1))
        used = min(cells.size(each["used"]), copies) if "used" in each else None
        cut = Cut(each.get("cut", "whole"))
        pair: tuple[Weight, ...] = (
            Weight(role=each["role"], shape=shape, cut=cut, copies=copies, used=used),
        )
        if cells.flag(each.get("shift", False)):
            pair = (*pair, Weight(role=f"{each['role']}.bias", shape=shape[:1], cut=cut))
        weights += pair * cells.size(each.get("times", 1))
    return weights


def _mixture(row: Row, cells: Scope) -> Mixture | None:
    """The row's experts, where the config has some."""
    stated = row.get("experts")
    if stated is None or not cells.flag(stated.get("if", True)):
        return None
    fields: Any = {
        key: cells.whole(cell) if key in _COUNTS else cells.flag(cell)
        for key, cell in stated.items()
        if key != "if"
    }
    return Mixture(**fields)


@dataclass(frozen=True, slots=True)
class _Mixing:
    """What tells the attentions of layers apart."""

    size: Sizes
    window_tok: int | None
    sinks: bool = False
    borrows: bool = False  # reads the cache of an earlier layer
    keys_are_values: bool = False
    owns: bool = False  # chooses the tokens it reads, or reads those an earlier layer chose
    is_state: bool = False


def _attends(
    row: Row, layers: _Layers, *, style: Style, sizes: Sequence[Sizes]
) -> tuple[tuple[Block, ...], Block]:
    """Each layer's mixing of tokens, and that of a layer that sees all before."""
    config, count = layers.cells.config, len(layers.slides)
    if "attends" in row:
        blocks = tuple(_code(row["attends"])(Draft(config, sizes[0], style)))
        return blocks, blocks[-1]
    period, is_latent = layers.cells.whole(row.get("index", 0)), layers.cells.flag(row.get("latent", False))

    def attention(mixing: _Mixing) -> Block:
        own = replace(style, sinks=mixing.sinks)
        if not is_latent:
            usual = attend(mixing.size, own, window_tok=mixing.window_tok)
            if mixing.keys_are_values:
                weights = tuple(each for each in usual.weights if not each.role.startswith("attn.v"))
                usual = replace(usual, weights=weights)
            return borrow(usual) if mixing.borrows else usual
        from rigright.arch.latent import indexed, mla, read_index, read_latent

        latent = read_latent(config)
        whole = extras(mla(latent), latent.hidden, style=own)
        if not period:
            return whole
        chosen = indexed(whole, latent, index=read_index(config), own=mixing.owns)
        more = _weights(row.get("index_extra", ()), layers.cells) if mixing.owns else ()
        return replace(chosen, weights=(*chosen.weights, *more))

    def block(mixing: _Mixing) -> Block:
        if not mixing.is_state:
            return attention(mixing)
        from rigright.arch.ssm import MIXERS

        state = MIXERS[row["state"]["mixer"]](config, mixing.size)
        return beside(attention(mixing), state) if row["state"].get("beside") else state

    reach = f"({row.get('window', 'sliding_window')}) | 0"
    window = layers.cells.whole(reach) or None if any(layers.slides) else None
    flags = [row.get(key, False) for key in ("sinks", "borrows", "keys_are_values")]
    parts = zip(
        sizes if len(sizes) == count else [sizes[0]] * count,
        (window if slides else None for slides in layers.slides),
        layers.each(lambda cells: tuple(map(cells.flag, flags)), *flags),
        _owners(config, count, period=period),
        _state_layers(row, layers),
        strict=True,
    )
    mixings = [_Mixing(size, window, *flags, *rest) for size, window, flags, *rest in parts]
    made = {mixing: block(mixing) for mixing in dict.fromkeys(mixings)}
    last = mixings[-1] if mixings else _Mixing(sizes[0], None)
    return tuple(made[mixing] for mixing in mixings), attention(replace(last, owns=True))


def _owners(config: Config, count: int, *, period: int) -> Sequence[bool]:
    """Which layers choose the tokens they read."""
    if not period:
        return [False] * count
    from rigright.arch.latent import owners

    return owners(config, count, period=period)


def _state_layers(row: Row, layers: _Layers) -> list[bool]:
    """Which layers keep a state: by layer_types, else by the row's rule."""
    if "state" not in row:
        return [False] * len(layers.slides)
    rule = row["state"].get("at", True)
    keeps = layers.each(lambda cells: cells.flag(rule), rule)
    kinds = layer_types(
        layers.cells.config,
        len(layers.slides),
        default=lambda index: "recurrent" if keeps[index] else "full",
    )
    return [kind in _STATES for kind in kinds]

"""A model told by its sizes alone: "layers=32,hidden=4096,heads=32,kv_heads=8,ffn=14336,vocab=128256"."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.arch import blocks, count
from rigright.arch.blocks import Block
from rigright.arch.config import MAX_LAYERS, MAX_SIZE, Config
from rigright.arch.decoder import Sizes, Style, attend, layer, text_arch
from rigright.arch.read import check
from rigright.arch.record import Arch, Ffn
from rigright.base.errors import AskError, RigError
from rigright.base.record import replace
from rigright.base.units import parse_count, show_count
from rigright.base.words import say

NEEDED = ("layers", "hidden", "heads", "ffn", "vocab")
COUNTS = (*NEEDED, "kv_heads", "head_dim", "experts", "active", "shared", "window", "context")
SWITCHES = ("gated", "tied", "bias")
_YES = {"yes": True, "y": True, "true": True, "1": True, "no": False, "n": False, "false": False, "0": False}
_MAY_BE_ZERO = frozenset({"experts", "shared", "window"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The sizes told; 0 where a model has none of it."""

    layers: int
    hidden: int
    heads: int
    ffn: int
    vocab: int
    kv_heads: int
    head_dim: int
    gated: bool = True
    tied: bool = False
    bias: bool = False
    experts: int = 0
    active: int = 0
    shared: int = 0
    window: int = 0
    context: int | None = None


def read_shape(asked: str) -> Arch:
    """The Arch of a shape: a plain decoder, dense or of experts."""
    shape = _parse_shape(asked)
    style = Style(
        family="shape",
        qkv_bias=shape.bias,
        out_bias=shape.bias,
        norm="layer" if shape.bias else "rms",
    )
    size = Sizes(
        hidden=shape.hidden,
        layers=shape.layers,
        heads=shape.heads,
        kv_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        width=shape.ffn,
        vocab=shape.vocab,
        tied=shape.tied,
    )
    attention = attend(size, style, window_tok=shape.window or None)
    item = layer(shape.hidden, style, attention, _feed(shape))
    config = Config({"max_position_embeddings": shape.context}, asked)
    arch = text_arch(config, asked, style=style, size=size, layers=(item,) * shape.layers)
    try:
        check(arch)
    except RigError as error:
        raise AskError(say("impossible shape: {why}", why=error.sentence)) from None
    return replace(arch, name=_shape_name(arch, shape), source=asked)


def _shape_name(arch: Arch, shape: Shape) -> str:
    """A name for a model that has none."""
    kind = f"{shape.experts} experts, " if shape.experts else ""
    return f"shape {show_count(count.params(arch))} ({kind}{shape.layers} x {shape.hidden})"


def _feed(shape: Shape) -> Block:
    if not shape.experts:
        return blocks.dense(shape.hidden, shape.ffn, gated=shape.gated, bias=shape.bias)
    ffn = Ffn(
        width=shape.ffn,
        gated=shape.gated,
        experts=shape.experts,
        per_tok=shape.active,
        shared_width=shape.shared,
    )
    return blocks.experts(shape.hidden, ffn, bias=shape.bias)


def _parse_shape(asked: str) -> Shape:
    """Read the sizes; what is not told follows from the others."""
    from difflib import get_close_matches

    fields: dict[str, str] = {}
    for item in filter(str.strip, asked.split(",")):
        key, sign, value = (piece.strip() for piece in item.partition("="))
        key = key.lower().replace("-", "_")
        if not sign or not value:
            raise AskError(say('"{item}" in the shape is not key=value', item=item.strip()[:60]))
        if key not in (*COUNTS, *SWITCHES):
            near = get_close_matches(key, (*COUNTS, *SWITCHES), n=1)
            raise AskError(
                say(
                    'a shape has no "{key}"; it has {keys}',
                    key=key[:40],
                    keys=", ".join(near or (*COUNTS, *SWITCHES)),
                )
            )
        if key in fields:
            raise AskError(say('the shape has "{key}" twice', key=key))
        fields[key] = value
    missing = [key for key in NEEDED if key not in fields]
    if missing:
        raise AskError(
            say(
                "the shape lacks {keys}; for example {example}",
                keys=", ".join(missing),
                example=EXAMPLE,
            )
        )
    counts = {key: _count(key, fields[key]) for key in COUNTS if key in fields}
    switches = {key: _switch(key, fields[key]) for key in SWITCHES if key in fields}
    gated = switches.get("gated", True)
    if counts.get("experts") and "active" not in counts:
        raise AskError(say("the shape has experts: add the number active per token, such as active=2"))
    if "head_dim" not in counts and counts["hidden"] % counts["heads"]:
        raise AskError(
            say(
                "hidden={hidden} is not divisible by heads={heads}: add head_dim",
                hidden=counts["hidden"],
                heads=counts["heads"],
            )
        )
    derived = {"kv_heads": counts["heads"], "head_dim": counts["hidden"] // counts["heads"]}
    # a plain ffn is the mark of models from before 2023, and these share the embedding with the head
    return Shape(**{**derived, **counts, "tied": not gated, **switches})  # type: ignore[arg-type]


EXAMPLE = "layers=32,hidden=4096,heads=32,kv_heads=8,ffn=14336,vocab=128256"


def _count(key: str, value: str) -> int:
    number = parse_count(value)
    most = MAX_LAYERS if key == "layers" else MAX_SIZE
    if number > most or (number == 0 and key not in _MAY_BE_ZERO):
        raise AskError(
            say("{key}={value} is out of range: use 1 to {most}", key=key, value=value[:40], most=most)
        )
    return number


def _switch(key: str, value: str) -> bool:
    if value.lower() not in _YES:
        raise AskError(say("{key}={value}: use yes or no", key=key, value=value[:40]))
    return _YES[value.lower()]

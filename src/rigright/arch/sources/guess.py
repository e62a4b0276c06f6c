"""A model that no config here describes: the nearest of its family, or a shape made of its size."""

from __future__ import annotations

import math
import re
from functools import cache

from rigright.arch.record import Arch
from rigright.arch.sources import zoo
from rigright.arch.sources.find import find
from rigright.arch.sources.identity import identities
from rigright.arch.sources.shape import read_shape
from rigright.arch.sources.spelling import own_part, selects, spell
from rigright.base.errors import RigError
from rigright.base.record import dataclass
from rigright.base.units import GIGA, MEGA, TERA
from rigright.base.words import Sentence, say

SAME = 1.12  # of two sizes that one model of a family can stand for
LAYER_HIDDENS = 13.0  # parameters of a layer over its width squared: grouped attention, gated feed-forward
WIDTH_OF_DEPTH = 128.0  # hidden width over layers, of models people train
HEAD_DIM, GROUP, UNIT, MOST_UNITS = 128, 4, 32, 2000
VOCAB, SMALL_VOCAB = 128256, 32000  # of models of this day, and of small ones
SMALL, TIED = 0.3 * GIGA, 4 * GIGA  # parameters below which vocabularies are small, and tables are shared
USUAL = 8 * GIGA  # parameters of a model of which only the name is known
_SIZE = re.compile(
    r"(?<![a-z0-9.])(?:(?P<times>\d{1,3})x)?(?P<number>\d{1,4}(?:[._]\d{1,3})?)(?P<unit>[bmt])(?![a-z0-9])"
)
_ACTIVE = re.compile(r"(?<![a-z0-9])a(\d{1,3}(?:\.\d{1,2})?)b(?![a-z0-9])")
_UNITS = {"m": MEGA, "b": GIGA, "t": TERA}
_FAMILY = re.compile(r"[a-z]{2,}")
_GENERATION = re.compile(r"[a-z][-_ ]?(\d{1,2}(?:\.\d{1,2})?)(?![\d.]*[bmtk]\b)")
OTHER_TASK = 3.0  # how far a model that makes no text stands from one that does


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """What stands in for a model, and how far it may be from it."""

    arch: Arch
    note: Sentence
    kind: str  # "same_size", "other_size", "unsized"


@cache
def guess(asked: str) -> Guess:
    """The nearest known model of a name that nothing answers to; never an error."""
    name = re.sub(r"\.(?:gguf|safetensors|bin)\Z", "", asked.strip()[:300].lower().replace("\\", "/"))
    own = name.rpartition("/")[2] or name
    shorter = _shorter(own)
    if shorter is not None:
        return Guess(arch=shorter, note=_using(shorter.name, asked), kind="same_size")
    size, active = _sizes(asked, own)
    near = _of_family(name, size, active=active)
    if near is not None and (size is None or _apart(size, near) <= math.log(SAME)):
        return Guess(arch=zoo.arch(near), note=_using(near, asked), kind="same_size" if size else "unsized")
    if active is not None and size is not None:
        alike = _of_experts(size, active)
        return Guess(arch=zoo.arch(alike), note=_using(alike, asked), kind="other_size")
    return Guess(
        arch=shaped(size or USUAL),
        note=say(
            "no config for {model}: using a standard decoder of {size}B parameters",
            model=asked[:80],
            size=f"{(size or USUAL) / GIGA:.3g}",
        ),
        kind="other_size" if size else "unsized",
    )


def shaped(params: float) -> Arch:
    """A plain decoder of so many parameters, as wide and deep as models of that size are."""
    vocab = SMALL_VOCAB if params < SMALL else VOCAB
    tables = 1 if params < TIED else 2
    low, high = 1, MOST_UNITS  # widths in units of 32; parameters only rise with them
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if _params(middle * UNIT, vocab, tables=tables) <= params else (low, middle - 1)
        )
    width = low * UNIT
    if width > GROUP * HEAD_DIM:
        width = round(width / (GROUP * HEAD_DIM)) * GROUP * HEAD_DIM
    heads = max(width // HEAD_DIM, 1) if width % HEAD_DIM == 0 else low
    kv_heads = heads // GROUP if heads % GROUP == 0 else heads
    layers = max(round(width / WIDTH_OF_DEPTH), 2)
    attention = 2 * width**2 * (1 + kv_heads / heads)
    left = (params - tables * vocab * width) / layers - attention
    ffn = max(round(left / (3 * width * UNIT)), 1) * UNIT
    return read_shape(
        f"layers={layers},hidden={width},heads={heads},kv_heads={kv_heads},ffn={ffn},vocab={vocab},"
        f"tied={'yes' if tables == 1 else 'no'}"
    )


def _params(width: float, vocab: int, *, tables: int) -> float:
    return LAYER_HIDDENS * width**2 * max(width / WIDTH_OF_DEPTH, 2) + tables * vocab * width


def _using(name: str, asked: str) -> Sentence:
    return say('using {model} for "{asked}"', model=name, asked=asked[:80])


def _shorter(own: str) -> Arch | None:
    """The model a name is of once words are cut off its end: makers of copies append their own."""
    pieces = re.split(r"[-_ ]", own)
    for end in range(len(pieces) - 1, 0, -1):
        text = "-".join(pieces[:end])
        if not _SIZE.search(text):
            break
        try:
            return find(text)
        except RigError:
            continue
    return None


def _sizes(asked: str, own: str) -> tuple[float | None, float | None]:
    """Parameters, and those one token goes through, as published or as the name says."""
    known = next((one.params for one in identities() if one.name.lower() == asked.lower()), None)
    found = _SIZE.search(own)
    active = _ACTIVE.search(own)
    size = None if known is None else float(known)
    if size is None and found is not None:
        number = float(found["number"].replace("_", ".")) * _UNITS[found["unit"]]
        size = number * int(found["times"] or 1)
    return size, None if active is None else float(active[1]) * GIGA


@cache
def _zoo_sizes() -> dict[str, tuple[float, float | None]]:
    """Every model of the zoo by its sizes, as its name says."""
    found = {name: _sizes(name, own_part(name).lower()) for name in zoo.names() if "#" not in name}
    return {name: (size, active) for name, (size, active) in found.items() if size}


def _apart(size: float, name: str) -> float:
    return abs(math.log(max(size, 1.0) / _zoo_sizes()[name][0]))


def _of_family(name: str, size: float | None, *, active: float | None) -> str | None:
    """The model that shares the words of a family, nearest in size, then in generation and kind."""
    words = {word for word in _FAMILY.findall(name) if len(word) > 2}
    generation = _generation(name)
    scored = []
    for one, (own_size, own_active) in _zoo_sizes().items():
        own = own_part(one).lower()
        letters = set(_FAMILY.findall(own))
        family = next(iter(_FAMILY.findall(own)), "")
        if family not in words or (active is None) != (own_active is None):
            continue
        far = abs(math.log(size / own_size)) if size else abs(math.log(USUAL / own_size)) / 4
        kinds = {word for word in spell(own).words if word.isalpha() and not selects(word)} - words
        scored.append(
            (round(far / math.log(SAME)), len(kinds) + len(letters - words) * 0.01,
             abs(_generation(own) - generation), one)
        )  # fmt: skip
    texts = (row[-1] for row in sorted(scored) if zoo.arch(row[-1]).task in {"text", "image-text"})
    return next(texts, None)


def _generation(name: str) -> float:
    found = _GENERATION.search(name)
    return float(found[1]) if found else 0.0


def _of_experts(size: float, active: float) -> str:
    """The mixture of experts nearest in both its sizes, of those alike the plainest name."""

    def far(name: str) -> float:
        own_size, own_active = _zoo_sizes()[name]
        return round(abs(math.log(size / own_size)) + abs(math.log(active / (own_active or active))), 1)

    known = [name for name, sizes in _zoo_sizes().items() if sizes[1]]
    return min(known, key=lambda name: (far(name), len(name), name))

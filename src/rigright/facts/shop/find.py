"""Rows of a table of products that a loose name means: "b650 tomahawk", "corsair rm1000x"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol, TypeVar

from rigright.base.loader import rows

MOST_CHARS = 300
_WORD = re.compile(r"[a-z0-9]+")
FILLER = re.compile(  # what tables leave out of names, and shops write
    r"\b(?:motherboard|mainboard|certified|fully modular|full modular|semi[- ]modular|non[- ]modular|modular|"
    r"tempered glass|side panel|front panel|with|and|usb[ -]?\d[\d.]*|gen ?\d(?:x\d)?|type[- ][ac]|hdmi|"
    r"sata 6gb/s|edition|oem/tray|processor|geforce|desktop|gddr\d+x?|black|white|silver|grey|gray|red|blue|"
    r"green|pink|brown|gold color|dark|light|tint(?:ed)?|clear|solid|acrylic|panel|window|rgb ram|"
    r"supports .*|\d+(?:\.\d+)? cfm|power supply|unit|graphics card|pc case|computer case|case|in stock)\b"
    r"|[™®(),/|\"“”]|80\+ ?(?:certified)?",
    re.IGNORECASE,
)
_NOISE = frozenset(
    _WORD.findall(
        """the a an and with or for of new used x motherboard mainboard board psu power supply case chassis
        cooler cpu amd intel nvidia processor gold platinum titanium bronze silver certified modular
        fully semi atx matx eatx itx mini micro tower mid full black white ddr4 ddr5 aio liquid air w mm
        rev edition any some generic drive ssd nvme m2 tb gb core system data graphics card gpu desktop"""
    )
)


class Product(Protocol):
    """What bears a name and a vendor."""

    @property
    def name(self) -> str:
        """As its maker calls it."""

    @property
    def vendor(self) -> str | None:
        """Its maker."""


Row = TypeVar("Row", bound=Product)


def named(text: str, table: Sequence[Row]) -> tuple[Row, ...]:
    """The rows whose name bears every word that counts, the plainest; none where a word is strange."""
    asked = [word for word in dict.fromkeys(words(FILLER.sub(" ", text[:MOST_CHARS]))) if word not in _NOISE]
    marks = [item for item in asked if any(sign.isdigit() for sign in item) and len(item) > 1]
    known, counts = _index(table)
    strange = [item for item in asked if item not in counts]
    if any(item in marks for item in strange):
        # "z790p" may be "Z790-P"
        joined = [place for place, (_, tight, _) in enumerate(known) if all(item in tight for item in asked)]
        return tuple(table[place] for place in _plainest(joined, known))
    wanted = [item for item in asked if item in counts]
    spoken = any(not item.isdigit() for item in asked)
    makers = _vendors(table)
    while any(item not in makers and not (spoken and item.isdigit()) for item in wanted):
        numbers = [place for place, (own, _, _) in enumerate(known) if own.issuperset(wanted)]
        if numbers:
            return tuple(table[place] for place in _plainest(numbers, known))
        common = max(
            (item for item in wanted if item not in marks), key=lambda item: counts[item], default=None
        )
        if common is None:
            break
        wanted = [item for item in wanted if item != common]
    return ()


def shared(values: Sequence[Any]) -> dict[str, Any]:
    """What all of some records agree on; a field in which they differ is unknown."""
    first = values[0]
    return {
        name: getattr(first, name)
        if all(getattr(value, name) == getattr(first, name) for value in values)
        else None
        for name in type(first).__slots__
    }


def roomiest(result: Sequence[Any], *names: str) -> dict[str, Any]:
    """Of several versions the largest of some fields: what none of them exceeds."""
    known = {name: [value for item in result if (value := getattr(item, name)) is not None] for name in names}
    return {
        name: frozenset().union(*values) if isinstance(values[0], frozenset) else max(values)
        for name, values in known.items()
        if values
    }


def words(name: str) -> list[str]:
    """The words of a name, Chinese ones of the trade in English."""
    name = name.casefold()
    if not name.isascii():
        for chinese, english in chinese_words():
            name = name.replace(chinese, f" {english} ")
    return _WORD.findall(name)


@cache
def chinese_words() -> tuple[tuple[str, str], ...]:
    """How makers and series are called in Chinese, longest first."""
    pairs = [(chinese, english) for chinese, english in rows("parts/words_zh.csv", "zh", "en")]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


@cache
def _index(table: Sequence[Product]) -> tuple[tuple[tuple[frozenset[str], str, int], ...], Counter[str]]:
    """Each row's words, its name written as one, and how long it is; how many rows bear a word."""
    known = []
    counts: Counter[str] = Counter()
    for row in table:
        every = words(f"{row.vendor or ''} {row.name}")
        own = frozenset(every)
        counts.update(own)
        known.append((own, "".join(every), len(own - _NOISE)))
    return tuple(known), counts


@cache
def _vendors(table: Sequence[Product]) -> frozenset[str]:
    return frozenset(word for row in table for word in words(row.vendor or ""))


def _plainest(places: Sequence[int], known: Sequence[tuple[frozenset[str], str, int]]) -> tuple[int, ...]:
    """Rows with the fewest words beside those that were said."""
    least = min((known[place][2] for place in places), default=0)
    return tuple(place for place in places if known[place][2] == least)


def ours(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Of some rows those that state a source of their own, where one does."""
    return tuple(row for row in rows if getattr(row, "source", None)) or tuple(rows)

"""What each chip may be called: the words that must be said and those that may be said with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from rigright.base.record import dataclass
from rigright.base.tables import DATA, Row, read_rows, text, whole
from rigright.base.units import to_gib
from rigright.facts.chips import Chip, chips

_PIECES = re.compile(r"[0-9a-f]{4}:[0-9a-f]{4}|[0-9a-z]+")
_MEMORY = re.compile(r"[0-9]+gb")
_SOCKET = re.compile(r"(sxm|oam)[0-9]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Calling:
    """One way to call a chip."""

    chip: Chip
    key: frozenset[str]  # must be said
    may: frozenset[str]  # all that may be said, the key among it
    own: frozenset[str]  # of these, the words that tell this chip from most others
    rank: int | None  # which of several equal ones is meant where nothing more is said


@cache
def brands() -> dict[str, frozenset[str]]:
    """A vendor -> the brand words its chips may bear or leave out."""
    found: dict[str, set[str]] = {}
    for row in read_rows(DATA / "chip_words.csv", {"word": text, "kind": text, "value": text}):
        if row["kind"] == "brand":
            found.setdefault(row["value"], set()).add(row["word"])
    return {vendor: frozenset(words) for vendor, words in found.items()}


@cache
def callings() -> tuple[Calling, ...]:
    """Every way to call every chip: by its own id and name, or as the table of aliases says."""
    readers = {"id": text, "key": text, "also": text, "rank": whole}
    told: dict[str, list[Row]] = {}
    for row in read_rows(DATA / "chip_aliases.csv", readers, required=("id", "key")):
        told.setdefault(row["id"], []).append(row)
    return tuple(calling for chip in chips() for calling in _callings(chip, told.get(chip.id, [])))


def _callings(chip: Chip, told: list[Row]) -> Iterator[Calling]:
    numbers = {pci_id.partition(":")[2] for pci_id in chip.pci_ids}
    asides = frozenset(_asides(chip) | numbers)
    names = pieces(chip.id) | pieces(chip.name)
    isa = {chip.isa} if chip.isa else set()
    for row in told or [{"key": " ".join(_key(chip, asides)), "also": None, "rank": None}]:
        key = frozenset(row["key"].split())
        said = key | pieces(row["also"] or "") | isa
        yield Calling(
            chip=chip, key=key, may=asides | said | names, own=said | (names - asides), rank=row["rank"]
        )
    for number in sorted(numbers):
        key = frozenset({number})
        yield Calling(chip=chip, key=key, may=asides, own=key.union(chip.pci_ids), rank=None)


def _asides(chip: Chip) -> set[str]:
    """What may be said of a chip without naming it: brand, form, memory, link, PCI id."""
    said = f"{chip.vendor} {chip.architecture} {chip.form} {chip.mem_type} {chip.link or ''}"
    words = pieces(said) | memory_words(chip) | brands().get(chip.vendor, frozenset()) | set(chip.pci_ids)
    return words | {found.group(1) for word in words if (found := _SOCKET.fullmatch(word))}


def _key(chip: Chip, optional: frozenset[str]) -> list[str]:
    """The words of an id that no other reading of it may leave out."""
    words = [word for word in _PIECES.findall(chip.id) if not _MEMORY.fullmatch(word)]
    return [word for word in words if word not in optional] or words


def pieces(name: str) -> set[str]:
    """The plain pieces of one of our own names: "RTX 3080 10GB" -> rtx, 3080, 10gb."""
    return set(_PIECES.findall(name.lower()))


def memory_words(chip: Chip) -> set[str]:
    """The memory sizes that may stand in a chip's name."""
    return {memory_word(to_gib(size)) for size in (chip.mem_bytes, *chip.mem_options_bytes)}


def memory_word(size: float) -> str:
    """How a memory size stands among a chip's words: "80gb"."""
    return f"{size:g}gb"

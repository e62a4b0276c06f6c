"""Any writing of a chip or of several -> tokens, counts, and what each chip may be called.

A name is read by vocabulary, not by patterns: every word a chip can bear is known from the tables,
and a run such as "rtx4090", "8xh100" or "两张4090显卡" is cut into known words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Literal, cast

from rigright.base.errors import AskError
from rigright.base.loader import records, rows
from rigright.base.numerals import simplified
from rigright.base.record import dataclass
from rigright.base.units import GIB, GIGA, MEGA, MIB, to_gib
from rigright.base.words import say
from rigright.facts.chips import Chip, chips

MAX_NAME_CHARS = 200

Kind = Literal[
    "word",
    "memory",
    "exact",
    "number",
    "times",
    "nodes",
    "free",
    "plus",
    "box",
    "open",
    "close",
    "mig",
    "unknown",
]

_RUN = re.compile(
    r"(?<![0-9a-z.])(?:mig)?[1-7]g\.[0-9]{1,3}gb(?:[+-](?:me|gfx)(?:\.all)?)?(?![0-9a-z])"
    r"|[0-9a-f]{4}:[0-9a-f]{4}(?![0-9a-z])|[0-9]+\.[0-9]+[a-z]*|[0-9a-z]+|[\u3400-\u9fff]+|[^\s_\-]"
)
_MEMORY = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,3})?)(gib|gb|g)")
_EXACT = re.compile(r"([0-9]{3,7})(mib|mb)")
_PROFILE = re.compile(r"(?:mig)?([1-7]g\.[0-9]{1,3}gb).*")  # of MIG; what follows is media or graphics
_WATTS = re.compile(r"[0-9]{2,4}w")
_INTEGER = re.compile(r"[0-9]{1,4}")
_JOINED = {("titan", "x"): "titanx"}  # an x that counts nothing
_UNITS = ("g", "gb", "gib", "mb", "mib")
_BRACKETS: dict[str, Kind] = {"(": "open", "[": "open", "{": "open", ")": "close", "]": "close", "}": "close"}
_PIECES = re.compile(r"[0-9a-f]{4}:[0-9a-f]{4}|[0-9a-z]+")
_SIZE = re.compile(r"[0-9]+gb")
_SOCKET = re.compile(r"(sxm|oam)[0-9]*")
MOST_SAID = 512  # larger bare numbers are part of a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Calling:
    """One way to call a chip."""

    chip: Chip
    key: frozenset[str]  # must be said
    may: frozenset[str]  # all that may be said, the key among it
    own: frozenset[str]  # of these, the words that tell this chip from most others
    rank: int | None  # which of several equal ones is meant where nothing more is said


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alias:
    """A row of the table of aliases."""

    id: str
    key: frozenset[str]
    also: str = ""
    rank: int | None = None


@cache
def _chip_words() -> list[tuple[str, ...]]:
    """Words around the names of chips, what kind of word each is, and what it stands for."""
    return rows("chip_words.csv", "word", "kind", "value")


@cache
def brands() -> dict[str, frozenset[str]]:
    """A vendor -> the brand words its chips may bear or leave out."""
    groups: dict[str, set[str]] = {}
    for word, kind, value in _chip_words():
        if kind == "brand":
            groups.setdefault(value, set()).add(word)
    return {vendor: frozenset(words) for vendor, words in groups.items()}


@cache
def callings() -> tuple[Calling, ...]:
    """Every way to call every chip: by its own id and name, or as the table of aliases says."""
    alias: dict[str, list[_Alias]] = {}
    for record in records("chip_aliases.csv", _Alias):
        alias.setdefault(record.id, []).append(record)
    return tuple(calling for chip in chips() for calling in _callings(chip, alias.get(chip.id, [])))


def _callings(chip: Chip, alias: list[_Alias]) -> Iterator[Calling]:
    numbers = {pci_id.partition(":")[2] for pci_id in chip.pci_ids}
    asides = frozenset(_asides(chip) | numbers)
    names = pieces(chip.id) | pieces(chip.name)
    isa = {chip.isa} if chip.isa else set()
    for item in alias or [_Alias(id=chip.id, key=frozenset(_key(chip, asides)))]:
        texts = item.key | pieces(item.also) | isa
        yield Calling(
            chip=chip,
            key=item.key,
            may=asides | texts | names,
            rank=item.rank,
            own=texts
            | frozenset(name for name in names - asides if not (name.isdecimal() and len(name) < 2)),
        )
    for number in sorted(numbers):
        key = frozenset({number})
        yield Calling(chip=chip, key=key, may=asides, own=key.union(chip.pci_ids), rank=None)


def _asides(chip: Chip) -> frozenset[str]:
    """What may be said of a chip without naming it: brand, form, memory, link, PCI id."""
    text = f"{chip.vendor} {chip.architecture} {chip.form} {chip.mem_type} {chip.link or ''}"
    return _asides_of(chip.vendor, text) | memory_words(chip) | set(chip.pci_ids)


@cache
def _asides_of(vendor: str, text: str) -> frozenset[str]:
    """Those that many chips share."""
    words = frozenset(pieces(text)) | brands().get(vendor, frozenset())
    return words.union(match.group(1) for word in words if (match := _SOCKET.fullmatch(word)))


def _key(chip: Chip, optional: frozenset[str]) -> list[str]:
    """The words of an id that no other reading of it may leave out."""
    words = [word for word in _PIECES.findall(chip.id) if not _SIZE.fullmatch(word)]
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


@dataclass(frozen=True, slots=True)
class Token:
    """One word of a name, and what kind of word it is."""

    kind: Kind
    text: str
    value: int = 0
    size_bytes: float = 0


@cache
def vocabulary() -> dict[str, Token]:
    """Every word that is known: those of chips, and those of the table around them."""
    words = frozenset[str]().union(*(calling.may for calling in callings()))
    tokens = {word: Token("word", word) for word in words}
    for word, kind, value in _chip_words():
        if kind == "same":
            tokens[word] = Token("word", value)
        elif kind == "pod":
            continue
        elif kind == "brand":
            tokens.setdefault(word, Token("word", word))
        else:
            tokens[word] = Token(cast("Kind", kind), word, int(value or 0))
    return tokens


@cache
def pods() -> tuple[tuple[str, int, str], ...]:
    """Clusters under one name: how many machines one is of, and the chip where nobody names it."""
    pairs = [(word, value.partition(" ")) for word, kind, value in _chip_words() if kind == "pod"]
    return tuple((word, int(nodes), chip) for word, (nodes, _, chip) in pairs)


@cache
def boxes() -> frozenset[str]:
    """Words for whole machines, which any chip may stand beside: "dgx h100", "gb200 nvl72"."""
    return frozenset(word for word, token in vocabulary().items() if token.kind == "box")


def read_tokens(name: str) -> list[Token]:
    """Cut a name into tokens; words that mean nothing here are left out, unknown ones are kept as such."""
    if len(name) > MAX_NAME_CHARS:
        raise AskError(say("name too long ({size} characters); shorten it", size=len(name)))
    lower = simplified(name).casefold()
    runs = _join_units(_RUN.findall(lower))
    return [token for run in runs for token in _read_run(run) if token.text]


def _join_units(runs: list[str]) -> list[str]:
    """Put "80 gb" together, and "titan x"."""
    joined: list[str] = []
    for run in runs:
        if run in _UNITS and joined and joined[-1].replace(".", "", 1).isdecimal():
            joined[-1] += run
        elif joined and (joined[-1], run) in _JOINED:
            joined[-1] = _JOINED[joined[-1], run]
        else:
            joined.append(run)
    return joined


def _read_run(run: str) -> list[Token]:
    profile = _PROFILE.fullmatch(run)
    if profile:
        return [Token("mig", profile.group(1))]
    if run in _BRACKETS:
        return [Token(_BRACKETS[run], run)]
    if run not in vocabulary() and not any(sign.isalnum() for sign in run):
        return []
    whole = _one(run)
    if whole is not None:
        return [whole]
    cut = _cut(run)
    spelt = cut is not None and run.isascii() and run.isalpha() and all(len(item.text) < 2 for item in cut)
    return [Token("unknown", run)] if cut is None or spelt else cut  # "ssd" names no D


def _one(piece: str) -> Token | None:
    """A piece that stands for itself."""
    known = vocabulary().get(piece)
    if known is not None and not _MEMORY.fullmatch(piece):
        return Token("word", piece, int(piece)) if _INTEGER.fullmatch(piece) else known
    memory = _MEMORY.fullmatch(piece)
    if memory:
        size, unit = float(memory.group(1)), memory.group(2)
        return Token("memory", memory_word(size), size_bytes=size * (GIGA if unit == "gb" else GIB))
    exact = _EXACT.fullmatch(piece)
    if exact:
        size, unit = float(exact.group(1)), exact.group(2)
        return Token("exact", piece, size_bytes=size * (MEGA if unit == "mb" else MIB))
    if _WATTS.fullmatch(piece):
        return Token("word", "")
    if _INTEGER.fullmatch(piece):
        return Token("number", piece, int(piece))
    return None


def _cut(run: str) -> list[Token] | None:
    """Cut a run into the fewest known pieces, or None."""
    best: list[list[Token] | None] = [None] * len(run) + [[]]
    for start in range(len(run) - 1, -1, -1):
        for token, end in _pieces_at(run, start):
            rest = best[end]
            if rest is None or not _may_meet(token, rest):
                continue
            tokens = best[start]
            if tokens is None or len(rest) + 1 < len(tokens):
                best[start] = [token, *rest]
    return best[0]


def _pieces_at(run: str, start: int) -> Iterator[tuple[Token, int]]:
    """Every known piece of a run from one place on, longest first."""
    for end in range(min(len(run), start + 24), start, -1):
        piece = run[start:end]
        splits_number = end < len(run) and run[end - 1].isdecimal() and run[end].isdecimal()
        token = None if splits_number else _one(piece)
        if token is not None:
            yield token, end


def _may_meet(token: Token, rest: list[Token]) -> bool:
    """A bare number stands in a run only beside a word of counting: "8x", "x8", "8卡"."""
    beside = ("times", "nodes")
    if token.kind == "number":
        return (bool(rest) and rest[0].kind in beside) or _is_spelt(token)
    return not (rest and rest[0].kind == "number") or token.kind in beside or _is_spelt(rest[0])


def _is_spelt(token: Token) -> bool:
    return not token.text.isdecimal()


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A name without its counts, and the counts."""

    name: tuple[Token, ...]
    count: int | None = None
    n_nodes: int | None = None
    box: int | None = None  # how many chips the named box holds: dgx 8, nvl72 72
    free_bytes: float | None = None
    total_bytes: float | None = None  # an exact size beside the name: "24564 MiB"
    mig: str | None = None  # a MIG profile, "3g.40gb"; "" where MIG is said without one


def read_counts(tokens: list[Token]) -> Counted:
    """Take counts, machines, boxes and free memory out of the tokens of one name."""
    rest, free_bytes = _take_free(tokens)
    # take a size in MiB, which is no part of a name
    exact = [token.size_bytes for token in rest if token.kind == "exact"]
    rest, total_bytes = [token for token in rest if token.kind != "exact"], exact[0] if exact else None
    mig = [token.text for token in rest if token.kind == "mig"]
    rest = [token for token in rest if token.kind != "mig"]
    rest, n_nodes = _take_beside(rest, "nodes")
    rest, count, pair = _take_times(rest)
    if count is None:
        rest, count = _take_bare(rest)
    if count is not None and n_nodes is None and any(token.text == "dgx" for token in rest):
        n_nodes, count = count, None  # "2x dgx h100" are two machines
    return Counted(
        name=tuple(rest),
        count=count,
        n_nodes=n_nodes if pair is None else pair,
        box=next((token.value for token in rest if token.kind == "box"), None),
        free_bytes=free_bytes,
        total_bytes=total_bytes,
        mig=next((text for text in mig if text != "mig"), "") if mig else None,
    )


def _take_times(tokens: list[Token]) -> tuple[list[Token], int | None, int | None]:
    """Take "8x", "x8", or "2x8" at the start, which is machines times cards: rest, count, machines."""
    small = (_counts(token) and 0 < token.value <= MOST_SAID for token in tokens[:3:2])
    if len(tokens) > 3 and tokens[1].kind == "times" and all(small):
        return tokens[3:], tokens[2].value, tokens[0].value
    rest, count = _take_beside(tokens, "times")
    return rest, count, None


def _take_beside(tokens: list[Token], mark: str) -> tuple[list[Token], int | None]:
    """Take a word of counting and the number beside it; a number at an end of the name counts first."""
    for place, token in enumerate(tokens):
        if token.kind != mark:
            continue
        beside = [
            spot for spot in (place - 1, place + 1) if 0 <= spot < len(tokens) and _counts(tokens[spot])
        ]
        if beside:
            at_end = [spot for spot in beside if spot in {0, len(tokens) - 1}] or beside
            spot = min(at_end, key=lambda spot: tokens[spot].value)
            before = min(place, spot) - 1
            taken = {place, spot} | ({before} if before >= 0 and tokens[before].kind == "times" else set())
            return _without(tokens, taken), tokens[spot].value
    return tokens, None


def _take_bare(tokens: list[Token]) -> tuple[list[Token], int | None]:
    """Take a number that is a word ("dual", "双"), or a small one before the name ("2 4090")."""
    for place, token in enumerate(tokens):
        first = place == 0 and len(tokens) > 1 and token.value <= MOST_SAID
        if _counts(token) and (first or not token.text.isdecimal()):
            return _without(tokens, {place}), token.value
    return tokens, None


def _counts(token: Token) -> bool:
    """Whether a token is a number, be it one that also stands in a chip's name."""
    return token.kind == "number" or (token.kind == "word" and token.text.isdecimal())


def _without(tokens: list[Token], places: set[int]) -> list[Token]:
    return [token for place, token in enumerate(tokens) if place not in places]


def _take_free(tokens: list[Token]) -> tuple[list[Token], float | None]:
    """Take "free 20GiB" or "20GiB free"."""
    for place, token in enumerate(tokens):
        if token.kind != "free":
            continue
        for beside in (place + 1, place - 1):
            if 0 <= beside < len(tokens) and tokens[beside].kind in {"memory", "exact"}:
                return _without(tokens, {place, beside}), tokens[beside].size_bytes
    return tokens, None

"""Any writing of a chip or of several -> tokens.

A name is read by vocabulary, not by patterns: every word a chip can bear is known from the tables,
and a run such as "rtx4090", "8xh100" or "两张4090显卡" is cut into known words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Literal

from rigright.base.errors import AskError
from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_rows, text
from rigright.base.units import GIB, GIGA, MEGA, MIB
from rigright.base.words import say
from rigright.facts.callings import callings, memory_word

MAX_NAME_CHARS = 200

Kind = Literal[
    "word", "memory", "exact", "number", "times", "nodes", "free", "plus", "box", "open", "close", "unknown"
]

_RUN = re.compile(
    r"[0-9a-f]{4}:[0-9a-f]{4}(?![0-9a-z])|[0-9]+\.[0-9]+[a-z]*|[0-9a-z]+|[\u3400-\u9fff]+|[^\s_\-]"
)
_MEMORY = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,3})?)(gib|gb|g)")
_EXACT = re.compile(r"([0-9]{3,7})(mib|mb)")
_WATTS = re.compile(r"[0-9]{2,4}w")
_INTEGER = re.compile(r"[0-9]{1,4}")
_JOINED = {("titan", "x"): "titanx"}  # an x that counts nothing
_UNITS = ("g", "gb", "gib", "mb", "mib")
_BRACKETS: dict[str, Kind] = {"(": "open", "[": "open", "{": "open", ")": "close", "]": "close", "}": "close"}


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
    found = {word: Token("word", word) for word in words}
    for row in read_rows(
        DATA / "chip_words.csv", {"word": text, "kind": text, "value": text}, required=("word", "kind")
    ):
        word, kind, value = row["word"], row["kind"], row["value"] or ""
        if kind == "same":
            found[word] = Token("word", value)
        elif kind == "brand":
            found.setdefault(word, Token("word", word))
        else:
            found[word] = Token(kind, word, int(value or 0))
    return found


@cache
def boxes() -> frozenset[str]:
    """Words for whole machines, which any chip may stand beside: "dgx h100", "gb200 nvl72"."""
    return frozenset(word for word, token in vocabulary().items() if token.kind == "box")


def read_tokens(name: str) -> list[Token]:
    """Cut a name into tokens; words that mean nothing here are left out, unknown ones are kept as such."""
    if len(name) > MAX_NAME_CHARS:
        raise AskError(say("name too long ({size} characters); shorten it", size=len(name)))
    lower = unicodedata.normalize("NFKC", name).casefold()
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
    if run in _BRACKETS:
        return [Token(_BRACKETS[run], run)]
    if run not in vocabulary() and not any(sign.isalnum() for sign in run):
        return []
    whole = _one(run)
    if whole is not None:
        return [whole]
    return _cut(run) or [Token("unknown", run)]


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
            found = best[start]
            if found is None or len(rest) + 1 < len(found):
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

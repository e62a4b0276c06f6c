"""What guides say wrong and what is right (a test computes the figures), and the items people ask it by."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from rigright.base.errors import AskError
from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_toml
from rigright.base.words import Sentence, in_both, say, with_semicolons


@dataclass(frozen=True, slots=True)
class MythValue:
    """A value with its unit; a value that is a word has none."""

    value: float | Sentence | None
    unit: str = ""

    @property
    def shown(self) -> Sentence | str:
        """For people: two or three leading digits, then the unit."""
        if not isinstance(self.value, float):
            return self.value or say("none")
        whole = self.value == int(self.value) or abs(self.value) >= 1000
        digits = 0 if whole else 1 if abs(self.value) >= 10 else 2
        return f"{self.value:,.{digits}f} {self.unit}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Myth:
    """One claim, and the right statement with `{names}` for figures."""

    id: int
    guide: str
    claim: Sentence  # what is said, and wrong
    right: str
    source: str
    figures: dict[str, MythValue]

    @property
    def correction(self) -> Sentence:
        """What holds instead, with its figures."""
        return Sentence(self.right, tuple((name, figure.shown) for name, figure in self.figures.items()))


@cache
def myths() -> tuple[Myth, ...]:
    """Every myth, in order."""

    def myth(row: dict[str, Any]) -> Myth:
        figures = {name: _figure(cell) for name, cell in row["figures"].items()}
        return Myth(**row | {"claim": Sentence(row["claim"]), "figures": figures})

    return tuple(map(myth, read_toml(DATA / "myths.toml")["myth"]))


def _figure(cell: float | str | list[float | str]) -> MythValue:
    """A cell of the table: a value, or a pair of a value and its unit."""
    if isinstance(cell, list):
        return MythValue(float(cell[0]), str(cell[1]))
    return MythValue((Sentence(cell) if cell else None) if isinstance(cell, str) else float(cell))


def find_myth(asked: str) -> Myth:
    """The myth of a number."""
    result = next((myth for myth in myths() if str(myth.id) == asked.strip()), None)
    if result is None:
        raise AskError(say("unknown myth {asked}; use 1 to {last}", asked=asked, last=len(myths())))
    return result


_ASIDE = re.compile(r"[\s?？!！。，,、的吗呢啊]+")  # what a question has and a subject has not


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideItem:
    """One thing that a guide says."""

    id: str  # "3.17": the guide, and its place in it
    says: Sentence
    right: Sentence | None  # with `{names}` of figures that are worked out; None where myths tell it
    myths: tuple[int, ...]
    command: str  # behind `rigright`
    words: tuple[str, ...]

    @property
    def typed(self) -> str:
        """The command that shows it."""
        return f"rigright {self.command}"

    @property
    def told(self) -> Sentence | None:
        """What is true: the item's own sentence, else what the myths say instead."""
        return self.right or with_semicolons(find_myth(str(number)).correction for number in self.myths)


@cache
def guide_items(kind: str = "item") -> tuple[GuideItem, ...]:
    """Every item, in order; of the kind "also", what other guides say."""
    return tuple(
        GuideItem(
            id=row["id"],
            says=in_both(*row.get("says") or row["right"], values={}),
            right=in_both(*row["right"], values={}) if "right" in row else None,
            myths=tuple(row.get("myths", ())),
            command=row["command"],
            words=tuple(row.get("words", ())),
        )
        for row in read_toml(DATA / "guides.toml")[kind]
    )


def asked_item(text: str) -> GuideItem | None:
    """The item that a question is about: the one whose longest word stands in it."""
    plain = text.casefold()
    joined = _ASIDE.sub("", plain)
    pairs = [
        (len(word), item)
        for item in guide_items()
        for word in item.words
        if _stands(word.casefold(), plain, joined=joined)
    ]
    return max(pairs, key=lambda pair: pair[0])[1] if pairs else None


def _stands(word: str, plain: str, *, joined: str) -> bool:
    """Whether a text says a word; what is written without spaces, Chinese, may stand among any others."""
    if not word.isascii():
        return _ASIDE.sub("", word) in joined
    return word in plain and re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", plain) is not None

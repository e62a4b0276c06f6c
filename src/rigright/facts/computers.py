"""Computers by their own names: "mac studio 512gb", "framework desktop", each sold with a few chips."""

from __future__ import annotations

import re
from functools import cache

from rigright.base.errors import AskError
from rigright.base.loader import records
from rigright.base.record import dataclass
from rigright.base.units import to_gib
from rigright.base.words import Sentence, say
from rigright.facts.chips import Chip, by_id
from rigright.facts.find import names_chip
from rigright.facts.naming import memory_words

_MEMORY = re.compile(r"\b(\d{1,4})\s*(?:gb|gib|g)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Computer:
    """One name and the chips it is sold with."""

    name: str
    maker: str | None  # a word that may stand before it
    chips: tuple[str, ...]  # ids, the usual one first
    source: str
    as_of: str

    def spelled(self) -> re.Pattern[str]:
        """The name as people write it, with spaces, dashes or neither."""
        maker = rf"(?:{self.maker}[\s-]+)?" if self.maker else ""
        name = r"[\s_-]*".join(re.split(r"[\s-]", self.name))
        return re.compile(rf"\b{maker}{name}\b", re.IGNORECASE)


@cache
def computers() -> tuple[Computer, ...]:
    """All of them, longer names first: "macbook pro" is no "mac pro"."""
    return tuple(sorted(records("computers.csv", Computer), key=lambda computer: -len(computer.name)))


def chip_of_computer(text: str) -> tuple[str, Sentence | None]:
    """The same text with the name of a computer as that of its chip; unchanged where it names none.

    A chip that stands beside the name is the one; of several the first that is sold with the memory stated.
    """
    for computer in computers():
        match = computer.spelled().search(text)
        if match is None:
            continue
        before, after = text[: match.start()], text[match.end() :]
        if any(names_chip(_MEMORY.sub(" ", beside)) for beside in (after, before)):
            return f"{before} {after}".strip(), None
        chips = [by_id()[name] for name in computer.chips]
        stated = _MEMORY.search(after) or _MEMORY.search(before)
        fitting = [chip for chip in chips if stated is None or f"{stated[1]}gb" in memory_words(chip)]
        if not fitting:
            sold = {size for chip in chips for size in (chip.mem_bytes, *chip.mem_options_bytes)}
            raise AskError(
                say("no {computer} has {size} GB", computer=computer.name, size=stated[1] if stated else "-"),
                hint=say(
                    "it is sold with {sizes} GB",
                    sizes=", ".join(f"{to_gib(size):g}" for size in sorted(sold)),
                ),
            )
        return f"{before}{fitting[0].name}{after}", _others(match[0], fitting)
    return text, None


def _others(name: str, chips: list[Chip]) -> Sentence | None:
    if len(chips) == 1:
        return None
    return say(
        'using {chip} for "{text}"; it could also mean {others}',
        chip=chips[0].name, text=name, others=", ".join(chip.name for chip in chips[1:]),
    )  # fmt: skip

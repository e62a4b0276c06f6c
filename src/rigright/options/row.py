"""What one option is: a flag, how it is read, which field of a wish it fills, and when it applies."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from rigright.base.errors import AskError, unknown
from rigright.base.record import dataclass
from rigright.base.units import parse_seconds
from rigright.base.words import Sentence, say

SERVE, SPEECH, EMBED, IMAGE = "serve", "speech", "embed", "image"
TRAIN, LEARN = "train", "learn"  # learn: to train on images
ALL = frozenset({SERVE, SPEECH, EMBED, IMAGE, TRAIN, LEARN})
PROMPTED = frozenset({SERVE})  # its requests have lengths that people choose
TEXT = frozenset({SERVE, SPEECH})  # written token by token
SAMPLES = frozenset({EMBED, IMAGE})
TRAINS = frozenset({TRAIN, LEARN})
MOST = 2**31
LEAST = 1e-9  # but 0
UNITS = {"MONEY": "usd", "POWER": "W"}  # by what stands for the value
_NOT_POSITIVE = re.compile(r"-\d+(?:\.\d+)?|0(?:\.0+)?")  # told as such, whatever is counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of the planning verbs."""

    name: str  # as typed behind --
    metavar: str  # of its value; "": a flag without one
    read: Callable[[str], Any]
    help: Sentence
    verbs: frozenset[str]
    fields: tuple[str, ...]  # of wishes: the first that a wish has is filled
    works: frozenset[str] = ALL  # what it says something about; elsewhere it is refused
    works_in: tuple[tuple[str, frozenset[str]], ...] = ()  # the same by verb, where it differs there
    aliases: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()  # one of these is said too: "draft", "arrivals=gamma"
    bars: tuple[str, ...] = ()  # none of these is said too
    choices: Callable[[], tuple[str, ...]] | None = None  # all there are
    bare: str | None = None  # what it means with no value behind it
    most: float = MOST
    zero: bool = False  # 0 may be said

    @property
    def flag(self) -> str:
        """As it is typed."""
        return f"--{self.name}"

    def of(self, verb: str) -> Option:
        """The option as a verb has it."""
        return replace(self, works=dict(self.works_in).get(verb, self.works))

    def value(self, text: str) -> Any:
        """Read it, within its choices and bounds."""
        text = text.strip()
        if self.choices is not None:
            known = self.choices()
            if text.lower() not in known:
                raise unknown(say("{text}", text=self.name), text, known=known)
            text = text.lower()
        if not text:
            raise AskError(
                say("{option} has no value", option=self.flag),
                hint=say("add a value; see {help}", help="--help"),
            )
        if _NOT_POSITIVE.fullmatch(text):
            self.check(float(text), text=text)
        found = self.read(text)
        self.check(found, text=text)
        return found

    def written(self, value: Any) -> str:
        """A value as it is typed, in the unit that is read back."""
        if isinstance(value, tuple):
            return ", ".join(map(str, value))
        if not isinstance(value, int | float):
            return str(value)
        unit = "s" if self.read is parse_seconds else UNITS.get(self.metavar, "")
        number = value * (100 if self.metavar == "P" else 1)
        return f"{Decimal(f'{number:.12g}'):f}{unit}"

    def check(self, value: Any, *, text: str | None = None) -> None:
        """Refuse a number that is none of what it counts; `text`: as it was typed."""
        value = getattr(value, "amount", value)  # of money
        if not isinstance(value, int | float) or isinstance(value, bool):
            return
        if value < 0 or (value == 0 and not self.zero) or value != value:  # noqa: PLR0124 - nan
            raise AskError(
                say("{option} is {value}", option=self.flag, value=text or f"{value:g}"),
                hint=say("it must be 0 or more") if self.zero else say("it must be above zero"),
            )
        if 0 < value < LEAST:
            raise AskError(
                say("{option} is {value}", option=self.flag, value=text or f"{value:g}"),
                hint=say("the minimum is {least}", least=f"{LEAST:g}"),
            )
        if value > self.most:
            raise AskError(
                say("{option} is {value}", option=self.flag, value=text or f"{value:g}"),
                hint=say("the maximum is {most}", most=f"{self.most:,.12g}"),
            )

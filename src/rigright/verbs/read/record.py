"""What `read` found: each claim with its verdict and the right figure, and what was not understood."""

from __future__ import annotations

from typing import Literal

from rigright.base.record import dataclass, derived
from rigright.base.words import Sentence, say
from rigright.verbs.read.kinds import kinds

Verdict = Literal["right", "wrong", "dated", "unknown"]
RIGHT: Verdict = "right"
WRONG: Verdict = "wrong"
DATED: Verdict = "dated"
UNKNOWN: Verdict = "unknown"

KINDS = {  # of claims that no row of data/claims.csv is about
    "configuration": say("configuration"),
    "speed": say("speed"),
    "price": say("price"),
    "budget": say("budget"),
    "ratio": say("ratio"),
    "comparison": say("comparison"),
    "command": say("command"),
    "memory type": say("memory type"),
    "power supply": say("power supply"),
    "architecture": say("architecture"),
    "production": say("production"),
    "unified memory": say("unified memory"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimVerdict:
    """A verdict with the right figure, and what shows it."""

    verdict: Verdict
    truth: Sentence | str | None = None
    command: str | None = None  # None: what shows the subject
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideClaim:
    """One thing that the text says, judged."""

    line: int  # of the text, from 1
    says: str  # as it stands there, cut where it is long
    about: str | None  # what it is about, by its full name
    kind: str  # "VRAM", "bandwidth", "configuration", "command", "parts", "error" ...
    verdict: Verdict  # unknown: nothing here can judge it
    truth: Sentence | str | None  # the right figure, or why it cannot be judged
    command: str | None  # that shows it
    source: str | None = None  # of the fact it was held against

    @property
    def title(self) -> Sentence | str:
        """Its kind in words."""
        row = next((kind.title for kind in kinds() if kind.id == self.kind), None)
        return KINDS.get(self.kind) or row or self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedError:
    """A message of an error that the text repeats."""

    line: int  # of the text, from 1
    says: str  # as it stands there, cut where it is long
    means: Sentence  # what it tells of
    do: Sentence | None  # what helps; null where the table of its kind says no more
    command: str  # that shows more


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadLine:
    """A sentence, a row or a line of code from which no claim was taken."""

    line: int  # of the text, from 1
    text: str  # cut where it is long


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadGuide:
    """A text, claim by claim."""

    name: str  # of the file
    lines: int  # of the text
    claims: tuple[GuideClaim, ...]  # in the order of the text
    errors: tuple[ExplainedError, ...] = ()  # messages that it repeats, explained
    not_understood: tuple[UnreadLine, ...] = ()  # what no claim was taken from, and so was not checked
    cut: bool = False  # the text is longer than what is read

    def count(self, verdict: str) -> int:
        """Claims of one verdict."""
        return sum(claim.verdict == verdict for claim in self.claims)

    @derived
    def right(self) -> int:
        """Claims that hold."""
        return self.count(RIGHT)

    @derived
    def wrong(self) -> int:
        """Claims that do not."""
        return self.count(WRONG)

    @derived
    def dated(self) -> int:
        """Claims that held once."""
        return self.count(DATED)

    @derived
    def unknown(self) -> int:
        """Claims that nothing here can judge."""
        return self.count(UNKNOWN)

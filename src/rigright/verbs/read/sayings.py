"""Sayings that the table of myths knows, and messages of errors: known by the words that stand in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from rigright.base.loader import rows
from rigright.base.patterns import pattern
from rigright.base.words import Sentence, say
from rigright.doctor.advice import advise
from rigright.facts.faults import xids
from rigright.facts.guides import Myth, find_myth
from rigright.machine.running.messages import FIELD, MOST_CHARS, TEXT, messages_in, values_of
from rigright.verbs.read.claims import claim_of
from rigright.verbs.read.passages import Passage
from rigright.verbs.read.record import DATED, WRONG, ClaimVerdict, ExplainedError, GuideClaim
from rigright.verbs.read.whose import places

_XID = pattern(r"\bxid\b(?:\s?\([^)\n]{0,40}\))?[^0-9\n]{0,24}(\d{1,3})(?![\d.])", re.IGNORECASE)


@cache
def _marked_myths() -> tuple[tuple[Myth, tuple[tuple[str, ...], ...], str], ...]:
    """Each myth with the words that all stand in a saying of it, and whether it held once."""
    return tuple(
        (find_myth(number), tuple(tuple(group.split("|")) for group in marks.split(" & ")), verdict)
        for number, marks, verdict in rows("claim_marks.csv", "myth", "marks", "verdict")
    )


def myths_in(passage: Passage) -> Iterator[GuideClaim]:
    """Myths whose words all stand in a passage."""
    plain = f"{passage.topic} {passage.plain}"
    for myth, groups, verdict in _marked_myths():
        if all(any(stands(word, plain) for word in group) for group in groups):
            at = max(passage.plain.find(groups[0][0]), 0)
            result = ClaimVerdict(
                verdict=DATED if verdict == DATED else WRONG,
                truth=myth.correction,
                command=f"rigright look-up myths {myth.id}",
                source=myth.source,
            )
            yield claim_of(passage, at, kind="myth", verdict=result)


def stands(word: str, plain: str) -> bool:
    """Whether a word stands in a text by itself."""
    return next(places(plain, word), None) is not None


def errors_in(passage: Passage) -> Iterator[ExplainedError]:
    """Messages of errors that a passage repeats."""
    pair = next(messages_in(passage.text[:MOST_CHARS], TEXT, FIELD), None)
    if pair is not None:
        row, match = pair
        finding = advise(row.finding, values_of(row, match))
        step = finding.fix[0]
        yield ExplainedError(
            line=passage.line,
            says=passage.around(0),
            means=finding.why,
            do=step.says,
            command=step.command or "rigright doctor",
        )
    for result in _XID.finditer(passage.text):
        xid = xids().get(int(result[1]))
        means: Sentence = say("XID {code} is not listed", code=result[1]) if xid is None else xid.meaning
        yield ExplainedError(
            line=passage.line, says=passage.around(result.start()), means=means, do=None,
            command=f"rigright look-up xids {result[1]}",
        )  # fmt: skip

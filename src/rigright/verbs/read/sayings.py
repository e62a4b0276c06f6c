"""Sayings that the table of myths knows, and messages of errors: known by the words that stand in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import cast

from rigright.base.loader import rows
from rigright.base.patterns import pattern
from rigright.base.record import dataclass
from rigright.base.words import Sentence, say
from rigright.doctor.advice import advise
from rigright.facts.faults import xids
from rigright.facts.guides import GuideItem, Myth, find_myth, guide_items
from rigright.machine.running.messages import FIELD, MOST_CHARS, TEXT, messages_in, values_of
from rigright.verbs.look_up.kinds.guides import right as true_of
from rigright.verbs.read.claims import claim_of
from rigright.verbs.read.passages import Passage
from rigright.verbs.read.record import RIGHT, UNKNOWN, ClaimVerdict, ExplainedError, GuideClaim, Verdict
from rigright.verbs.read.whose import places

_XID = pattern(r"\bxid\b(?:\s?\([^)\n]{0,40}\))?[^0-9\n]{0,24}(\d{1,3})(?![\d.])", re.IGNORECASE)
_STEM = 5  # signs of a word that may go on: "train" in "training"
_FINE = pattern(
    r"(?:不会有?|没有?|无|不存在|\bno )(?:瓶颈|问题|压力|problem|issue|bottleneck)s?"
)  # denies no saying
_LOOSE = pattern(r"(?<=\d) (?=[倍层张块卡位条核年天个])")
_CLAUSE = pattern(r"[,，;；。、|]|\bbut\b|但|而(?!非)")
_DENIES = pattern(
    r"并非|不是|不会|不能|不支持|不需要|不存在|无需|没有|无法|不再|误区"
    r"|\bnot\b(?! only)|n't\b|\bnever\b|\bno\b|\bmyth\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedSaying:
    """What guides say, known by words: of each group one stands, `!` none of it, `^` one in the document."""

    about: Myth | GuideItem
    groups: tuple[tuple[str, ...], ...]
    never: tuple[str, ...]
    context: tuple[tuple[str, ...], ...]
    verdict: Verdict

    @staticmethod
    @cache
    def every() -> tuple[MarkedSaying, ...]:
        """Every row of the table; items of guides are numbered with a dot, myths without."""
        items = {item.id: item for item in (*guide_items(), *guide_items("also"))}
        table = []
        for shows, marks, verdict in rows("claim_marks.csv", "shows", "marks", "verdict"):
            signs = [(group[0], tuple(group.lstrip("!^").split("|"))) for group in marks.split(" & ")]
            saying = MarkedSaying(
                about=items[shows] if "." in shows else find_myth(shows),
                groups=tuple(words for sign, words in signs if sign not in "!^"),
                never=tuple(word for sign, words in signs if sign == "!" for word in words),
                context=tuple(words for sign, words in signs if sign == "^"),
                verdict=cast("Verdict", verdict),
            )
            table.append(saying)
        return tuple(table)

    @property
    def truth(self) -> Sentence | None:
        """What holds."""
        return self.about.correction if isinstance(self.about, Myth) else true_of(self.about)

    @property
    def command(self) -> str:
        """What shows it."""
        return f"rigright look-up myths {self.about.id}" if isinstance(self.about, Myth) else self.about.typed

    def stands_in(self, passage: Passage, text: str) -> bool:
        """Whether a passage says it."""
        return (
            all(any(stands(word, text) for word in group) for group in self.groups)
            and not any(stands(word, text) for word in self.never)
            and all(any(stands(word, passage.document) for word in group) for group in self.context)
        )

    def denied_in(self, passage: Passage) -> bool:
        """Whether the clause that says it says that it is not so; its own words are no denial."""
        clauses = _CLAUSE.split(passage.plain)
        bare = next((part for part in clauses if any(word in part for word in self.groups[0])), "")
        for word in (word for group in self.groups for word in group):
            bare = bare.replace(word, " ")
        bare = _FINE.sub(" ", bare)
        return not passage.is_code and _DENIES.search(bare) is not None


def sayings(passage: Passage) -> Iterator[GuideClaim]:
    """What a passage says that guides say: of one thing the first row that knows it judges."""
    text = _LOOSE.sub("", f"{passage.topic} {passage.plain}")
    judged = list[Myth | GuideItem]()
    for saying in MarkedSaying.every():
        if saying.about in judged or not saying.stands_in(passage, text):
            continue
        denied = saying.denied_in(passage)
        if denied and saying.verdict in {RIGHT, UNKNOWN}:
            continue
        judged.append(saying.about)
        at = max(passage.plain.find(saying.groups[0][0]), 0)
        result = ClaimVerdict(
            verdict=RIGHT if denied else saying.verdict,
            truth=saying.truth,
            command=saying.command,
            source=getattr(saying.about, "source", None),
        )
        yield claim_of(
            passage, at, kind="myth" if isinstance(saying.about, Myth) else "advice", verdict=result
        )


def stands(word: str, plain: str) -> bool:
    """Whether a word stands in a text: a short one by itself, a long one as the beginning of one."""
    if len(word) < _STEM or not word[-1].isalpha():
        return next(places(plain, word), None) is not None
    at = plain.find(word)
    while at > 0 and plain[at - 1].isascii() and plain[at - 1].isalpha() and word[0].isascii():
        at = plain.find(word, at + 1)
    return at >= 0


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
        return
    for result in _XID.finditer(passage.text):
        xid = xids().get(int(result[1]))
        means: Sentence = say("XID {code} is not listed", code=result[1]) if xid is None else xid.meaning
        yield ExplainedError(
            line=passage.line, says=passage.around(result.start()), means=means, do=None,
            command=f"rigright look-up xids {result[1]}",
        )  # fmt: skip

"""What a sentence says without a figure: of a card or a processor, as a saying, or as an error's message."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import cast

from rigright.base.loader import rows
from rigright.base.patterns import pattern
from rigright.base.record import dataclass
from rigright.base.words import Sentence, say
from rigright.doctor.advice import advise
from rigright.facts.chips import Chip, by_id, chips
from rigright.facts.clouds import Offer
from rigright.facts.faults import xids
from rigright.facts.guides import GuideItem, Myth, find_myth, guide_items
from rigright.machine.running.messages import FIELD, MOST_CHARS, TEXT, messages_in, values_of
from rigright.verbs.look_up.kinds.guides import right as true_of
from rigright.verbs.read.claims import claim_of, places
from rigright.verbs.read.passages import Passage
from rigright.verbs.read.quantities import words_for
from rigright.verbs.read.record import (
    RIGHT,
    UNKNOWN,
    WRONG,
    ClaimVerdict,
    ExplainedError,
    GuideClaim,
    Verdict,
)
from rigright.verbs.read.subjects import CHIP, CPU, OFFER, ClaimSubject

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


_MEMORY = pattern(r"(?<![A-Za-z])(?:(?:LP|G)?DDR[3-7]X?|HBM[1-4]?e?(?![A-Za-z0-9]))", re.IGNORECASE)
_NO = pattern(
    r"没有|不支持|无法|不能|不具备|不带|取消|移除|砍掉|缺少|缺乏|❌|✗|✘|×\s*\(|无\s?(?=nvlink|ecc)"
    r"|\bno\b|\bnot\b|n't\b|without|lacks?\b|lacking|drop(?:s|ped)|remov(?:es|ed)|cannot",
    re.IGNORECASE,
)
_YES = pattern(
    r"支持|具备|拥有|(?<![没所])有|配备|带有|通过|采用|使用|利用|结合|✅|✓|✔|互联|桥接|\bhas\b|\bhave\b|\bwith\b|\bvia\b"
    r"|supports?\b|\byes\b|connected|linked|joined|bridged?\b|\bover\b|offers?\b",
    re.IGNORECASE,
)
_BREAK = pattern(r"[,，;；。、|]|\bbut\b|但|而")
_LISTED = 12  # signs before a comma in which a word may open a list: "offers A, B and NVLink"
_NEAR = 44  # signs between a subject and such a word
_AND = pattern(r"[\s、,/]*(?:和|与|或|and|or|&)?[\s、,/]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CardTrait:
    """Something a card has or has not."""

    id: str
    words: tuple[str, ...]
    has: Callable[[Chip], bool]


TRAITS = (
    CardTrait("NVLink", ("nvlink",), lambda chip: (chip.link or "").startswith("NVLink")),
    CardTrait("ECC", ("ecc",), lambda chip: chip.ecc),
    CardTrait("FP8", ("fp8",), lambda chip: chip.fp8_flops_per_s is not None),
    CardTrait("FP4", ("fp4", "nvfp4"), lambda chip: chip.fp4_flops_per_s is not None),
    CardTrait("BF16", ("bf16", "bfloat16"), lambda chip: chip.bf16_flops_per_s is not None),
    CardTrait("TF32", ("tf32",), lambda chip: chip.tf32_flops_per_s is not None),
    CardTrait("Tensor Cores", ("tensor core", "张量核心"), lambda chip: chip.tensor_core_gen is not None),
    CardTrait("unified memory", ("unified memory", "统一内存"), lambda chip: chip.unified_memory),
)


def wordings(passage: Passage) -> Iterator[GuideClaim]:
    """Claims of a passage that bear no figure."""
    if not passage.is_code:
        yield from _memory_types(passage)
        yield from architectures(passage)
        for trait in TRAITS:
            yield from traits(passage, trait)
        yield from widths(passage)
    yield from rented(passage)
    yield from _made_no_more(passage)


def checked(
    passage: Passage, at: int, *, subject: ClaimSubject, kind: str, pair: tuple[bool, Sentence | str]
) -> GuideClaim:
    """A claim that holds or does not, with what is true."""
    holds, truth = pair
    verdict = ClaimVerdict(verdict=RIGHT if holds else WRONG, truth=truth, source=subject.source)
    return claim_of(passage, at, subject=subject, kind=kind, verdict=verdict)


def traits(passage: Passage, trait: CardTrait) -> Iterator[GuideClaim]:
    """Whether the cards named have what is said that they have, or have not."""
    at = next((at for word in trait.words if (at := passage.plain.find(word)) >= 0), None)
    if at is None and not any(word in passage.topic for word in trait.words):
        return
    flag = _polarity(passage, at)
    for subject in () if flag is None else cards(passage, at):
        known = {trait.has(chip) for chip in subject.records if isinstance(chip, Chip)}
        named = {"name": subject.name, "trait": trait.id}
        truth: Sentence | str = say("{name} has no {trait}", **named)
        if trait.id == "NVLink" and (link := getattr(subject.records[0], "link", None)) is not None:
            truth = link
        elif len(known) > 1:
            truth = say("some models of it have {trait}, others not", trait=trait.id)
        elif known == {True}:
            truth = say("{name} has {trait}", **named)
        if known:
            yield checked(passage, at or 0, subject=subject, kind=trait.id, pair=(flag in known, truth))


def _polarity(passage: Passage, at: int | None) -> bool | None:
    """Whether a passage says that something is there; None where it only names it."""
    start, end = 0, len(passage.plain)
    if at is not None:
        breaks = [match.start() for match in _BREAK.finditer(passage.plain)]
        start = max((number for number in breaks if number < at), default=0)
        end = min((number for number in breaks if number > at), default=end)
    clause = passage.plain[start:end]
    if _NO.search(clause):
        return False
    if at is None:
        return True if _YES.search(clause) or clause.strip() in words_for("yes") else None
    near = [match for match in _YES.finditer(passage.plain) if start - _LISTED <= match.start() < end]
    return True if any(abs(match.start() - at) <= _NEAR for match in near) else None


def cards(passage: Passage, at: int | None) -> list[ClaimSubject]:
    """The cards that a word in a place is said of: those before it, else the one behind, else those above."""
    inside = [item for item in passage.subjects if item.kind == CHIP]
    above = [item for item in passage.above if item.kind == CHIP]
    if at is None:
        return inside or above
    before = [item for item in inside if item.end <= at and at - item.end <= _NEAR + 20]
    if not before:
        return [item for item in inside if 0 <= item.start - at <= _NEAR][:1] or above
    group = before[-1:]
    for subject in reversed(before[:-1]):
        if not _AND.fullmatch(passage.text[subject.end : group[-1].start]):
            break
        group.append(subject)
    return group


def _memory_types(passage: Passage) -> Iterator[GuideClaim]:
    """GDDR6X, HBM3: what kind of memory a card or a processor has."""
    for match in _MEMORY.finditer(passage.text):
        word = match[0].upper().replace("HBM3E", "HBM3e").replace("HBM2E", "HBM2e")
        kind = CPU if word.startswith("DDR") else CHIP
        inside = [item for item in passage.subjects if item.kind == kind]
        before = [item for item in inside if item.end <= match.start()]
        near = [item for item in inside if item.start - match.start() <= _NEAR]
        above = [item for item in passage.above if item.kind == kind]
        for subject in before[-1:] or near[:1] or above[:1]:
            known = {str(getattr(record, "mem_type", "") or "") for record in subject.records} - {""}
            holds = any(
                word in re.split(r"[ /-]", has) or (word == "HBM" and has.startswith(word)) for has in known
            )
            if known:
                shown = (holds, ", ".join(sorted(known)))
                yield checked(passage, match.start(), subject=subject, kind="memory type", pair=shown)


@cache
def _architecture_words() -> dict[str, str]:
    """A word for an architecture -> how the names begin of those that bear it."""
    names = {chip.architecture.partition(" (")[0] for chip in chips() if chip.vendor in {"NVIDIA", "AMD"}}
    single = (name.split()[0] for name in names if " " not in name or name.startswith("Ada"))
    return {name.casefold(): name for name in single}


def architectures(passage: Passage) -> Iterator[GuideClaim]:
    """Ampere, Hopper: which architecture a card is of."""
    for word, begins in _architecture_words().items():
        for match in re.finditer(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9.])", passage.plain):
            if any(item.start <= match.start() < item.end for item in passage.subjects):
                continue
            subject = subject_of(passage, match.start(), end=match.end())
            known = (
                [] if subject is None else [record for record in subject.records if isinstance(record, Chip)]
            )
            if subject is not None and known:
                names = sorted({chip.architecture for chip in known})
                shown = (any(name.startswith(begins) for name in names), ", ".join(names))
                yield checked(passage, match.start(), subject=subject, kind="architecture", pair=shown)


def subject_of(passage: Passage, start: int, *, end: int) -> ClaimSubject | None:
    """The card an architecture is said of: the nearest in its clause, or the one above that it is told of."""
    named = [subject for subject in passage.subjects if subject.kind == CHIP]
    near = [
        (subject.start - end if subject.start >= end else start - subject.end, place)
        for place, subject in enumerate(named)
        if not _BREAK.search(passage.plain[min(subject.end, end) : max(subject.start, start)])
    ]
    close = [pair for pair in near if 0 <= pair[0] <= _NEAR / 2]
    if close:
        return named[min(close)[1]]
    if not any(word in f"{passage.topic} {passage.plain}" for word in ("架构", "architecture")):
        return None
    above = [subject for subject in passage.above if subject.kind == CHIP]
    return named[0] if len(named) == 1 else None if named else next(iter(above), None)


def widths(passage: Passage) -> Iterator[GuideClaim]:
    """How many slots a card takes, in words."""
    for slots in (1, 2, 3):
        words = words_for(f"{slots} slots")
        at = next((at for word in words if (at := passage.plain.find(word)) >= 0), None)
        for subject in [] if at is None else cards(passage, at)[:1] or cards(passage, None)[:1]:
            known = sorted({chip.slots for chip in subject.records if isinstance(chip, Chip) and chip.slots})
            if known:
                truth = say("{slots} slots", slots=", ".join(f"{wide:g}" for wide in known))
                shown = (any(abs(wide - slots) < 0.5 for wide in known), truth)
                yield checked(passage, at or 0, subject=subject, kind="slots", pair=shown)


def _made_no_more(passage: Passage) -> Iterator[GuideClaim]:
    """Cards that a text calls discontinued."""
    for subject in (
        passage.subjects if any(word in passage.plain for word in words_for("out of production")) else ()
    ):
        chip = subject.records[0]
        if isinstance(chip, Chip):
            ended = chip.ended is not None
            truth = say("made until {month}", month=chip.ended) if ended else say("in production")
            yield checked(passage, subject.start, subject=subject, kind="production", pair=(ended, truth))


def rented(passage: Passage) -> Iterator[GuideClaim]:
    """Which cards a rented machine has, and how many."""
    machines = [item for item in passage.subjects if item.kind == OFFER]
    named = [item for item in passage.subjects if item.kind == CHIP]
    offer = machines[0].records[0] if len(machines) == 1 and named else None
    if isinstance(offer, Offer) and offer.chip is not None:
        subject = named[0]
        has = any(isinstance(chip, Chip) and chip.id == offer.chip for chip in subject.records)
        holds = has and subject.count in {1, int(offer.n_chips)}
        truth = f"{offer.n_chips:g}x {by_id()[offer.chip].name}"
        yield checked(passage, subject.start, subject=machines[0], kind="GPUs", pair=(holds, truth))

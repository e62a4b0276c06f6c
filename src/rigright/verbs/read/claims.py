"""Figures of a sentence held against the fields of what it speaks about.

A kind of claim is a row of data/claims.csv: the words for a quantity in both languages, its unit, the field of
the record, and how far a figure may be off. A figure goes to the subject before it in its sentence, else to the
one behind it, else to the one that stands above.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from rigright.base.loader import records
from rigright.base.record import dataclass, replace
from rigright.base.units import GIB, GIGA
from rigright.base.words import Sentence, say
from rigright.facts.chips import Chip
from rigright.verbs.read.passages import Passage
from rigright.verbs.read.quantities import ABOUT, LEAST, MOST, Quantity
from rigright.verbs.read.record import RIGHT, UNKNOWN, WRONG, GuideClaim, Verdict
from rigright.verbs.read.subjects import CHIP, CPU, LINK, MODEL, OFFER, Subject

NEED = "memory needed"  # of a model: the laws of memory judge it, no field
FAR = 28  # signs between a figure and the word for it that must be said
NUMBERED = 16  # between a bare number and the word for what it counts
LOOSE, _LOOSE = 20.0, "~"  # a word that may mean another quantity, too, counts as so far away
CLAUSE, ANOTHER = 30, 12  # how far a comma, and another figure, set two words apart
ROUGH = 2.0  # times the tolerance, of a figure that is said to be rough
_ENDS = re.compile(r"[,，;；、。|/]")
_TOTAL = ("total", "together", "combined", "altogether", "总", "共", "合计")
_EACH = ("each", "per card", "per gpu", "single", "单卡", "每卡", "单张", "每张", "各", "每块", "单块")
_SPARSE = ("spars", "稀疏")
_DENSE = ("dense", "稠密")
_NOT = re.compile(r"(?:不是|并非|而非|is not|isn't|rather than|not)\s?\Z", re.IGNORECASE)
_TOGETHER = re.compile(r"[\s)）]*(?:/|、|,|，|or|and|&|和|或|与|及)[\s(（]*", re.IGNORECASE)
_RESPECTIVELY = ("respectively", "分别")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimKind:
    """One row: a quantity that a kind of subject has."""

    id: str
    of: str  # kind of the subject
    fields: tuple[str, ...] = ()  # of its record: a figure that one of them has is right
    measures: tuple[str, ...]  # units in which it is told
    words: str = ""
    needs_word: bool
    tolerance: float
    adds: bool  # over several of them
    unit: str = ""
    scale: float

    @property
    def said(self) -> tuple[str, ...]:
        """The words for it."""
        return tuple(filter(None, self.words.split("|")))


@cache
def kinds() -> tuple[ClaimKind, ...]:
    """Every row of the table."""
    return records("claims.csv", ClaimKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A figure, what it is of, and which quantity it is."""

    quantity: Quantity
    subject: Subject
    kind: ClaimKind


def figures(passage: Passage) -> Iterator[GuideClaim]:
    """Every figure of a passage that some kind of claim takes."""
    for told in _told(passage):
        claim = _judged(told, passage)
        if claim is not None:
            yield claim


def _told(passage: Passage) -> Iterator[Told]:
    inside = passage.subjects
    zipped = _zipped(passage)
    for quantity in passage.quantities:
        holder = next((one for one in inside if one.start <= quantity.start < one.end), None)
        if holder is not None or _is_box_power(passage, quantity):
            if holder is not None and holder.kind == CHIP and quantity.unit == "bytes":
                yield Told(quantity=quantity, subject=holder, kind=_kind_named("memory", CHIP))
            continue
        near = [zipped[quantity]] if quantity in zipped else _nearest(passage, quantity)
        found = _found(passage, quantity, near)
        if found is not None:
            subject, kind = found
            for one in _beside(passage, subject) if quantity not in zipped else (subject,):
                yield Told(quantity=quantity, subject=one, kind=kind)


def _is_box_power(passage: Passage, quantity: Quantity) -> bool:
    """Whether it is the power of a whole machine, which no card's figure is."""
    return quantity.unit == "w" and re.search(r"\b[dh]gx\b|整机|服务器|server|system|workstation", passage.plain) is not None


def _found(passage: Passage, quantity: Quantity, near: Sequence[Subject]) -> tuple[Subject, ClaimKind] | None:
    """Whose figure it is, and of what: a word for the quantity decides before the mere unit does."""
    worded = ((one, _worded(passage, quantity, one)) for one in near)
    plain = ((one, _plainly(quantity, one)) for one in near)
    return next(((one, kind) for one, kind in (*worded, *plain) if kind is not None), None)


def _zipped(passage: Passage) -> dict[Quantity, Subject]:
    """Of "A and B have 1 and 2 respectively": which figure is whose."""
    plain = passage.text.casefold()
    if not any(word in plain for word in _RESPECTIVELY) or len(passage.subjects) < 2:
        return {}
    free = [q for q in passage.quantities if not any(s.start <= q.start < s.end for s in passage.subjects)]
    return dict(zip(free, passage.subjects, strict=False)) if len(free) == len(passage.subjects) else {}


def _nearest(passage: Passage, quantity: Quantity) -> list[Subject]:
    """Subjects that a figure may be of, the likeliest first."""
    inside = [one for one in passage.subjects if not (passage.is_code and one.kind == MODEL)]
    before = [one for one in reversed(inside) if one.end <= quantity.start]
    behind = [one for one in inside if one.start >= quantity.end]
    at_once = behind[:1] if behind and behind[0].start - quantity.end <= 3 and not before else []
    fresh = behind[:1] if behind and before and _follows(passage.text, quantity, behind[0], before[0]) else []
    return [*fresh, *at_once, *before, *behind, *passage.above]


def _follows(text: str, quantity: Quantity, behind: Subject, before: Subject) -> bool:
    """Whether a figure stands right before a name, and apart from the one before it: "..., a 24 GB RTX 4090"."""
    between = text[quantity.end : behind.start]
    return bool(_ENDS.search(text[before.end : quantity.start])) and re.fullmatch(r"\s?(?:的|of|of the|on the|nvidia)?\s?", between, re.IGNORECASE) is not None


def _beside(passage: Passage, subject: Subject) -> Iterator[Subject]:
    """It, and those of its kind that are named with it: "A100/H100"."""
    yield subject
    if subject.start < 0:
        yield from (one for one in passage.above if one is not subject and one.kind == subject.kind)
        return
    known = [one for one in passage.subjects if one.kind == subject.kind]
    place = known.index(subject) if subject in known else 0
    while place > 0 and _TOGETHER.fullmatch(passage.text[known[place - 1].end : known[place].start]):
        place -= 1
        if not known[place].sized:
            yield known[place]


def _kind_named(name: str, of: str) -> ClaimKind:
    return next(one for one in kinds() if one.id == name and one.of == of)


def _worded(passage: Passage, quantity: Quantity, subject: Subject) -> ClaimKind | None:
    """The quantity that a figure is: the one whose word stands nearest among those of its unit."""
    found: tuple[float, ClaimKind] | None = None
    for kind in _fitting(quantity, subject):
        far = min((_distance(passage, quantity, word) for word in kind.said), default=_NEVER)
        most = NUMBERED if quantity.unit in _BARE else FAR if kind.needs_word else _NEVER - 1
        if far <= most and (found is None or far < found[0]):
            found = far, kind
    return None if found is None else found[1]


def _plainly(quantity: Quantity, subject: Subject) -> ClaimKind | None:
    """What the unit alone tells."""
    if quantity.unit in _BARE:
        return None
    return next((one for one in _fitting(quantity, subject) if not one.needs_word), None)


def _fitting(quantity: Quantity, subject: Subject) -> Iterator[ClaimKind]:
    """Kinds of claim that have such a unit."""
    units = {quantity.unit, "count"} if quantity.unit == "pieces" else {quantity.unit}
    return (one for one in kinds() if one.of == subject.kind and not units.isdisjoint(one.measures))


_BARE = frozenset({"count", "million", "channels", "pieces", "ordinal", "year"})  # say nothing of what they count
_NEVER = 10_000.0


def _distance(passage: Passage, quantity: Quantity, written: str) -> float:
    """Signs between a figure and a word; commas, other figures, and that it may mean others count, too."""
    word = written.removeprefix(_LOOSE)
    loose = 0.0 if word == written else LOOSE
    return loose + _far_from(passage, quantity, word)


def _far_from(passage: Passage, quantity: Quantity, word: str) -> float:
    if word in passage.topic:
        topic = NUMBERED - 2.0
    else:
        topic = _NEVER
    if word in quantity.text.casefold():
        return 0.0
    return min([topic, *(_apart(passage, quantity, start, end=start + len(word)) for start in _places(passage.plain, word))])


def _places(plain: str, word: str) -> Iterator[int]:
    start = plain.find(word)
    while start >= 0:
        before, behind = plain[start - 1 : start], plain[start + len(word) : start + len(word) + 1]
        letters = word[0].isascii() and word[0].isalnum() and before.isascii() and before.isalpha()
        more = word[-1].isascii() and word[-1].isalpha() and behind.isascii() and behind.isalpha() and behind != "s"
        if not letters and not more:
            yield start
        start = plain.find(word, start + 1)


def _apart(passage: Passage, quantity: Quantity, start: int, *, end: int) -> float:
    if end <= quantity.start:
        between, low, high = passage.text[end : quantity.start], end, quantity.start
        weight = 1.0
    else:
        between, low, high = passage.text[quantity.end : start], quantity.end, start
        weight = 1.01 if len(between) > 2 else 0.5
    others = sum(low <= one.start < high for one in passage.figures)
    return len(between) * weight + CLAUSE * len(_ENDS.findall(between)) + ANOTHER * others


def _judged(told: Told, passage: Passage) -> GuideClaim | None:
    """The claim with its verdict."""
    quantity, kind, subject = told.quantity, told.kind, told.subject
    if kind.id == NEED:
        return _needed(told, passage)
    known = [(one, value) for one in subject.records for value in values_of(one, kind)]
    known = [pair for pair in known if pair[1] is not None]
    if not known:
        lacking = _lacking(told)
        verdict: Verdict = UNKNOWN if lacking is None else WRONG
        truth = lacking or say("no table here has the {kind} of {name}", kind=kind.id, name=subject.name)
        return claim_of(passage, quantity.start, subject, kind=kind.id, verdict=verdict, truth=truth)
    context = _context(passage, quantity)
    right = [pair for pair in known if any(_holds(told, value, context) for value in _as_said(told, pair[1], context))]
    denied = _NOT.search(passage.text[max(0, quantity.start - 12) : quantity.start]) is not None
    verdict = RIGHT if bool(right) != denied else WRONG
    return claim_of(
        passage, quantity.start, subject, kind=kind.id, verdict=verdict,
        truth=_truth(told, right or known, known=known, context=context), source=_source(subject),
    )  # fmt: skip


def _needed(told: Told, passage: Passage) -> GuideClaim | None:
    """What a model takes of memory."""
    from rigright.verbs.read.models import need

    found = need(told.quantity, told.subject, passage)
    if found is None:
        return None
    verdict, truth, command = found
    return claim_of(
        passage, told.quantity.start, told.subject, kind=NEED, verdict=verdict, truth=truth, command=command
    )


def _context(passage: Passage, quantity: Quantity) -> str:
    """The words around a figure."""
    return f"{passage.topic} {passage.plain[max(0, quantity.start - 30) : quantity.end + 24]}"


def values_of(record: object, kind: ClaimKind) -> Iterator[float | None]:
    """What a record has of a quantity."""
    for field in kind.fields:
        value = getattr(record, field, None)
        if field == "launch" and value is not None:
            value = float(str(value)[:4])
        elif field == "isa":
            value = float(value) if value and re.fullmatch(r"\d+\.\d", str(value)) else None
        elif field == "mem_bytes":
            yield from map(float, getattr(record, "mem_options_bytes", ()))
        elif isinstance(value, str) or callable(value):
            value = None
        yield None if value is None else float(value)
        if field == "params":
            yield from _nominal(record)


def _nominal(record: object) -> Iterator[float]:
    """Sizes in the name of a model: a 7B is called so whatever its weights count."""
    name = str(getattr(record, "name", ""))
    yield from (float(one) * GIGA for one in re.findall(r"(?<![A-Za-z0-9.])(\d{1,4}(?:\.\d{1,2})?)[bB](?![a-z])", name))


def _as_said(told: Told, value: float, context: str) -> Iterator[float]:
    """What a text may rightly say of a value: one card's, or of all together, with sparsity where it says so."""
    count = told.subject.count
    together = any(word in context for word in _TOTAL)
    alone = any(word in context for word in _EACH) or not told.kind.adds or count == 1
    if alone or not together:
        yield value
    if count > 1 and told.kind.adds and not alone:
        yield value * count
    said = any(word in context for word in _SPARSE)
    if _may_be_sparse(told) and (said or count == 1) and not any(word in context for word in _DENSE):
        yield value * 2


def _may_be_sparse(told: Told) -> bool:
    one = told.subject.records[0]
    return told.quantity.unit == "flops_per_s" and told.kind.id not in {"fp32", "fp64"} and isinstance(one, Chip) and one.sparsity


def _holds(told: Told, value: float, context: str) -> bool:
    """Whether a figure says a value, within what its kind may be off."""
    del context
    quantity, kind = told.quantity, told.kind
    off = kind.tolerance * (ROUGH if quantity.bound == ABOUT else 1.0)
    return any(_within(low, high, value, off=off, bound=quantity.bound) for low, high in _readings(quantity, kind))


def _readings(quantity: Quantity, kind: ClaimKind) -> Iterator[tuple[float, float]]:
    """A figure in SI as it may be meant: sizes in thousands or in 1024s, bits in bytes."""
    low, high = quantity.low, quantity.high
    if quantity.unit == "bits_per_s":
        yield low / 8, high / 8
        return
    if quantity.unit == "count" and kind.unit == "MT/s":
        low, high = low * kind.scale, high * kind.scale
    if quantity.unit == "hz" and kind.unit == "MT/s":
        pass  # DDR5-4800 is called 4800 MHz
    if quantity.unit == "mm":
        low, high = low / 1000, high / 1000
    yield low, high
    if quantity.unit == "bytes":
        yield low * GIB / GIGA, high * GIB / GIGA
        yield low / GIB * GIGA, high / GIB * GIGA


def _within(low: float, high: float, value: float, *, off: float, bound: str) -> bool:
    if bound == LEAST and low == high:
        return value >= low * (1 - off)
    if bound == MOST and low == high:
        return value <= high * (1 + off)
    return low * (1 - off) <= value <= high * (1 + off)


def _lacking(told: Told) -> Sentence | None:
    """Why there is no such figure."""
    one = told.subject.records[0]
    if isinstance(one, Chip) and told.kind.id == "link bandwidth" and all(getattr(each, "link", None) is None for each in told.subject.records):
        return say("{name} has no link between cards", name=one.name)
    native = {"fp8", "fp4", "bf16", "tf32", "int8"}
    if isinstance(one, Chip) and told.kind.id in native and one.confidence == "high":
        return say("{name} has no {kind} units", name=one.name, kind=told.kind.id.upper())
    return None


def _truth(told: Told, shown: Sequence[tuple[object, float]], *, known: Sequence[tuple[object, float]], context: str) -> Sentence | str:
    """The right figures: one, or one a model of the name."""
    kind = told.kind
    by_name: dict[str, list[str]] = {}
    seen: set[str] = set()
    for record, value in shown if len(shown) < len(known) else known:
        name = str(getattr(record, "name", getattr(record, "instance", "")))
        if name in seen and kind.fields[0] in _ONE_FIGURE:
            continue
        seen.add(name)
        by_name.setdefault(shown_value(value, kind), []).append(name)
    parts = [f"{value} ({names[0]})" if len(by_name) > 1 or len(set(names)) > 1 else value for value, names in by_name.items()]
    figure: Sentence | str = ", ".join(dict.fromkeys(parts[:4]))
    if told.subject.count > 1 and kind.adds:
        value = shown[0][1]
        all_of = shown_value(value * told.subject.count, kind)
        figure = say("{one} each, {all} together", one=shown_value(value, kind), all=all_of)
    low = {round(pair / 2, 3) for pair in (told.quantity.low, told.quantity.high)}
    sparse = _may_be_sparse(told) and any(abs(half - value) <= kind.tolerance * value for half in low for _, value in shown)
    if sparse and not any(word in context for word in _SPARSE):
        return say("{dense} dense; the figure is with 2:4 sparsity", dense=figure)
    return figure


_ONE_FIGURE = frozenset({"mem_bytes", "params", "boost_hz"})  # the first of these fields is the answer


def shown_value(value: float, kind: ClaimKind) -> str:
    """A value in the unit people use for it."""
    number = value / kind.scale
    written = f"{number:,.0f}" if number >= 1000 and kind.id != "launch" else f"{number:.6g}" if number >= 100 or number == int(number) else f"{number:.4g}"
    return f"{written} {kind.unit}".strip()


def _source(subject: Subject) -> str | None:
    one = subject.records[0]
    found = getattr(one, "sources", None) or getattr(one, "source", None)
    return str(found) if found else None


LOOKS = {CHIP: "rigright look-up {id}", CPU: 'rigright look-up cpus "{name}"', OFFER: "rigright look-up clouds {instance}", MODEL: "rigright look-up model {name}", LINK: "rigright look-up {look_up}"}


def command_of(subject: Subject) -> str:
    """The command that shows what is known of a subject."""
    one = subject.records[0]
    named = {name: getattr(one, name, "") for name in ("id", "name", "instance", "look_up")}
    if subject.kind == CHIP and len(subject.records) > 1:
        return f'rigright look-up chips "{subject.text.strip()}"'.replace("(", "").replace("（", "")
    return LOOKS[subject.kind].format_map(named)


def claim_of(
    passage: Passage, start: int, subject: Subject | None, *, kind: str, verdict: Verdict,
    truth: Sentence | str | None, command: str | None = None, source: str | None = None,
) -> GuideClaim:  # fmt: skip
    """A claim of a passage."""
    return GuideClaim(
        line=passage.line, says=passage.around(start), about=None if subject is None else _full(subject),
        kind=kind, verdict=verdict, truth=truth,
        command=command or (None if subject is None else command_of(subject)), source=source,
    )  # fmt: skip


def _full(subject: Subject) -> str:
    """The name; where it may mean several, as it was written."""
    return subject.name if len(subject.records) == 1 else subject.text.strip("( （")


def without_twins(claims: Sequence[GuideClaim]) -> tuple[GuideClaim, ...]:
    """Claims that say the same of the same thing once, where they stand first."""
    found: dict[tuple[object, ...], GuideClaim] = {}
    for one in claims:
        found.setdefault((one.about, one.kind, one.verdict, str(one.truth), one.says if one.about is None else ""), replace(one))
    return tuple(found.values())

"""Figures of a sentence held against the fields of what it speaks about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rigright.base.words import Sentence, say
from rigright.facts.chips import Chip
from rigright.verbs.read.kinds import NEED, ClaimKind
from rigright.verbs.read.passages import Passage
from rigright.verbs.read.record import RIGHT, UNKNOWN, WRONG, ClaimVerdict, GuideClaim
from rigright.verbs.read.subjects import ClaimSubject
from rigright.verbs.read.whose import Figured, figured

_TOTAL = ("total", "together", "combined", "altogether", "总", "共", "合计")
_EACH = ("each", "per card", "per gpu", "single", "单卡", "每卡", "单张", "每张", "各", "每块", "单块")
_SPARSE = ("spars", "稀疏")
_DENSE = ("dense", "稠密")
_NOT = re.compile(r"(?:不是|并非|而非|is not|isn't|rather than|not)\s?\Z", re.IGNORECASE)
_NATIVE = frozenset({"fp8", "fp4", "bf16", "tf32", "int8"})
Known = Sequence[tuple[object, float]]  # records that a name may mean, and what each has


def figures(passage: Passage) -> Iterator[GuideClaim]:
    """Every figure of a passage that some kind of claim takes, judged."""
    for one in figured(passage):
        if one.kind.id != NEED:
            found = judged(one, passage)
            yield claim_of(passage, one.quantity.start, subject=one.subject, kind=one.kind.id, found=found)


def judged(one: Figured, passage: Passage) -> ClaimVerdict:
    """A figure against what is known."""
    quantity, kind, subject = one.quantity, one.kind, one.subject
    known = [(record, value) for record in subject.records for value in kind.values(record)]
    if not known:
        lacking = lacks(subject, kind)
        none = say("no table here has the {kind} of {name}", kind=kind.title, name=subject.name)
        return ClaimVerdict(verdict=UNKNOWN if lacking is None else WRONG, truth=lacking or none)
    context = f"{passage.topic} {passage.plain[max(0, quantity.start - 30) : quantity.end + 24]}"
    right = [
        pair
        for pair in known
        if any(kind.holds(quantity, value) for value in as_said(one, pair[1], context=context))
    ]
    denied = _NOT.search(passage.text[max(0, quantity.start - 12) : quantity.start]) is not None
    shown = right if right and len(right) < len(known) else known
    return ClaimVerdict(
        verdict=RIGHT if bool(right) != denied else WRONG,
        truth=truth_of(one, shown, context=context),
        source=subject.source,
    )


def lacks(subject: ClaimSubject, kind: ClaimKind) -> Sentence | None:
    """Why there is no such figure: the card has no such thing; None where it is merely not known."""
    one = subject.records[0]
    if not isinstance(one, Chip):
        return None
    if kind.id == "link bandwidth" and all(getattr(each, "link", None) is None for each in subject.records):
        return say("{name} has no link between cards", name=one.name)
    if kind.id in _NATIVE and one.confidence == "high":
        return say("{name} does not compute in {kind}", name=one.name, kind=kind.id.upper())
    return None


def as_said(one: Figured, value: float, *, context: str) -> Iterator[float]:
    """What a text may rightly say of a value: one card's or that of all, with sparsity where it says so."""
    count, adds = one.subject.count, one.kind.adds
    alone = count == 1 or not adds or any(word in context for word in _EACH)
    if alone or not any(word in context for word in _TOTAL):
        yield value
    if not alone:
        yield value * count
    said = any(word in context for word in _SPARSE)
    if may_be_sparse(one) and (said or count == 1) and not any(word in context for word in _DENSE):
        yield value * 2


def may_be_sparse(one: Figured) -> bool:
    """Whether makers tell twice the figure for matrices of which half is left out."""
    chip = one.subject.records[0]
    rate = one.quantity.unit == "flops_per_s" and one.kind.id not in {"fp32", "fp64"}
    return rate and isinstance(chip, Chip) and chip.sparsity


def truth_of(one: Figured, shown: Known, *, context: str) -> Sentence | str:
    """The right figures: one, or one a model of the name."""
    kind, by_value = one.kind, dict[str, list[str]]()
    for record, value in shown:
        name = str(getattr(record, "name", getattr(record, "instance", "")))
        if not (kind.first_answers and any(name in names for names in by_value.values())):
            by_value.setdefault(kind.shown(value), []).append(name)
    several = len(by_value) > 1 or len({name for names in by_value.values() for name in names}) > 1
    parts = [f"{value} ({names[0]})" if several else value for value, names in by_value.items()]
    figure: Sentence | str = ", ".join(parts[:4])
    if one.subject.count > 1 and kind.adds:
        each, all_of = shown[0][1], shown[0][1] * one.subject.count
        figure = say("{one} each, {all} together", one=kind.shown(each), all=kind.shown(all_of))
    half = one.quantity.mid / 2
    sparse = may_be_sparse(one) and any(abs(half - value) <= kind.tolerance * value for _, value in shown)
    if sparse and not any(word in context for word in _SPARSE):
        return say("{dense} dense; the figure is with 2:4 sparsity", dense=figure)
    return figure


def claim_of(
    passage: Passage, start: int, *, subject: ClaimSubject | None, kind: str, found: ClaimVerdict
) -> GuideClaim:
    """A claim of a passage."""
    return GuideClaim(
        line=passage.line,
        says=passage.around(start),
        about=None if subject is None else subject.shown,
        kind=kind,
        verdict=found.verdict,
        truth=found.truth,
        command=found.command or (None if subject is None else subject.command),
        source=found.source,
    )


def without_twins(claims: Sequence[GuideClaim]) -> tuple[GuideClaim, ...]:
    """Claims that say the same of the same thing once, where they stand first."""
    found: dict[tuple[object, ...], GuideClaim] = {}
    for one in claims:
        said = one.says if one.about is None else ""
        found.setdefault((one.about, one.kind, one.verdict, str(one.truth), said), one)
    return tuple(found.values())

"""Figures of a sentence held against the fields of what it is about, and factors between two of a kind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rigright.base.words import Sentence, say
from rigright.facts.chips import Chip
from rigright.verbs.read.kinds import NEED, ClaimKind, kind_named, kinds
from rigright.verbs.read.passages import Passage
from rigright.verbs.read.quantities import ABOUT, StatedQuantity, words_for
from rigright.verbs.read.record import RIGHT, UNKNOWN, WRONG, ClaimVerdict, GuideClaim
from rigright.verbs.read.subjects import CHIP, CPU, LINK, ClaimSubject
from rigright.verbs.read.whose import Figured, figured

_NOT = re.compile(r"(?:不是|并非|而非|is not|isn't|rather than|not)\s?\Z", re.IGNORECASE)
_NATIVE = frozenset({"fp8", "fp4", "bf16", "tf32", "int8"})
OFF, _ROUGHLY = 0.1, 0.25  # how far such a factor may be off
_NEAR_LINK = 24  # signs behind the name of a link in which its own figure stands
_ORDERS = ((0, "as much"), (1, "more than"), (-1, "less than another"))
Known = Sequence[tuple[object, float]]  # records that a name may mean, and what each has


def figures(passage: Passage) -> Iterator[GuideClaim]:
    """Every figure of a passage that some kind of claim takes, judged."""
    for figure in figured(passage):
        if figure.kind.id != NEED:
            verdict = judged(figure, passage)
            yield claim_of(
                passage, figure.quantity.start, subject=figure.subject, kind=figure.kind.id, verdict=verdict
            )


def judged(figure: Figured, passage: Passage) -> ClaimVerdict:
    """A figure against what is known."""
    quantity, kind, subject = figure.quantity, figure.kind, figure.subject
    known = [(record, value) for record in subject.records for value in kind.values(record)]
    if not known:
        lacking = lacks(subject, kind)
        none = say("no table here has the {kind} of {name}", kind=kind.title, name=subject.name)
        return ClaimVerdict(verdict=UNKNOWN if lacking is None else WRONG, truth=lacking or none)
    context = f"{passage.topic} {passage.plain[max(0, quantity.start - 30) : quantity.end + 24]}"
    right = [
        pair
        for pair in known
        if any(kind.holds(quantity, value) for value in _values_meant(figure, pair[1], context=context))
    ]
    denied = _NOT.search(passage.text[max(0, quantity.start - 12) : quantity.start]) is not None
    shown = right if right and len(right) < len(known) else known
    return ClaimVerdict(
        verdict=RIGHT if bool(right) != denied else WRONG,
        truth=_truth_of(figure, shown, context=context),
        source=subject.source,
    )


def lacks(subject: ClaimSubject, kind: ClaimKind) -> Sentence | None:
    """Why there is no such figure: the card has no such thing; None where it is merely not known."""
    value = subject.records[0]
    if not isinstance(value, Chip):
        return None
    if kind.id == "link bandwidth" and all(getattr(each, "link", None) is None for each in subject.records):
        return say("{name} has no link between cards", name=value.name)
    if kind.id in _NATIVE and value.confidence == "high":
        return say("{name} does not compute in {kind}", name=value.name, kind=kind.id.upper())
    return None


def _values_meant(figure: Figured, value: float, *, context: str) -> Iterator[float]:
    """What a text may rightly say of a value: one card's or that of all, with sparsity where it says so."""
    count, adds = figure.subject.count, figure.kind.adds or figure.subject.kind == CPU
    alone = count == 1 or not adds or any(word in context for word in words_for("each"))
    if alone or not any(word in context for word in words_for("total")):
        yield value
    if not alone:
        yield value * count
        if figure.subject.kind == CPU:  # of two sockets people say either
            yield value
    flag = any(word in context for word in words_for("sparse"))
    if (
        _may_be_sparse(figure)
        and (flag or count == 1)
        and not any(word in context for word in words_for("dense"))
    ):
        yield value * 2


def _may_be_sparse(figure: Figured) -> bool:
    """Whether makers tell twice the figure for matrices of which half is left out."""
    chip = figure.subject.records[0]
    rate = figure.quantity.unit == "flops_per_s" and figure.kind.id not in {"fp32", "fp64"}
    return rate and isinstance(chip, Chip) and chip.sparsity


def _truth_of(item: Figured, shown: Known, *, context: str) -> Sentence | str:
    """The right figures: one, or one a model of the name."""
    kind, by_value = item.kind, dict[str, list[str]]()
    for record, value in shown:
        name = str(getattr(record, "name", getattr(record, "instance", "")))
        if not (kind.first_answers and any(name in names for names in by_value.values())):
            by_value.setdefault(kind.shown(value), []).append(name)
    several = len(by_value) > 1 or len({name for names in by_value.values() for name in names}) > 1
    parts = [f"{value} ({names[0]})" if several else value for value, names in by_value.items()]
    figure: Sentence | str = ", ".join(parts[:4])
    if item.subject.count > 1 and (kind.adds or item.subject.kind == CPU):
        each, all_of = shown[0][1], shown[0][1] * item.subject.count
        figure = say("{one} each, {all} together", one=kind.shown(each), all=kind.shown(all_of))
    half = item.quantity.mid / 2
    sparse = _may_be_sparse(item) and any(abs(half - value) <= kind.tolerance * value for _, value in shown)
    if sparse and not any(word in context for word in words_for("sparse")):
        return say("{dense} dense; the figure is with 2:4 sparsity", dense=figure)
    return figure


def claim_of(
    passage: Passage,
    start: int,
    *,
    kind: str,
    verdict: ClaimVerdict,
    subject: ClaimSubject | None = None,
    about: str | None = None,
) -> GuideClaim:
    """A claim of a passage: of a subject that it names, else about what is said."""
    return GuideClaim(
        line=passage.line,
        says=passage.around(start),
        about=about if subject is None else subject.shown,
        kind=kind,
        verdict=verdict.verdict,
        truth=verdict.truth,
        command=verdict.command or (None if subject is None else subject.command),
        source=verdict.source,
    )


def ratios(passage: Passage) -> Iterator[GuideClaim]:
    """Every factor of a passage that stands between two things of a kind."""
    for quantity in passage.quantities:
        counts = any(0 <= subject.start - quantity.end <= 2 for subject in passage.subjects)
        pair = (
            _two(passage, quantity.start)
            if quantity.unit == "times" and quantity.mid > 0 and not counts
            else None
        )
        if pair is not None:
            verdict = factor(passage, quantity, pair=pair)
            yield claim_of(passage, quantity.start, subject=pair[0], kind="ratio", verdict=verdict)


def orders(passage: Passage) -> Iterator[GuideClaim]:
    """Which of two things of a kind is said to have more, or that they have as much, without a factor."""
    pair = None if any(q.unit == "times" for q in passage.quantities) else _two(passage, len(passage.plain))
    found = next(
        (
            (sign, passage.plain.find(parts[0]))
            for sign, way in _ORDERS
            for parts in (word.split("~") for word in words_for(way))
            if all(part in passage.plain for part in parts)
        ),
        None,
    )
    kind = None if pair is None else _compared_by(passage, pair[0].kind)
    if pair is None or found is None or passage.is_code:
        return
    if kind is None:
        yield claim_of(passage, found[1], subject=pair[0], kind="comparison", verdict=_side_by_side(pair))
        return
    sign, at = found
    (first, second), ratios = (
        pair,
        [
            amount / other
            for amount in amounts(passage, pair[0], kind=kind)
            for other in amounts(passage, pair[1], kind=kind)
            if other
        ],
    )
    least = _ROUGHLY if any(word in passage.plain for word in words_for("by far")) else 0.0
    holds = any(abs(ratio - 1) <= OFF if sign == 0 else (ratio - 1) * sign > least for ratio in ratios)
    if ratios:
        values = [kind.shown(amounts(passage, each, kind=kind)[0]) for each in pair]
        truth = say("{one} ({first}), {other} ({second})", one=values[0], other=values[1],
                    first=first.shown, second=second.shown)  # fmt: skip
        verdict = ClaimVerdict(verdict=RIGHT if holds else WRONG, truth=truth)
        yield claim_of(passage, at, subject=first, kind="comparison", verdict=verdict)


def _two(passage: Passage, place: int) -> tuple[ClaimSubject, ClaimSubject] | None:
    """The two things of a kind that are compared: the nearest to a place, in their order."""
    for kind in (CHIP, LINK):
        known = [subject for subject in passage.subjects if subject.kind == kind]
        if len({subject.records[0] for subject in known}) > 1:
            near = sorted(known, key=lambda subject: abs(subject.start - place))[:2]
            first, second = sorted(near, key=lambda subject: subject.start)
            return first, second
    return None


def _compared_by(passage: Passage, kind: str) -> ClaimKind | None:
    """The quantity that is compared: the one of which the longest word stands in the passage."""
    if kind == LINK:
        return kind_named("bandwidth", LINK)
    known = [item for item in kinds() if item.of == kind and item.fields]
    lengths = {
        item: max((len(word) for word in item.said if word.removeprefix("~") in passage.plain), default=0)
        for item in known
    }
    best = max(known, key=lambda item: lengths[item])
    return best if lengths[best] else None


def _side_by_side(pair: tuple[ClaimSubject, ClaimSubject]) -> ClaimVerdict:
    """What no single figure decides: speed, price, worth."""
    command = f'rigright compare "{pair[0].name}" "{pair[1].name}" --for llama-3.1-8b'
    truth = say("speed and price depend on the workload")
    return ClaimVerdict(verdict=UNKNOWN, truth=truth, command=command)


def factor(
    passage: Passage, quantity: StatedQuantity, *, pair: tuple[ClaimSubject, ClaimSubject]
) -> ClaimVerdict:
    """A factor against the figures of the two."""
    first, second = pair
    kind = _compared_by(passage, first.kind)
    if kind is None:
        return _side_by_side(pair)
    rows = [
        (amount / other, amount, other)
        for amount in amounts(passage, first, kind=kind)
        for other in amounts(passage, second, kind=kind)
        if other
    ]
    if not rows:
        none = say("no table here has the {kind} of {name}", kind=kind.title, name=first.name)
        return ClaimVerdict(verdict=UNKNOWN, truth=none)
    off = quantity.mid * (_ROUGHLY if quantity.bound == ABOUT else OFF)
    holds = any(abs(way - quantity.mid) <= off for ratio, _, _ in rows for way in (ratio, 1 / ratio))
    ratio, value, other = rows[0]
    truth = say(
        "{ratio} times: {one} ({first}), {other} ({second})",
        ratio=f"{max(ratio, 1 / ratio):.2g}",
        one=kind.shown(value),
        other=kind.shown(other),
        first=first.shown,
        second=second.shown,
    )
    return ClaimVerdict(verdict=RIGHT if holds else WRONG, truth=truth)


def amounts(passage: Passage, subject: ClaimSubject, *, kind: ClaimKind) -> list[float]:
    """What a thing has of a quantity; of a link both ways, or the figure that the sentence gives it."""
    if subject.kind != LINK:
        return list(
            dict.fromkeys(value for record in subject.records for value in kind.values(record) if value)
        )
    both = [value for record in subject.records if (value := getattr(record, "both_ways_bytes_per_s", None))]
    near = (quantity.mid for quantity in passage.figures if 0 <= quantity.start - subject.end <= _NEAR_LINK)
    values = [item for item in near if any(abs(item - value) <= kind.tolerance * value for value in both)]
    return values or both

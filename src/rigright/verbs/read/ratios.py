"""How many times one thing is another: two of a kind in a sentence, a factor, and the quantity it is of."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.verbs.read.claims import claim_of
from rigright.verbs.read.kinds import ClaimKind, kind_named, kinds
from rigright.verbs.read.passages import Passage
from rigright.verbs.read.quantities import ABOUT, StatedQuantity
from rigright.verbs.read.record import RIGHT, UNKNOWN, WRONG, ClaimVerdict, GuideClaim
from rigright.verbs.read.subjects import CHIP, LINK, ClaimSubject

OFF, ROUGHLY = 0.1, 0.25  # how far such a factor may be off
NEAR_LINK = 24  # signs behind the name of a link in which its own figure stands
_COMMON = frozenset({"VRAM", "cores"})  # words that stand beside other quantities as well


def ratios(passage: Passage) -> Iterator[GuideClaim]:
    """Every factor of a passage that stands between two things of a kind."""
    for quantity in passage.quantities:
        counts = any(0 <= subject.start - quantity.end <= 2 for subject in passage.subjects)
        pair = (
            compared(passage, quantity)
            if quantity.unit == "times" and quantity.mid > 0 and not counts
            else None
        )
        if pair is not None:
            verdict = factor(passage, quantity, pair=pair)
            yield claim_of(passage, quantity.start, subject=pair[0], kind="ratio", verdict=verdict)


def compared(passage: Passage, quantity: StatedQuantity) -> tuple[ClaimSubject, ClaimSubject] | None:
    """The two things that a factor compares: the nearest to it, in their order."""
    for kind in (CHIP, LINK):
        known = [subject for subject in passage.subjects if subject.kind == kind]
        if len({subject.records[0] for subject in known}) > 1:
            near = sorted(known, key=lambda subject: abs(subject.start - quantity.start))[:2]
            first, second = sorted(near, key=lambda subject: subject.start)
            return first, second
    return None


def compared_by(passage: Passage, kind: str) -> ClaimKind | None:
    """The quantity that is compared: one whose word stands in the passage."""
    if kind == LINK:
        return kind_named("bandwidth", LINK)
    named = [
        item
        for item in kinds()
        if item.of == kind
        and item.fields
        and any(word.removeprefix("~") in passage.plain for word in item.said)
    ]
    return next((item for item in named if item.id not in _COMMON), next(iter(named), None))


def factor(
    passage: Passage, quantity: StatedQuantity, *, pair: tuple[ClaimSubject, ClaimSubject]
) -> ClaimVerdict:
    """A factor against the figures of the two."""
    first, second = pair
    kind = compared_by(passage, first.kind)
    if kind is None:
        command = f'rigright compare "{first.name}" "{second.name}" --for llama-3.1-8b'
        return ClaimVerdict(
            verdict=UNKNOWN, truth=say("not checked: how fast depends on the work"), command=command
        )
    rows = [
        (amount / other, amount, other)
        for amount in amounts(passage, first, kind=kind)
        for other in amounts(passage, second, kind=kind)
        if other
    ]
    if not rows:
        none = say("no table here has the {kind} of {name}", kind=kind.title, name=first.name)
        return ClaimVerdict(verdict=UNKNOWN, truth=none)
    off = quantity.mid * (ROUGHLY if quantity.bound == ABOUT else OFF)
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
    near = (quantity.mid for quantity in passage.figures if 0 <= quantity.start - subject.end <= NEAR_LINK)
    values = [item for item in near if any(abs(item - value) <= kind.tolerance * value for value in both)]
    return values or both

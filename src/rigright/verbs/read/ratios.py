"""How many times one thing is another: two of a kind in a sentence, a factor, and the quantity it is of."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.verbs.read.claims import ClaimKind, claim_of, kinds, shown_value, values_of
from rigright.verbs.read.passages import Passage
from rigright.verbs.read.quantities import ABOUT, Quantity
from rigright.verbs.read.record import RIGHT, UNKNOWN, WRONG, GuideClaim
from rigright.verbs.read.subjects import CHIP, LINK, Subject

OFF, ROUGHLY = 0.1, 0.25  # how far such a factor may be off
_DEFAULT = {LINK: "bandwidth"}


def ratios(passage: Passage) -> Iterator[GuideClaim]:
    """Every factor of a passage that stands between two things of a kind."""
    for quantity in passage.quantities:
        counts = any(0 <= one.start - quantity.end <= 2 for one in passage.subjects)
        if quantity.unit != "times" or counts or quantity.mid <= 0:
            continue
        pair = _pair(passage, quantity)
        if pair is None:
            continue
        yield _judged(passage, quantity, *pair)


def _pair(passage: Passage, quantity: Quantity) -> tuple[Subject, Subject] | None:
    """The two things that a factor compares: the nearest to it."""
    known = [one for one in passage.subjects if one.kind in {CHIP, LINK}]
    by_kind = {kind: [one for one in known if one.kind == kind] for kind in (CHIP, LINK)}
    pairs = [named for named in by_kind.values() if len({one.records[0] for one in named}) > 1]
    if not pairs:
        return None
    named = sorted(pairs[0], key=lambda one: abs(one.start - quantity.start))[:2]
    return (named[0], named[1]) if named[0].start < named[1].start else (named[1], named[0])


def _kind(passage: Passage, kind: str) -> ClaimKind | None:
    """The quantity that is compared."""
    words = [
        (max(passage.plain.find(word.removeprefix("~")) for word in one.said), one)
        for one in kinds()
        if one.of == kind and one.said and one.fields
    ]
    found = [one for at, one in words if at >= 0]
    if found:
        specific = [one for one in found if one.id not in {"memory", "cores"}] or found
        return specific[0]
    default = _DEFAULT.get(kind)
    return next((one for one in kinds() if one.of == kind and one.id == default), None)


def _judged(passage: Passage, quantity: Quantity, first: Subject, second: Subject) -> GuideClaim:
    kind = _kind(passage, first.kind)
    names = {"first": first.text, "second": second.text}
    if kind is None or first.kind != second.kind:
        truth = say("not checked: how fast depends on the work")
        command = f'rigright compare "{first.name}" "{second.name}" --for llama-3.1-8b'
        return claim_of(passage, quantity.start, first, kind="ratio", verdict=UNKNOWN, truth=truth, command=command)
    ones, others = _values(passage, first, kind), _values(passage, second, kind)
    off = ROUGHLY if quantity.bound == ABOUT else OFF
    found = [(one / other, one, other) for one in ones for other in others if other]
    if not found:
        return claim_of(passage, quantity.start, first, kind="ratio", verdict=UNKNOWN, truth=say("no table here has the {kind} of {name}", kind=kind.id, name=first.name))
    holds = [
        ratio for ratio, _, _ in found
        if any(abs(way - quantity.mid) <= off * quantity.mid for way in (ratio, 1 / ratio))
    ]  # fmt: skip
    ratio, one, other = found[0]
    best = ratio if ratio >= 1 else 1 / ratio
    truth = say(
        "{ratio} times: {one} ({first}), {other} ({second})",
        ratio=f"{best:.2g}", one=shown_value(one, kind), other=shown_value(other, kind), **names,
    )  # fmt: skip
    verdict = RIGHT if holds else WRONG
    return claim_of(passage, quantity.start, first, kind="ratio", verdict=verdict, truth=truth)


def _values(passage: Passage, subject: Subject, kind: ClaimKind) -> list[float]:
    """What a thing has of a quantity; of a link the figure that the sentence itself gives it."""
    found = [value for record in subject.records for value in values_of(record, kind) if value]
    if subject.kind == LINK:
        both = [value for record in subject.records if (value := getattr(record, "both_ways_bytes_per_s", None))]
        said = [
            one.mid for one in passage.figures
            if one.unit == "bytes_per_s" and 0 <= one.start - subject.end <= 24
            and any(abs(one.mid - value) <= 0.06 * value for value in both)
        ]  # fmt: skip
        return said or both
    return list(dict.fromkeys(found))

"""A benchmark's figure held against what it should be: other cards of the machine, operators' minima, facts.

The other cards come first: healthy cards of one node lie within a percent of each other, and a broken one
that reached a third passed the vendor's own test (NVIDIA/DCGM issue 122). More than 5 % behind is worth a
look (stas00/ml-engineering saw such spreads) where even its best repeat was, more than 10 % is slow. Only
figures that the hardware sets are held so: what the processor sets differs between its sockets.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rigright.base.record import Flat
from rigright.base.words import Sentence, say
from rigright.doctor.laws import cards_of, disk_of, stated
from rigright.doctor.record import CheckInput, Severity
from rigright.facts.bench import Expectation, Reference, expected, references, size_mib_of
from rigright.machine.bench.record import SMALLER_IS_BETTER, Result

Verdict = Literal["expected", "behind", "slow", "wrong", "unknown"]
Basis = Literal["other cards", "least", "measured", "stated", "floor", "planned"]

BEHIND, SLOW = 0.95, 0.90  # of the other cards' median
_WORST_BESIDE, _WORST = 0.75, 0.5  # a fault below it: of their median, of the least
_OF_MEASURED = 0.90  # of what a healthy one was measured at


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineFigure:
    """One figure and what it should be."""

    result: Flat[Result]
    verdict: Verdict
    basis: Basis | None = None
    full: float | None = None  # what the hardware states, or the reference itself
    least: float | None = None  # below it (for times: above it) it is slow
    share: float | None = None  # of the full figure
    source: str | None = None
    confidence: str | None = None
    checks: tuple[str, ...] = ()  # of the doctor, to look at next
    notes: tuple[Sentence, ...] = ()

    @property
    def severity(self) -> Severity:
        """How bad it is: against other cards by their median, else against the least that is expected."""
        if self.verdict not in {"slow", "behind", "wrong"}:
            return "note"
        share = 1.0 if self.share is None else self.share
        if self.basis == "other cards":
            return "fault" if share < _WORST_BESIDE else "warning" if share < SLOW else "note"
        least = self.least / self.full if self.least and self.full else 0.0
        return "fault" if self.verdict == "wrong" or share < _WORST * least else "warning"


@dataclass(frozen=True, slots=True)
class _Beside:
    """All figures of one machine, by what each is held against."""

    case: CheckInput
    ways: dict[tuple[int, ...], str]  # pair of cards -> how they reach each other
    alike: dict[object, list[Result]] = field(default_factory=dict)  # on cards of the same kind
    sockets: dict[object, dict[str, float]] = field(default_factory=dict)  # the best of each
    sizes: dict[object, float] = field(default_factory=dict)  # the largest message in MiB


def compare_all(results: Sequence[Result], case: CheckInput) -> tuple[BaselineFigure, ...]:
    """Every figure of one machine. However fast: what gives wrong values is wrong."""
    beside = _beside(results, case)
    figures = (_compare(result, beside) for result in results)
    return tuple(
        replace(figure, verdict="wrong") if wrong_values(figure.result) else figure for figure in figures
    )


def _beside(results: Sequence[Result], case: CheckInput) -> _Beside:
    ways = {tuple(sorted((path.a, path.b))): path.kind for path in reversed(case.machine.paths or ())}
    beside = _Beside(case, ways)
    for result in results:
        beside.alike.setdefault(_kind(result, beside), []).append(result)
        of_sockets = beside.sockets.setdefault(_ends(result), {})
        of_sockets[result.on] = max(result.value, of_sockets.get(result.on, result.value))
        size, name = size_mib_of(result.what) or 0.0, _collective(result)
        beside.sizes[name] = max(size, beside.sizes.get(name, 0.0))
    return beside


def wrong_values(result: Result) -> float:
    """How many of the values it carried came out wrong."""
    try:
        return max(0.0, float(dict(result.settings).get("wrong", "0")))
    except ValueError:
        return 0.0


def _compare(result: Result, beside: _Beside) -> BaselineFigure:
    """By what other cards reach, else by what is known of such hardware."""
    case = beside.case
    disk = disk_of(result, case) if result.part == "disk" else None
    row = expected(result.part, result.what, kind=None if disk is None else disk.kind)
    is_smaller = row is not None and row.from_mib is not None and _is_smaller(result, beside)
    if is_smaller or _is_far(result, beside):
        return BaselineFigure(result=result, verdict="unknown", notes=_notes(result, case))
    alone = _by_facts(result, case, row=row)
    others = _others(result, beside) if row is not None and row.law is not None else None
    notes = _notes(result, case)
    if others is None:
        return replace(alone, notes=notes)
    share = result.share_of(others)
    is_slow = share < SLOW
    # a tenth below the others; or a twentieth, and even its best repeat was
    best = result.low if result.unit in SMALLER_IS_BETTER else result.high
    is_behind = is_slow or replace(result, value=best).share_of(others) < BEHIND
    if not is_behind or alone.verdict == "slow":
        if alone.verdict == "slow":
            notes += (say("{share} of the other GPUs' median", share=f"{share:.0%}"),)
        if alone.verdict == "unknown":
            return replace(alone, notes=notes, verdict="expected", basis="other cards")
        return replace(alone, notes=notes)
    return BaselineFigure(
        result=result,
        verdict="slow" if is_slow else "behind",
        basis="other cards",
        full=others,
        least=_bound(result, others, share=SLOW if is_slow else BEHIND),
        share=share,
        source="NVIDIA/DCGM issue 122; stas00/ml-engineering",
        confidence="high",
        checks=() if row is None else row.checks,
        notes=notes,
    )


def _is_far(result: Result, beside: _Beside) -> bool:
    """Whether the same card is reached faster from another socket: the way between sockets is slower."""
    fields = beside.sockets.get(_ends(result), {}) if "cpu " in result.on else {}
    return any(value > result.value for on, value in fields.items() if on != result.on)


def _ends(result: Result) -> tuple[str, str] | None:
    """A way between a socket and a card, whichever socket it is; None of any other."""
    ends = [end for end in result.on.split(" -> ") if not end.startswith("cpu ")]
    return (result.what, ends[0]) if "cpu " in result.on and len(ends) == 1 else None


def _is_smaller(result: Result, beside: _Beside) -> bool:
    """Whether the same collective was measured with larger messages, which tell what the links carry."""
    return (size_mib_of(result.what) or 0.0) < beside.sizes.get(_collective(result), 0.0)


def _collective(result: Result) -> tuple[str, str, str]:
    return result.part, result.on, result.what.partition(" ")[0]


def _by_facts(result: Result, case: CheckInput, *, row: Expectation | None) -> BaselineFigure:
    """Against operators' minima, what healthy ones measured, what the hardware states, or a floor."""
    if row is None:
        return BaselineFigure(result=result, verdict="unknown")
    full = None if row.law is None else stated(row.law, result, case=case)
    reference = (
        _known(result, case, row=row) if full is None or row.law not in {"pcie", "pcie_both"} else None
    )
    if reference is not None:
        least = (
            reference.value
            if reference.kind == "least"
            else _bound(result, reference.value, share=_OF_MEASURED)
        )
        basis: Basis = "least" if reference.kind == "least" else "measured"
        return _judged(
            result, row, basis=basis, full=full or reference.value, least=least, source=reference.source
        )
    if full is not None and row.share is not None:
        least = _bound(result, full, share=row.share)
        return _judged(result, row, basis="stated", full=full, least=least, source=row.source)
    if row.floor is not None:
        return _judged(result, row, basis="floor", full=row.floor, least=row.floor, source=row.source)
    return BaselineFigure(result=result, verdict="unknown", checks=row.checks)


def _judged(
    result: Result, row: Expectation, *, basis: Basis, full: float, least: float, source: str
) -> BaselineFigure:
    slow = result.value > least if result.unit in SMALLER_IS_BETTER else result.value < least
    return BaselineFigure(
        result=result,
        verdict="slow" if slow else "expected",
        basis=basis,
        full=full,
        least=least,
        share=result.share_of(full),
        source=source,
        confidence=row.confidence,
        checks=row.checks,
    )


def _known(result: Result, case: CheckInput, *, row: Expectation) -> Reference | None:
    """A row about this chip and this number of them: an operator's minimum first, else the least measured."""
    cards = cards_of(result, case)
    ids = {chip.id for _, chip in cards if chip is not None}
    if len(ids) != 1 or len({chip for _, chip in cards}) != 1:
        return None
    (chip,) = ids
    fits = [
        reference
        for reference in references()
        if reference.what in row.references and reference.chip == chip and reference.unit == result.unit
        if result.on != "gpu all"
        or str(reference.n_chips) == dict(result.settings).get("ranks", str(len(cards)))
    ]
    kinds = ("least", "measured")
    fits = [reference for reference in fits if reference.kind in kinds]
    return min(fits, key=lambda reference: (kinds.index(reference.kind), reference.value), default=None)


def _others(result: Result, beside: _Beside) -> float | None:
    """The median of the same figure on the other cards of the same kind; None where there are none."""
    if result.on == "gpu all" or not result.on.startswith("gpu "):
        return None
    alike = beside.alike.get(_kind(result, beside), ())
    others = [item.value for item in alike if item.on != result.on]
    return (statistics.median(others) or None) if others else None


def _kind(result: Result, beside: _Beside) -> object:
    """What a figure is of, and the kind of its cards and of their path: only like is held against like."""
    cards = cards_of(result, beside.case)
    numbers = tuple(sorted(device.index for device, _ in cards))
    path = beside.ways.get(numbers, "") if len(cards) == 2 else ""
    return (result.part, result.what, result.chip, tuple(device.name for device, _ in cards), path)


def _notes(result: Result, case: CheckInput) -> tuple[Sentence, ...]:
    """What one must know before one believes it."""
    notes = list(result.notes)
    cards = cards_of(result, case)
    busy = [device.index for device, _ in cards if device.programs]
    if busy:
        notes.append(say("other processes hold memory on gpu {numbers}", numbers=", ".join(map(str, busy))))
    settings = dict(result.settings)
    if wrong := wrong_values(result):
        notes.append(say("{count} wrong values: data corruption", count=f"{wrong:g}"))
    for device, _ in cards[:1]:
        lanes, most = settings.get("pcie_lanes"), device.pcie.lanes_max
        if lanes is not None and most is not None and int(lanes) < most:
            notes.append(say("PCIe link is x{lanes} instead of x{most}", lanes=lanes, most=most))
    return tuple(notes)


def _bound(result: Result, full: float, *, share: float) -> float:
    return full / share if result.unit in SMALLER_IS_BETTER else full * share

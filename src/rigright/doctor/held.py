"""A benchmark's figure held against what it should be: other cards of the machine, operators' minima, facts.

The other cards come first: healthy cards of one node lie within a percent of each other, and a broken one
that reached a third passed the vendor's own test (NVIDIA/DCGM issue 122). More than 5 % behind is worth a
look (stas00/ml-engineering saw such spreads) where even its best repeat was, more than 10 % is slow. Only
figures that the hardware sets are held so: what the processor sets differs between its sockets.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rigright.base.words import Sentence, say
from rigright.doctor.laws import cards_of, disk_of, stated
from rigright.doctor.record import Case
from rigright.facts.bench import Reference, references
from rigright.facts.bench_expected import Expectation, expected, size_mib_of
from rigright.machine.bench.record import Result

Verdict = Literal["expected", "behind", "slow", "wrong", "unknown"]
Basis = Literal["other cards", "least", "measured", "stated", "floor", "planned"]

BEHIND, SLOW = 0.95, 0.90  # of the other cards' median
OF_MEASURED = 0.90  # of what a healthy one was measured at
SMALLER_IS_BETTER = {"s"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One figure and what it should be."""

    result: Result
    verdict: Verdict
    basis: Basis | None = None
    full: float | None = None  # what the hardware states, or the reference itself
    least: float | None = None  # below it (for times: above it) it is slow
    share: float | None = None  # of the full figure
    source: str | None = None
    confidence: str | None = None
    checks: tuple[str, ...] = ()  # of the doctor, to look at next
    notes: tuple[Sentence, ...] = ()


def held_all(results: Sequence[Result], case: Case) -> tuple[Held, ...]:
    """Every figure of one machine."""
    return tuple(held(one, case, beside=results) for one in results)


def held(result: Result, case: Case, *, beside: Sequence[Result] = ()) -> Held:
    """One figure; `beside` holds those of the other cards. However fast: what gives wrong values is wrong."""
    one = _compared(result, case, beside=beside)
    return replace(one, verdict="wrong") if wrong_values(result) else one


def wrong_values(result: Result) -> float:
    """How many of the values it carried came out wrong."""
    try:
        return max(0.0, float(dict(result.settings).get("wrong", "0")))
    except ValueError:
        return 0.0


def _compared(result: Result, case: Case, *, beside: Sequence[Result]) -> Held:
    disk = disk_of(result, case) if result.part == "disk" else None
    row = expected(result.part, result.what, kind=None if disk is None else disk.kind)
    is_smaller = row is not None and row.from_mib is not None and _is_smaller(result, beside)
    if is_smaller or _is_far(result, beside):
        return Held(result=result, verdict="unknown", notes=_notes(result, case))
    alone = _by_facts(result, case, row=row)
    others = _others(result, case, beside=beside) if row is not None and row.law is not None else None
    notes = _notes(result, case)
    if others is None:
        return _with(alone, notes=notes)
    share = _reached(result, others)
    is_slow = share < SLOW
    # a tenth below the others; or a twentieth, and even its best repeat was
    best = result.low if result.unit in SMALLER_IS_BETTER else result.high
    is_behind = _reached(result, others) < SLOW or _reached(replace(result, value=best), others) < BEHIND
    if not is_behind or alone.verdict == "slow":
        told = notes
        if alone.verdict == "slow":
            told += (say("{share} of the other GPUs' median", share=f"{share:.0%}"),)
        fine = alone.verdict == "unknown"
        return _with(alone, notes=told, verdict="expected" if fine else alone.verdict, fine=fine)
    return Held(
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


def _is_far(result: Result, beside: Sequence[Result]) -> bool:
    """Whether the same card is reached faster from another socket: the way between sockets is slower."""
    card = [end for end in result.on.split(" -> ") if not end.startswith("cpu ")]
    return len(card) == 1 and any(
        one.what == result.what and one.value > result.value and one.on != result.on
        for one in beside
        if [end for end in one.on.split(" -> ") if not end.startswith("cpu ")] == card and "cpu " in one.on
        if "cpu " in result.on
    )


def _is_smaller(result: Result, beside: Sequence[Result]) -> bool:
    """Whether the same collective was measured with larger messages, which tell what the links carry."""
    name = result.what.split()[0]
    alike = [
        one.what
        for one in beside
        if (one.part, one.on, one.what.split()[:1]) == (result.part, result.on, [name])
    ]
    return (size_mib_of(result.what) or 0.0) < max((size_mib_of(what) or 0.0 for what in alike), default=0.0)


def _with(
    one: Held, *, notes: tuple[Sentence, ...], verdict: Verdict | None = None, fine: bool = False
) -> Held:
    basis: Basis | None = "other cards" if fine else one.basis
    return replace(one, notes=notes, verdict=verdict or one.verdict, basis=basis)


def _by_facts(result: Result, case: Case, *, row: Expectation | None) -> Held:
    """Against operators' minima, what healthy ones measured, what the hardware states, or a floor."""
    if row is None:
        return Held(result=result, verdict="unknown")
    full = None if row.law is None else stated(row.law, result, case=case)
    found = _known(result, case, row=row) if full is None or row.law not in {"pcie", "pcie_both"} else None
    if found is not None:
        least = found.value if found.kind == "least" else _bound(result, found.value, share=OF_MEASURED)
        basis: Basis = "least" if found.kind == "least" else "measured"
        return _judged(result, row, basis=basis, full=full or found.value, least=least, source=found.source)
    if full is not None and row.share is not None:
        least = _bound(result, full, share=row.share)
        return _judged(result, row, basis="stated", full=full, least=least, source=row.source)
    if row.floor is not None:
        return _judged(result, row, basis="floor", full=row.floor, least=row.floor, source=row.source)
    return Held(result=result, verdict="unknown", checks=row.checks)


def _judged(
    result: Result, row: Expectation, *, basis: Basis, full: float, least: float, source: str
) -> Held:
    slow = result.value > least if result.unit in SMALLER_IS_BETTER else result.value < least
    return Held(
        result=result,
        verdict="slow" if slow else "expected",
        basis=basis,
        full=full,
        least=least,
        share=_reached(result, full),
        source=source,
        confidence=row.confidence,
        checks=row.checks,
    )


def _known(result: Result, case: Case, *, row: Expectation) -> Reference | None:
    """A row about this chip and this number of them: an operator's minimum first, else the least measured."""
    cards = cards_of(result, case)
    ids = {chip.id for _, chip in cards if chip is not None}
    if len(ids) != 1 or len({chip for _, chip in cards}) != 1:
        return None
    (chip,) = ids
    fits = [
        one
        for one in references()
        if one.what in row.references and one.chip == chip and one.unit == result.unit
        if result.on != "gpu all" or str(one.n_chips) == dict(result.settings).get("ranks", str(len(cards)))
    ]
    kinds = ("least", "measured")
    fits = [one for one in fits if one.kind in kinds]
    return min(fits, key=lambda one: (kinds.index(one.kind), one.value), default=None)


def _others(result: Result, case: Case, *, beside: Sequence[Result]) -> float | None:
    """The median of the same figure on the other cards of the same kind; None where there are none."""
    if result.on == "gpu all" or not result.on.startswith("gpu "):
        return None
    alike = [
        one.value
        for one in beside
        if one is not result and one.on != result.on and (one.part, one.what) == (result.part, result.what)
        if _kinds(one, case) == _kinds(result, case) and one.chip == result.chip
    ]
    return statistics.median(alike) if alike else None


def _kinds(result: Result, case: Case) -> tuple[str, ...]:
    """What kind of cards and of path a figure is about: only like is held against like."""
    cards = cards_of(result, case)
    numbers = {device.index for device, _ in cards}
    path = next((one.kind for one in case.machine.paths or () if {one.a, one.b} == numbers), "")
    return (*(device.name or "" for device, _ in cards), path if len(cards) == 2 else "")


def _notes(result: Result, case: Case) -> tuple[Sentence, ...]:
    """What one must know before one believes it."""
    notes = list(result.notes)
    cards = cards_of(result, case)
    busy = [device.index for device, _ in cards if device.programs]
    if busy:
        notes.append(say("other processes hold memory on gpu {numbers}", numbers=", ".join(map(str, busy))))
    settings = dict(result.settings)
    if wrong := wrong_values(result):
        notes.append(say("{count} values came out wrong: data corruption", count=f"{wrong:g}"))
    for device, _ in cards[:1]:
        lanes, most = settings.get("pcie_lanes"), device.pcie.lanes_max
        if lanes is not None and most is not None and int(lanes) < most:
            notes.append(say("PCIe link is x{lanes} instead of x{most}", lanes=lanes, most=most))
    return tuple(notes)


def _reached(result: Result, full: float) -> float:
    return full / result.value if result.unit in SMALLER_IS_BETTER else result.value / full


def _bound(result: Result, full: float, *, share: float) -> float:
    return full / share if result.unit in SMALLER_IS_BETTER else full * share

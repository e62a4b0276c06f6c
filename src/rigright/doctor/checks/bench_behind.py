"""Cards that are slower than the other cards of this machine.

The other cards are the best reference there is: healthy ones of a node lie within a percent of each other.
A card 5 % behind the median is worth a look (note), 10 % is slow (warning), a quarter is broken (fault).

Sources: NVIDIA/DCGM issue 122 (within 1 %, the broken one at 35 %), stas00/ml-engineering (spreads above 5
%).
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import show_measured
from rigright.base.words import say
from rigright.doctor.held import Held, held_all
from rigright.doctor.record import Case, Finding, Severity, Verdict, seen, step

TITLE = say("no card is slower than the others")
WORST, SLOW = 0.75, 0.90


def check(case: Case) -> Iterator[Verdict]:
    """A finding for each figure of a card that lags."""
    for one in held_all(case.results, case):
        if one.basis == "other cards" and one.verdict in {"slow", "behind"} and one.share is not None:
            yield _lags(one, share=one.share)


def _lags(one: Held, *, share: float) -> Finding:
    result = one.result
    severity: Severity = "fault" if share < WORST else "warning" if share < SLOW else "note"
    return Finding(
        severity=severity,
        title=say("{part}, {what}: slower than the other cards here", part=result.part, what=result.what),
        evidence=seen(
            say(
                "{value}, {share} of the others' median {full}",
                value=show_measured(result.value, result.unit),
                share=f"{share:.0%}",
                full="?" if one.full is None else show_measured(one.full, result.unit),
            ),
            f"rigright bench {result.part}",
        ),
        why=say(
            "work that is spread over cards runs at the pace of the slowest: all of them lose that share"
        ),
        fix=(
            step(
                say("see what the checks say of this card"),
                "rigright doctor --all --only accelerators,speed,errors",
            ),
            step(
                say("swap it with a neighbour: if the slowness moves along, it is the card; if not, the slot")
            ),
            step(say("if it is the card, have it replaced; show the vendor these figures")),
        ),
        confidence="likely" if severity == "note" else "sure",
        about=result.on,
    )

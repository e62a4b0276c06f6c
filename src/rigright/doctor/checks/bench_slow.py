"""Benchmarks of this machine that lie far below what its hardware reaches.

`rigright bench` keeps its results; the newest of each are held against operators' minima, against what
healthy machines with the same chip measured, or against a share of what the hardware states. A card may
pass the vendor's own test and still compute at a third of its speed (NVIDIA/DCGM issue 122): only measuring
shows it.

Warning; a fault below half of the least. Without benchmarks: not observed. Sources: data/bench_expected.csv
and data/bench_reference.csv.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import show_measured
from rigright.base.words import say
from rigright.doctor.held import held_all
from rigright.doctor.record import Case, Evidence, Finding, Fine, NotSeen, Verdict, step

TITLE = say("benchmarks reach what the hardware should")
WORST = 0.5


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each figure that can be held against something."""
    if not case.results:
        if case.machine.devices and case.machine.origin == "live":
            yield NotSeen(why=say("nothing was measured here yet"), see="rigright bench --quick")
        return
    for one in held_all(case.results, case):
        if one.basis == "other cards" or one.verdict == "unknown":
            continue
        if one.verdict == "slow":
            result = one.result
            far = (
                one.share is not None and one.full and one.least and one.share < WORST * one.least / one.full
            )
            yield Finding(
                severity="fault" if far else "warning",
                title=say(
                    "{part}, {what}: slower than this hardware should be", part=result.part, what=result.what
                ),
                evidence=(
                    Evidence(
                        shows=say(
                            "{value} measured; at least {least} is expected ({source})",
                            value=show_measured(result.value, result.unit),
                            least="?" if one.least is None else show_measured(one.least, result.unit),
                            source=one.source or "?",
                        ),
                        command=f"rigright bench {result.part}",
                    ),
                    *(Evidence(shows=note) for note in one.notes),
                ),
                why=say("what runs here is slower by that share, though every counter may read well"),
                fix=(
                    step(
                        say("see what these checks say: {checks}", checks=", ".join(one.checks)),
                        f"rigright doctor --all --only {','.join(one.checks)}",
                    )
                    if one.checks
                    else step(say("see what the other checks say")),
                    step(say("measure again while nothing else runs"), f"rigright bench {result.part}"),
                ),
                confidence="likely",
                about=result.on,
            )
        else:
            yield Fine(
                says=say("{part}, {what}: as it should be", part=one.result.part, what=one.result.what),
                about=one.result.on,
            )

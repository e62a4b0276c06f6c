"""Whether benchmarks reach what the baseline of this node type says.

Only with `--baseline FILE`, over what `rigright bench` measured on this node. A figure that is worse by more
than the baseline's tolerance is a warning, by more than a quarter a fault; better is always good.

Source: the baseline; its tolerance is 5 % unless it says another.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.units import show_measured
from rigright.base.words import say
from rigright.doctor.baseline import SMALLER_IS_BETTER, ExpectedFigure
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Verdict, seen, step
from rigright.machine.bench.record import Result

TITLE = say("benchmarks reach the baseline")
WORST_SHARE = 0.75


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each figure of the baseline, of its slowest card, link or disk."""
    if case.baseline is None:
        return
    for one in case.baseline.figures:
        mine = [
            result for result in case.results
            if (result.part, result.what, result.unit) == (one.part, one.what, one.unit)
        ]  # fmt: skip
        if not mine:
            yield NotSeen(
                why=say("{part}, {what}: not measured on this node", part=one.part, what=one.what),
                see=f"rigright bench {shlex.quote(one.part)}",
            )
            continue
        pick = max if one.unit in SMALLER_IS_BETTER else min
        worst = pick(mine, key=lambda result: result.value)
        if one.holds(worst.value):
            yield Fine(says=say("{part}, {what}: as the baseline", part=one.part, what=one.what))
        else:
            yield _behind(one, worst, file=case.baseline.file)


def _behind(one: ExpectedFigure, result: Result, *, file: str) -> Finding:
    share = result.value / one.value
    share = 1 / share if one.unit in SMALLER_IS_BETTER else share
    return Finding(
        severity="fault" if share < WORST_SHARE else "warning",
        title=say(
            "{part}, {what}: {share} of the baseline", part=one.part, what=one.what, share=f"{share:.0%}"
        ),
        evidence=seen(
            say(
                "{value}; the baseline has {full}, give or take {tolerance}",
                value=show_measured(result.value, one.unit),
                full=show_measured(one.value, one.unit),
                tolerance=f"{one.tolerance:.0%}",
            ),
            f"rigright bench {shlex.quote(one.part)}",
        ),
        why=say("nodes of one type should be alike: jobs that span them run as the weakest does"),
        fix=(
            step(say("see what the checks say of this card"), "rigright doctor --all"),
            step(say("measure again when nothing else runs"), f"rigright bench {shlex.quote(one.part)}"),
        ),
        verify=f"rigright baseline --check {shlex.quote(file)}",
        about=result.on,
    )

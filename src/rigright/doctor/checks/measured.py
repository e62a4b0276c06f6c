"""Benchmark results against other GPUs, the hardware and a baseline."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.units import show_measured
from rigright.base.words import say
from rigright.doctor.advice import advise
from rigright.doctor.baseline import compared
from rigright.doctor.record import CheckInput, Evidence, Fine, NotSeen, Verdict, check
from rigright.doctor.reference import compare_all, wrong_values
from rigright.machine.bench.record import SMALLER_IS_BETTER

_BASELINE_WORST = 0.75
COUNTED = "nccl_tests"  # the part whose tool compares every value


@check(say("no GPU is slower than its peers"))
def bench_behind(case: CheckInput) -> Iterator[Verdict]:
    """GPUs that are slower than the others in this node.

    The other GPUs are the best reference: healthy ones in a node are within a percent of each other. 5 %
    behind the median is a note, 10 % a warning, 25 % a fault.

    Sources: NVIDIA/DCGM issue 122 (within 1 %, the broken one at 35 %), stas00/ml-engineering (spreads above
    5 %).
    """
    for figure in compare_all(case.results, case):
        if figure.basis != "other cards" or figure.verdict not in {"slow", "behind"} or figure.share is None:
            continue
        result, share, severity = figure.result, figure.share, figure.severity
        yield advise(
            "measured.behind",
            about=result.on,
            severity=severity,
            confidence="likely" if severity == "note" else "sure",
            part=result.part,
            what=result.what,
            value=show_measured(result.value, result.unit),
            share=f"{share:.0%}",
            full="?" if figure.full is None else show_measured(figure.full, result.unit),
        )


@check(say("benchmark results against the hardware"))
def bench_slow(case: CheckInput) -> Iterator[Verdict]:
    """Benchmark results far below what the hardware reaches.

    `rigright bench` keeps its results; the newest of each is compared with operators' minima, with healthy
    machines of the same GPU, or with a share of the rated figure. A GPU can pass the vendor's own test and
    still run at a third of its speed (NVIDIA/DCGM issue 122): only a benchmark shows it.

    Warning; fault below half of the minimum. Without benchmarks: not checked. Sources:
    data/bench_expected.csv and data/bench_reference.csv.
    """
    if not case.results:
        if case.machine.devices and case.machine.origin == "live":
            yield NotSeen(why=say("no benchmark has run on this machine yet"), see="rigright bench --quick")
        return
    for figure in compare_all(case.results, case):
        result = figure.result
        if figure.basis == "other cards" or figure.verdict == "unknown":
            continue
        if figure.verdict != "slow":
            says = say("{part}, {what}: as expected", part=result.part, what=result.what)
            yield Fine(says=says, about=result.on)
            continue
        yield advise(
            "measured.slow",
            about=result.on,
            severity=figure.severity,
            part=result.part,
            what=result.what,
            value=show_measured(result.value, result.unit),
            least="?" if figure.least is None else show_measured(figure.least, result.unit),
            source=figure.source or "?",
            notes=tuple(Evidence(shows=note) for note in figure.notes),
            checks=", ".join(figure.checks),
            only=",".join(figure.checks),
        )


@check(say("GPU-to-GPU copies are intact"))
def bench_wrong(case: CheckInput) -> Iterator[Verdict]:
    """Wrong results in GPU-to-GPU transfers.

    nccl-tests counts in `#wrong` the values of a collective that are not what they must be. One is too many:
    training on these GPUs uses corrupted gradients, without an error.

    Fault: any wrong value in the newest benchmarks. Source: nccl-tests, doc/PERFORMANCE.md and its column
    #wrong.
    """
    for result in case.results:
        seen = {"part": result.part, "what": result.what}
        if wrong := wrong_values(result):
            yield advise("measured.wrong", seen, about=result.on, count=f"{wrong:g}")
        elif result.part == COUNTED:
            yield Fine(says=say("{part}, {what}: all results correct", **seen), about=result.on)


@check(say("benchmarks against the baseline"))
def baseline_bench(case: CheckInput) -> Iterator[Verdict]:
    """Benchmark results compared with the baseline of this node type.

    Only with `--baseline FILE`, on results of `rigright bench` from this node. Worse by more than the
    baseline's tolerance: warning; by more than a quarter: fault; better is always fine.

    Source: the baseline; its tolerance is 5 % unless it says another.
    """
    if case.baseline is None:
        return
    for figure in case.baseline.bench:
        seen = {"part": figure.part, "what": figure.what}
        mine = [
            result
            for result in case.results
            if (result.part, result.what, result.unit) == (figure.part, figure.what, figure.unit)
        ]
        if not mine:
            why = say("{part}, {what}: not measured on this node", **seen)
            yield NotSeen(why=why, see=f"rigright bench {shlex.quote(figure.part)}")
            continue
        smaller = figure.unit in SMALLER_IS_BETTER
        worst = (max if smaller else min)(mine, key=lambda result: result.value)
        if figure.holds(worst.value):
            yield Fine(says=say("{part}, {what}: matches the baseline", **seen))
            continue
        share = figure.value / worst.value if smaller else worst.value / figure.value
        yield advise(
            "measured.below_baseline",
            seen,
            about=worst.on,
            severity="fault" if share < _BASELINE_WORST else "warning",
            share=f"{share:.0%}",
            value=show_measured(worst.value, figure.unit),
            full=show_measured(figure.value, figure.unit),
            tolerance=f"{figure.tolerance:.0%}",
            file=case.baseline.file,
        )


@check(say("node matches its baseline"))
def baseline_traits(case: CheckInput) -> Iterator[Verdict]:
    """Whether this node matches the baseline of its type: GPUs, links, ports, firmware, driver, clocks.

    Only with `--baseline FILE`, which `rigright baseline --save` writes from a good node. Other GPUs, links,
    memory, disks or ports: fault; other firmware, driver or settings: warning; other software: note. What
    this node does not report is skipped.

    Source: the baseline.
    """
    if case.baseline is None:
        return
    right, file = 0, case.baseline.file
    for trait in compared(case.machine, case.baseline):
        name, weight = trait.trait.name, trait.trait.weight
        if trait.differs:
            there = " / ".join(trait.baseline)
            yield advise(
                "measured.unlike_baseline",
                severity=weight,
                trait=name,
                value=trait.here,
                right=there,
                file=file,
            )
        elif trait.here is None:
            why = say("{trait} is in the baseline but not readable on this node", trait=name)
            yield NotSeen(why=why, see="rigright probe")
        else:
            right += 1
    if right:
        yield Fine(says=say("{count} settings match {file}", count=right, file=file))

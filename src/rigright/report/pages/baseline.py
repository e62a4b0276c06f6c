"""The pages of `baseline`: what was taken of a good node, and how another differs from it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from rigright.base import telling
from rigright.base.page import Commands, Line, Page, Points, Shown, Table, Tone, number, prose, records, table
from rigright.base.record import Inner, dataclass, derived
from rigright.base.units import show_measured
from rigright.base.words import say, with_commas, worded
from rigright.doctor.baseline import Baseline, TraitCheck, compared
from rigright.doctor.examine import EXIT_FAULT, RANKS, Examined
from rigright.doctor.record import Finding, NotSeen
from rigright.machine.record import Machine
from rigright.machine.traits import TRAITS
from rigright.report.findings import SEVERITY_TONES
from rigright.report.named import machine_name


def page(machine: Machine, baseline: Baseline) -> Page:
    """The page for people."""
    names = {trait.key: trait.name for trait in TRAITS}
    title = say(
        "{file}: {traits} settings and {figures} benchmark results",
        file=baseline.file, traits=len(baseline.expect), figures=len(baseline.bench),
    )  # fmt: skip
    settings = ((names[key], _values(values)) for key, values in baseline.expect)
    benchmarks = records(
        baseline.bench,
        (
            (prose(say("figure")), lambda figure: f"{figure.part}, {figure.what}"),
            (number(say("at least")), lambda figure: show_measured(figure.value, figure.unit)),
        ),
        title=say("benchmarks"),
    )
    return Page.of(
        Line.good(title),
        Line(text=machine_name(machine)),
        table((say("setting"), prose(say("value"))), settings),
        benchmarks if baseline.bench else None,
        Commands.next(_next(baseline)),
    )


def _next(baseline: Baseline) -> Iterator[str]:
    """To fill what it lacks, and where it is used."""
    file = shlex.quote(baseline.file)
    if not baseline.bench:
        yield f"rigright bench --save bench.json && rigright baseline --save {file} --bench bench.json"
    yield f"rigright baseline --check {file}"
    yield f"rigright doctor --baseline {file}"
    yield f"rigright fleet doctor --hosts nodes.txt --baseline {file}"


def check_page(result: Examined, baseline: Baseline) -> Page:
    """What differs, in one table; then the benchmarks; then what this node does not show."""
    rows = compared(result.case.machine, baseline)
    odd = sorted((row for row in rows if row.differs), key=lambda row: RANKS.index(row.trait.weight))
    blind = [row.trait.name for row in rows if row.here is None]
    slow = [finding for check, finding in result.findings if check == "baseline_bench"]
    seen, unmeasured = len(rows) - len(blind), result.count(NotSeen) - len(blind)
    fields: dict[str, object] = {"seen": seen, "file": baseline.file}
    sentence = say("all {seen} settings match {file}", **fields)
    if odd:
        sentence = say("{odd} of {seen} settings differ from {file}", odd=len(odd), **fields)
    tone: Tone = "bad" if result.exit_code == EXIT_FAULT else "warn" if odd or slow or not seen else "good"
    fields |= {"count": unmeasured or None, "all": len(baseline.bench)}
    given = say("{count} of {all} benchmarks not measured here: `rigright bench`", **fields)
    return Page.of(
        Line(text=sentence, tone=tone),
        Line(text=machine_name(result.case.machine)),
        _differences(odd) if odd else None,
        below_baseline(slow),
        Line.dim(say("not readable here: {traits}", traits=with_commas(blind))),
        Line.dim(given),
    )


def _values(values: Iterable[str]) -> Shown:
    """What a setting may be."""
    return with_commas(map(worded("switch"), values)) or ""


def _differences(odd: Iterable[TraitCheck]) -> Table:
    return records(
        odd,
        (
            (say("setting"), lambda row: row.trait.name),
            (prose(say("here")), lambda row: worded("switch")(row.here or "")),
            (prose(say("baseline")), lambda row: _values(row.baseline)),
        ),
        tone=lambda row: SEVERITY_TONES[row.trait.weight],
    )


def below_baseline(findings: Iterable[Finding]) -> Points:
    """Benchmarks that do not reach it, with what was measured."""
    items = (say("{title} ({value})", title=item.title, value=item.evidence[0].shows) for item in findings)
    return Points.of(items, title=say("below the baseline"), tone="bad")


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineView:
    """A node beside its baseline."""

    result: Inner[Examined]
    baseline: Inner[Baseline]

    @derived
    def file(self) -> str:
        """The baseline."""
        return self.baseline.file

    @derived
    def exit_code(self) -> int:
        """By the worst finding."""
        return self.result.exit_code

    @derived
    def differs(self) -> tuple[TraitCheck, ...]:
        """Traits that are not as they should be."""
        return tuple(trait for trait in compared(self.result.case.machine, self.baseline) if trait.differs)

    @derived
    def below(self) -> tuple[Finding, ...]:
        """Benchmarks that do not reach it."""
        return tuple(finding for check, finding in self.result.findings if check == "baseline_bench")


plain = telling.RecordPrinter(Baseline)
check_plain = telling.RecordPrinter(BaselineView)

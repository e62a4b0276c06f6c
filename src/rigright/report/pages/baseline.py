"""The pages of `baseline`: what was taken of a good node, and how another differs from it."""

from __future__ import annotations

import shlex

from rigright.base import telling
from rigright.base.page import Column, Commands, Line, Page, Part, Points, Tone, number, prose, table
from rigright.base.record import Inner, dataclass, derived
from rigright.base.units import show_measured
from rigright.base.words import say, with_commas
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
    file = shlex.quote(baseline.file)
    title = say(
        "{file}: {traits} settings and {figures} benchmark results",
        file=baseline.file, traits=len(baseline.expect), figures=len(baseline.bench),
    )  # fmt: skip
    parts: list[Part] = [
        Line(text=machine_name(machine)),
        table(
            (say("setting"), prose(say("value"))),
            ((names[key], " / ".join(values)) for key, values in baseline.expect),
        ),
    ]
    if baseline.bench:
        parts.append(
            table(
                (prose(say("figure")), number(say("at least"))),
                (
                    (f"{figure.part}, {figure.what}", show_measured(figure.value, figure.unit))
                    for figure in baseline.bench
                ),
                title=say("benchmarks"),
            )
        )
    commands = [f"rigright baseline --check {file}", f"rigright doctor --baseline {file}"]
    if not baseline.bench:
        commands.insert(
            0, f"rigright bench --save bench.json && rigright baseline --save {file} --bench bench.json"
        )
    parts.append(Commands.next((*commands, f"rigright fleet doctor --hosts nodes.txt --baseline {file}")))
    return Page.of(title, parts, tone="good")


def check_page(result: Examined, baseline: Baseline) -> Page:
    """What differs, in one table; then the benchmarks; then what this node does not show."""
    rows = compared(result.case.machine, baseline)
    odd = sorted(
        (trait for trait in rows if trait.differs), key=lambda trait: RANKS.index(trait.trait.weight)
    )
    blind = [trait.trait.name for trait in rows if trait.here is None]
    slow = [finding for check, finding in result.findings if check == "baseline_bench"]
    seen = len(rows) - len(blind)
    if odd:
        sentence = say(
            "{odd} of {seen} settings differ from {file}", odd=len(odd), seen=seen, file=baseline.file
        )
    else:
        sentence = say("all {seen} settings match {file}", seen=seen, file=baseline.file)
    tone: Tone = "bad" if result.exit_code == EXIT_FAULT else "warn" if odd or slow or not seen else "good"
    parts: list[Part] = [Line(text=machine_name(result.case.machine))]
    if odd:
        heads = (say("setting"), say("here"), say("baseline"))
        parts.append(
            table(
                (Column(head=head, flexible=head != heads[0]) for head in heads),
                ((trait.trait.name, trait.here or "", " / ".join(trait.baseline)) for trait in odd),
                tones=tuple(SEVERITY_TONES[trait.trait.weight] for trait in odd),
            )
        )
    if slow:
        items = tuple(
            say("{title} ({value})", title=finding.title, value=finding.evidence[0].shows) for finding in slow
        )
        parts.append(Points.of(items, title=say("below the baseline"), tone="bad"))
    if blind:
        parts.append(Line.dim(say("not readable here: {traits}", traits=with_commas(blind))))
    unmeasured = result.count(NotSeen) - len(blind)
    if unmeasured:
        given = say(
            "{count} of {all} benchmarks not measured here: `rigright bench`",
            count=unmeasured,
            all=len(baseline.bench),
        )
        parts.append(Line.dim(given))
    return Page.of(sentence, parts, tone=tone)


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

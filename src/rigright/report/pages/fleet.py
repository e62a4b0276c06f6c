"""The page of `fleet`: the verdict, nodes worst first, what they share, the odd ones out, the slow ones."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from rigright.base import telling
from rigright.base.page import (
    Commands,
    Line,
    Page,
    Points,
    Shown,
    Table,
    Tone,
    grouped,
    known,
    number,
    prose,
    records,
)
from rigright.base.units import show_measured
from rigright.base.words import Sentence, say, with_commas
from rigright.doctor.examine import EXIT_FAULT
from rigright.report.findings import (
    INCOMPLETE,
    STATES,
    TONES,
    WELL,
    Row,
    Shared,
    counts,
    first_rows,
    rows_of,
    shared_findings,
    silences,
    state_of,
    tone_of,
)
from rigright.verbs.fleet.hosts import file_of, folded
from rigright.verbs.fleet.nodes import Differs, Fleet, NodeHealth, NodeReport, Straggler

_MOST_ROWS = 20
_FILES = "files"  # the way of answers that are kept already
_MOST_NAMES = 60  # characters of folded names in a cell


def page(result: Fleet, *, everything: bool = False) -> Page:
    """The page for people; `everything`: no table is cut short."""
    most, fields = None if everything else _MOST_ROWS, {"count": len(result.nodes), "way": result.over}
    return Page.of(
        _verdict(result),
        Line.dim(say("{count} nodes over {way}, {seconds} s", seconds=f"{result.seconds:.1f}", **fields)),
        (first_rows(table, most) for table in _tables(result) if table.rows),
        _silent(result),
        _unmeasured(result),
        Commands.next(_next(result, everything=everything)),
    )


def _tables(result: Fleet) -> Iterator[Table]:
    """Nodes, what they share, the odd ones out, the slow ones, and how far figures lie apart."""
    yield _nodes(rows_of(result), result)
    yield _findings(shared_findings(result))
    yield records(
        [(differs, *other) for differs in result.differs for other in differs.others],
        (
            (say("setting"), lambda other: other[0].trait),
            (prose(say("majority")), lambda other: _usual(other[0])),
            (prose(say("outlier")), lambda other: other[1]),
            (prose(say("nodes")), lambda other: _names(other[2])),
        ),
        title=say("configuration drift among nodes with the same GPUs"),
    )
    yield _slow(result.stragglers)
    yield records(
        result.spreads,
        (
            (prose(say("measured")), lambda spread: f"{spread.part}: {spread.what}"),
            (number(say("lowest node")), lambda spread: show_measured(spread.low, spread.unit)),
            (number(say("median")), lambda spread: show_measured(spread.median, spread.unit)),
            (number(say("highest node")), lambda spread: show_measured(spread.high, spread.unit)),
            (number(say("nodes")), lambda spread: str(spread.n_nodes)),
        ),
        title=say("spread over nodes with the same GPUs (slowest GPU per node)"),
    )


def _nodes(rows: Sequence[Row], result: Fleet) -> Table:
    """A row for nodes alike; the doctor's worst finding says more than the driver does."""
    of_doctor, single = result.what == "doctor", all(len(row.nodes) == 1 for row in rows)

    def state(row: Row) -> Shown:
        return STATES[row.state] if of_doctor or row.state != WELL else say("replied")

    return records(
        rows,
        (
            (prose(say("nodes")), lambda row: _names(row.nodes)),
            (number(say("count")), None if single else lambda row: str(len(row.nodes))),
            (say("state"), state),
            (prose(say("cards")), lambda row: row.cards),
            (prose(say("worst finding")), _worst if of_doctor else None),
            (prose(say("driver")), None if of_doctor else lambda row: row.driver),
        ),
        tone=(lambda row: TONES[row.state]) if of_doctor else None,
    )


def _unmeasured(result: Fleet) -> Points:
    """Parts that were left out, each with its reason and the nodes it holds for."""
    gaps = grouped(((gap.part, gap.why), node.node) for node in result.nodes for gap in node.skipped)
    items = (
        say("{part}: {why} ({nodes})", part=part, why=why, nodes=_names(nodes))
        for (part, why), nodes in gaps.items()
    )
    return Points.of(items, title=say("not measured"), tone="dim")


def _verdict(result: Fleet) -> Line:
    tone, many = tone_of(result.exit_code), len(result.nodes)
    sentence: Sentence | None = say("{told} of {count} answered", told=len(result.told), count=many)
    if result.what == "doctor":
        sentence = with_commas(counts(result, _names))
        if tone != "bad":
            sentence = say("no faults on {count} nodes: {told}", count=many, told=sentence or "")
    stated = with_commas(
        (
            sentence,
            say("{traits} settings differ", traits=len(result.differs) or None),
            say("{count} stragglers", count=len({slow.node for slow in result.stragglers}) or None),
            say("interrupted") if result.broken_off else None,
        )
    )
    return Line(text=stated or "", tone=tone)


def _names(nodes: Iterable[str]) -> Shown:
    """Nodes in few words; where these are many all the same, how many there are."""
    names = tuple(nodes)
    text = folded(names)
    if len(text) <= _MOST_NAMES:
        return text
    cut = text[:_MOST_NAMES].rpartition(",")[0] or text[:_MOST_NAMES]
    cut += "]" if cut.count("[") > cut.count("]") else ""
    return say("{names} ... ({count} nodes)", names=cut, count=len(names))


def _worst(row: Row) -> Shown:
    """The worst finding, and how many more; what an answer lacks; a trouble is stated whole below."""
    more = len(row.findings) - 1
    if row.state == INCOMPLETE and row.lacks is not None:
        return row.lacks
    if not row.findings:
        return ""
    title = row.findings[0].title
    return say("{told} (and {more} more)", told=title, more=more) if more else title


def _findings(common: Sequence[Shared]) -> Table:
    alike = all(shared.things == len(shared.nodes) for shared in common)
    return records(
        common,
        (
            (say("severity"), lambda shared: STATES[shared.finding.severity]),
            (prose(say("finding")), lambda shared: shared.finding.title),
            (prose(say("nodes")), lambda shared: _names(shared.nodes)),
            (number(say("count")), lambda shared: str(len(shared.nodes))),
            (number(say("devices")), None if alike else lambda shared: str(shared.things)),
        ),
        title=say("findings"),
    )


def _usual(differs: Differs) -> Shown:
    if differs.usual is None:
        return say("no majority")
    return say("{value} ({count} nodes)", value=differs.usual, count=differs.n_usual)


def _slow(stragglers: Sequence[Straggler]) -> Table:
    explained = any(straggler.why is not None for straggler in stragglers)

    def cause(straggler: Straggler) -> Shown | None:
        return known(straggler.why, lambda why: why.finding.title)

    return records(
        stragglers,
        (
            (say("node"), lambda node: node.node),
            (say("where"), lambda node: node.on),
            (prose(say("measured")), lambda node: f"{node.spread.part}: {node.spread.what}"),
            (number(say("value")), lambda node: show_measured(node.value, node.spread.unit)),
            (number(say("median")), lambda node: show_measured(node.spread.median, node.spread.unit)),
            (number(say("below median")), lambda node: f"{node.behind_share:.0%}"),
            (prose(say("cause")), cause if explained else None),
        ),
        title=say("stragglers"),
    )


def _silent(result: Fleet) -> Points:
    items = (say("{nodes}: {why}", nodes=_names(nodes), why=why) for why, nodes in silences(result.nodes))
    return Points.of(items, title=say("unreachable nodes"), tone="warn")


def _next(result: Fleet, *, everything: bool) -> Iterator[str]:
    if result.saved is None and result.over != _FILES:
        yield f"{result.asked} --save answers"
    elif result.saved is not None:
        yield f"rigright fleet doctor --from {shlex.quote(result.saved)}"
    if not everything and len(rows_of(result)) > _MOST_ROWS:
        yield f"{result.asked} --all"
    bad = max(result.told, key=lambda node: node.exit_code, default=None)
    if bad is not None and bad.exit_code and result.saved is not None:
        yield f"rigright doctor --from {shlex.quote(f'{result.saved}/{file_of(bad.node)}')}"


def _state(node: NodeReport) -> str:
    state = state_of(node)
    return "answered" if state == WELL and node.examined is None else state


plain = telling.RecordPrinter(Fleet, telling.RecordPrinter(NodeReport, state=_state), endless="inf")


def health_page(health: NodeHealth) -> Page:
    """Of `fleet health`: one line for a log, the findings below it."""
    findings = [finding for _, finding in health.findings if finding.severity != "note"]
    tone: Tone = "bad" if health.exit_code == EXIT_FAULT else "warn" if findings else "good"
    titles = [
        say("{about}: {title}", about=finding.about, title=finding.title) if finding.about else finding.title
        for finding in findings
    ]
    verdict = titles[0] if titles else say("no faults or warnings")
    if len(titles) > 1:
        verdict = say("{told} (and {more} more)", told=verdict, more=len(titles) - 1)
    title = say("{about}: {title}", about=health.node, title=verdict)
    return Page.of(title, _drained(health, tone), Points.of(titles, tone=tone), tone=tone)


def _drained(health: NodeHealth, tone: Tone) -> Line | None:
    """Whether Slurm gives it work."""
    if health.done == "drained":
        return Line.bad(say("drained in Slurm: {reason}", reason=health.reason))
    if health.done == "drained before":
        return Line.warn(say("already drained in Slurm; reason unchanged"))
    if health.reason is None:
        return None
    schedulable = say("still schedulable; --drain would drain it: {reason}", reason=health.reason)
    return Line(text=schedulable, tone=tone)


health_plain = telling.RecordPrinter(NodeHealth)

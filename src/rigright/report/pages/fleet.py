"""The page of `fleet`: the verdict, nodes worst first, what they share, the odd ones out, the slow ones."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace

from rigright.base import telling
from rigright.base.page import Column, Commands, Line, Page, Part, Points, Shown, Table, number, prose, table
from rigright.base.units import show_measured
from rigright.base.words import Sentence, say, with_commas
from rigright.report.fleet_rows import (
    INCOMPLETE,
    TONES,
    WELL,
    Row,
    counts,
    first_rows,
    rows_of,
    shared_findings,
    silences,
    state_of,
)
from rigright.verbs.fleet.hosts import file_of, folded
from rigright.verbs.fleet.nodes import Differs, Fleet, NodeReport, Straggler

MOST_ROWS = 20
_FILES = "files"  # the way of answers that are kept already
MOST_NAMES = 60  # characters of folded names in a cell
_STATES: dict[str, Sentence] = {
    "silent": say("unreachable"),
    "fault": say("fault"),
    "warning": say("warning"),
    "incomplete": say("incomplete"),
    "note": say("note"),
    "well": say("ok"),
}


def page(result: Fleet, *, everything: bool = False) -> Page:
    """The page for people; `everything`: no table is cut short."""
    most = None if everything else MOST_ROWS
    verdict = _verdict(result)
    asked = say(
        "{count} nodes over {way}, {seconds} s",
        count=len(result.nodes), way=result.over, seconds=f"{result.seconds:.1f}",
    )  # fmt: skip
    parts: list[Part] = [Line.dim(asked)]
    rows = rows_of(result)
    cells = [_node_cells(row, result) for row in rows]
    tones = [TONES[row.state] for row in rows] if result.what == "doctor" else []
    shown_rows = first_rows(cells, most)
    tones = [*tones[: most or None], "dim"] if len(shown_rows) < len(cells) and tones else tones
    columns = (
        *(prose(say("nodes")), number(say("count"))),
        *(say("state"), prose(say("cards"))),
        prose(say("worst finding") if _of_doctor(result) else say("driver")),
    )
    nodes = table(columns, shown_rows, tones=tones[: len(shown_rows)])
    tables = (
        nodes if any(len(row.nodes) > 1 for row in rows) else _without(nodes, 1),
        _findings(result, most),
        _odd(result, most),
    )
    parts += [part for part in (*tables, _slow(result, most), _spread(result, most)) if part is not None]
    # parts that were left out, each with its reason and the nodes it holds for
    unmeasured: list[Part] = []
    fields: dict[tuple[str, str], tuple[Shown, list[str]]] = {}
    for node in result.nodes:
        for skipped in node.skipped:
            fields.setdefault((skipped.part, str(skipped.why)), (skipped.why, []))[1].append(node.node)
    items = tuple(
        say("{part}: {why} ({nodes})", part=part, why=why, nodes=_names(nodes))
        for (part, _), (why, nodes) in fields.items()
    )
    if items:
        unmeasured.append(Points.of(items, title=say("not measured"), tone="dim"))
    parts += [*_silent(result), *unmeasured]
    commands = tuple(_next(result, everything=everything))
    parts += [Commands.next(commands)] if commands else []
    return Page.of(verdict, parts)


def _verdict(result: Fleet) -> Line:
    sentence = with_commas(counts(result, _names)) if result.what == "doctor" else _answered(result)
    tone = {0: "good", 10: "warn"}.get(result.exit_code, "bad")
    if result.what == "doctor" and tone != "bad":
        sentence = say("no faults on {count} nodes: {told}", count=len(result.nodes), told=sentence or "")
    rest = [say("{traits} settings differ", traits=len(result.differs))] if result.differs else []
    if result.stragglers:
        rest.append(say("{count} stragglers", count=len({straggler.node for straggler in result.stragglers})))
    if result.broken_off:
        rest.append(say("interrupted"))
    stated = with_commas([sentence, *rest])
    return Line(text=stated or "", tone=tone)  # type: ignore[arg-type]


def _answered(result: Fleet) -> Sentence:
    return say("{told} of {count} answered", told=len(result.told), count=len(result.nodes))


def _names(nodes: Iterable[str]) -> Shown:
    """Nodes in few words; where these are many all the same, how many there are."""
    names = tuple(nodes)
    text = folded(names)
    if len(text) <= MOST_NAMES:
        return text
    cut = text[:MOST_NAMES].rpartition(",")[0] or text[:MOST_NAMES]
    cut += "]" if cut.count("[") > cut.count("]") else ""
    return say("{names} ... ({count} nodes)", names=cut, count=len(names))


def _without(table: Table, place: int) -> Table:
    """The table less a column that tells nothing."""
    kept = tuple(column for at, column in enumerate(table.columns) if at != place)
    rows = tuple(tuple(cell for at, cell in enumerate(row) if at != place) for row in table.rows)
    return replace(table, columns=kept, rows=rows)


def _of_doctor(result: Fleet) -> bool:
    """Whether the doctor was: its worst finding then says more than the driver does."""
    return result.what == "doctor"


def _node_cells(row: Row, result: Fleet) -> tuple[Shown, ...]:
    more = len(row.findings) - 1
    sentence: Shown = row.findings[0].title if row.findings else ""  # a trouble is stated whole below
    if row.state == INCOMPLETE and row.lacks is not None:
        sentence = row.lacks
    elif more > 0:
        sentence = say("{told} (and {more} more)", told=sentence, more=more)
    state: Shown = _STATES[row.state] if result.what == "doctor" or row.state != WELL else say("answered")
    return (
        *(_names(row.nodes), str(len(row.nodes)), state, row.cards),
        sentence if _of_doctor(result) else row.driver,
    )


def _findings(result: Fleet, most: int | None) -> Table | None:
    common = shared_findings(result)
    if not common:
        return None
    rows: list[tuple[Shown, ...]] = [
        (
            _STATES[shared.finding.severity],
            shared.finding.title,
            _names(shared.nodes),
            str(len(shared.nodes)),
            str(shared.things),
        )
        for shared in common
    ]
    columns = (
        say("severity"),
        prose(say("finding")),
        prose(say("nodes")),
        number(say("count")),
        number(say("devices")),
    )
    shown = table(columns, first_rows(rows, most), title=say("findings"))
    return shown if any(shared.things != len(shared.nodes) for shared in common) else _without(shown, 4)


def _odd(result: Fleet, most: int | None) -> Table | None:
    if not result.differs:
        return None
    rows: list[tuple[Shown, ...]] = [
        (differs.trait, _usual(differs), value, _names(nodes))
        for differs in result.differs
        for value, nodes in differs.others
    ]
    columns = (say("setting"), prose(say("majority")), prose(say("outlier")), prose(say("nodes")))
    return table(
        columns, first_rows(rows, most), title=say("configuration drift among nodes with the same GPUs")
    )


def _usual(differs: Differs) -> Shown:
    if differs.usual is None:
        return say("no majority")
    return say("{value} ({count} nodes)", value=differs.usual, count=differs.n_usual)


def _slow(result: Fleet, most: int | None) -> Table | None:
    if not result.stragglers:
        return None
    rows: list[tuple[Shown, ...]] = [_slow_cells(straggler) for straggler in result.stragglers]
    heads = (say("node"), say("on"), say("measured"), say("value"), say("median"), say("below median"))
    columns = tuple(
        Column(head=head, right=place > 2, flexible=place == 2) for place, head in enumerate(heads)
    )
    if any(straggler.why is not None for straggler in result.stragglers):
        columns += (prose(say("cause")),)
        rows = [
            (*cells, "" if straggler.why is None else straggler.why.finding.title)
            for cells, straggler in zip(rows, result.stragglers, strict=True)
        ]
    return table(columns, first_rows(rows, most), title=say("stragglers"))


def _slow_cells(straggler: Straggler) -> tuple[Shown, ...]:
    spread = straggler.spread
    return (
        straggler.node,
        straggler.on,
        f"{spread.part}: {spread.what}",
        show_measured(straggler.value, spread.unit),
        show_measured(spread.median, spread.unit),
        f"{straggler.behind_share:.0%}",
    )


def _spread(result: Fleet, most: int | None) -> Table | None:
    if not result.spreads:
        return None
    rows: list[tuple[Shown, ...]] = [
        (
            f"{node_spread.part}: {node_spread.what}",
            show_measured(node_spread.low, node_spread.unit),
            show_measured(node_spread.median, node_spread.unit),
            show_measured(node_spread.high, node_spread.unit),
            str(node_spread.n_nodes),
        )
        for node_spread in result.spreads
    ]
    heads = (say("measured"), say("lowest node"), say("median"), say("highest node"), say("nodes"))
    columns = tuple(
        Column(head=head, right=place > 0, flexible=not place) for place, head in enumerate(heads)
    )
    title = say("spread over nodes with the same GPUs (slowest GPU per node)")
    return table(columns, first_rows(rows, most), title=title)


def _silent(result: Fleet) -> Iterator[Part]:
    items = tuple(
        say("{nodes}: {why}", nodes=_names(nodes), why=why) for why, nodes in silences(result.nodes)
    )
    if items:
        yield Points.of(items, title=say("unreachable nodes"), tone="warn")


def _next(result: Fleet, *, everything: bool) -> Iterator[str]:
    if result.saved is None and result.over != _FILES:
        yield f"{result.asked} --save answers"
    elif result.saved is not None:
        yield f"rigright fleet doctor --from {shlex.quote(result.saved)}"
    if not everything and len(rows_of(result)) > MOST_ROWS:
        yield f"{result.asked} --all"
    bad = max(result.told, key=lambda node: node.exit_code, default=None)
    if bad is not None and bad.exit_code and result.saved is not None:
        yield f"rigright doctor --from {shlex.quote(f'{result.saved}/{file_of(bad.node)}')}"


def _state(node: NodeReport) -> str:
    state = state_of(node)
    return "answered" if state == WELL and node.examined is None else state


plain = telling.RecordPrinter(Fleet, telling.RecordPrinter(NodeReport, state=_state), endless="inf")

"""The page of an acceptance: who fails and why, what was left open, what lies between nodes, what to do."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from rigright.base import telling
from rigright.base.page import Column, Commands, Page, Part, Points, Shown, Table, grouped, prose, table
from rigright.base.units import show_measured
from rigright.base.words import Sentence, say, with_commas
from rigright.machine.bench.record import Result
from rigright.machine.record import Machine
from rigright.report.fleet_rows import cards_of, first_rows, tone_of
from rigright.verbs.fleet.accept.accepted import DRAIN, Accepted, Between, NodeJudged, Suspect
from rigright.verbs.fleet.accept.meetings import split
from rigright.verbs.fleet.hosts import folded

_MOST_NAMES, _MOST_ROWS = 70, 30
_EVIDENCE: dict[str, Sentence] = {
    "values": say("every value was compared"),
    "doctor": say("checks of `rigright doctor`"),
    "baseline": say("compared with the baseline of this node type"),
    "reference": say("twice below the reference for this hardware"),
    "cards": say("twice slower than the other GPUs of this node"),
    "peers": say("twice slower than identical nodes"),
    "traits": say("differs from identical nodes"),
    "network": say("measured with several partners"),
}


def page(result: Accepted, *, everything: bool = False) -> Page:
    """The page for people; its title is the answer."""
    most = None if everything else _MOST_ROWS
    return Page.of(
        _answer(result),
        _failing(result, most),
        _open(result, most),
        Points.of(
            map(_path, result.between),
            title=say("slow together, although each node passes"),
            tone="warn",
            most=most,
        ),
        Points.of(
            map(_everywhere, result.everywhere),
            title=say("most nodes miss this: not the fault of a single node"),
            tone="warn",
        ),
        Commands.next(_next(result)),
        tone=tone_of(result.exit_code),
    )


def _answer(result: Accepted) -> Sentence:
    failing, left, good = (result.named(item) for item in ("fail", "open", "pass"))
    count = len(result.nodes)
    if result.broken_off:
        head = say("interrupted: {fail} of {count} nodes failed so far", fail=len(failing), count=count)
    elif failing:
        head = say(
            "{fail} of {count} nodes failed: {names}", fail=len(failing), count=count, names=_names(failing)
        )
    elif left:
        head = say("0 of {count} nodes failed", count=count)
    else:
        return say("{good} of {count} nodes passed", good=count, count=count)
    sentences = [head]
    if good and not result.broken_off:
        sentences.append(say("{good} passed", good=len(good)))
    if left:
        sentences.append(say("{count} not judged", count=len(left)))
    return with_commas(sentences) or head


def _names(nodes: tuple[NodeJudged, ...]) -> str:
    text = folded(verdict.node for verdict in nodes)
    return text if len(text) <= _MOST_NAMES else text[:_MOST_NAMES].rpartition(",")[0] + ", ..."


def _failing(result: Accepted, most: int | None) -> Table | None:
    rows = [
        (node.node if place == 0 else "", reason.says, reason.seen or "")
        for node in result.named("fail")
        for place, reason in enumerate(node.reasons)
    ]
    columns = (say("node"), prose(say("reason")), prose(say("measured")))
    return first_rows(table(columns, rows), most) if rows else None


def _open(result: Accepted, most: int | None) -> Points:
    """Nodes that were not judged, those with the same reasons in one line."""
    items: list[Shown] = []
    for nodes in grouped((str(node.not_judged[0]), node) for node in result.named("open")).values():
        left, more = nodes[0].not_judged, len(nodes[0].not_judged) - 1
        why = left[0] if not more else say("{why} (and {more} more)", why=left[0], more=more)
        items.append(say("{nodes}: {why}", nodes=folded(node.node for node in nodes), why=why))
    return Points.of(items[:most], title=say("not judged"), tone="warn")


def _path(between: Between) -> Sentence:
    reached = say("no result") if between.value is None else show_measured(between.value, "bytes_per_s")
    full = show_measured(between.full, "bytes_per_s")
    if len(between.nodes) == 2:
        a, b = between.nodes
        return say("{a} with {b}: {reached}; other pairs {full}", a=a, b=b, reached=reached, full=full)
    first, second = split(between.nodes)
    return say(
        "{nodes}: {reached}, pairs {full}; look between {first} and {second}",
        nodes=folded(between.nodes),
        reached=reached,
        full=full,
        first=folded(first),
        second=folded(second),
    )


def _everywhere(suspect: Suspect) -> Sentence:
    return say(
        "{part}, {what}: about {value}, expected {full}",
        part=suspect.result.part,
        what=suspect.result.what,
        value=show_measured(suspect.result.value, suspect.result.unit),
        full=show_measured(suspect.full, suspect.result.unit),
    )


def _next(result: Accepted) -> Iterator[str]:
    """Take bad nodes out; go on, where something is open; what to hand over."""
    failing = result.named("fail")
    if failing and result.over == "Slurm":
        names = shlex.quote(f"NodeName={folded(verdict.node for verdict in failing)}")
        yield f"scontrol update {names} State=DRAIN Reason='rigright: failed acceptance'"
    elif failing:
        yield f"cat {shlex.quote(f'{result.folder}/{DRAIN}')}"
    for file in result.reports[:1]:
        yield f"less {shlex.quote(file)}"
    if result.broken_off or result.named("open"):
        yield result.asked


def _cards(verdict: NodeJudged) -> Sentence | str:
    return cards_of(None if verdict.report is None else verdict.report.machine)


def node_page(verdict: NodeJudged, result: Accepted) -> Page:
    """What is handed to a vendor of one node that failed: which parts, what was seen, how to see it again."""
    reasons: list[tuple[Shown, ...]] = [
        (reason.about or verdict.node, reason.says, reason.seen or "", _EVIDENCE[reason.source])
        for reason in verdict.reasons
    ]
    heads = (say("where"), say("problem"), say("measured"), say("evidence"))
    parts: list[Part] = [_parts_table(heads, reasons, title=say("why it failed"))]
    results: tuple[Result, ...] = ()
    if verdict.report is not None:
        bad = {reason.about for reason in verdict.reasons}
        results = tuple(figure for figure in verdict.report.results if figure.on in bad)
        parts += _what_it_is(verdict.report.machine)
    if results:
        figures: list[tuple[Shown, ...]] = [
            (figure.on, f"{figure.part}: {figure.what}", show_measured(figure.value, figure.unit),
             ", ".join(f"{name} {value}" for name, value in figure.settings))
            for figure in results
        ]  # fmt: skip
        heads = (say("where"), say("measured"), say("value"), say("settings"))
        parts.append(_parts_table(heads, figures, title=say("all results of these parts")))
    names = sorted({figure.part for figure in results})
    commands = ("rigright doctor", *(f"rigright bench {name}" for name in names))
    parts.append(Commands(items=commands, title=say("reproduce on that node")))
    title = say(
        "{node} failed its acceptance; {good} of {count} nodes passed",
        node=verdict.node,
        good=len(result.named("pass")),
        count=len(result.nodes),
    )
    return Page.of(title, parts, tone="bad")


def _what_it_is(machine: Machine | None) -> list[Part]:
    """The node and its cards, by the numbers that a vendor asks for."""
    if machine is None:
        return []
    facts: tuple[tuple[Sentence, str | None], ...] = (
        (say("system model"), machine.system.product),
        (say("BIOS"), machine.system.bios),
        (say("CPU"), machine.cpu.name),
        (say("driver"), machine.software.driver),
        (say("kernel"), machine.system.kernel),
    )
    cards: list[tuple[Shown, ...]] = [
        (f"gpu {card.index}", card.name or "?", card.serial or "", card.uuid or "", card.vbios or "")
        for card in machine.devices
    ]
    return [
        _parts_table((say("node"), ""), [(name, value) for name, value in facts if value]),
        _parts_table((say("card"), say("name"), say("serial number"), "UUID", "VBIOS"), cards),
    ]


def _parts_table(
    heads: Sequence[Shown], rows: Sequence[tuple[Shown, ...]], *, title: Sentence | None = None
) -> Table:
    columns = tuple(Column(head=head, flexible=place > 0) for place, head in enumerate(heads))
    return table(columns, rows, title=title)


plain = telling.RecordPrinter(Accepted, telling.RecordPrinter(NodeJudged, cards=_cards))

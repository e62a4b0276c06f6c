"""The page of an acceptance: who fails and why, what was left open, what lies between nodes, what to do."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base import telling
from rigright.base.page import (
    Commands,
    Heading,
    Page,
    Part,
    Points,
    Shown,
    Table,
    grouped,
    prose,
    records,
    table,
)
from rigright.base.units import show_measured
from rigright.base.words import Sentence, say, with_commas
from rigright.machine.record import Machine
from rigright.report.findings import cards_of, first_rows, tone_of
from rigright.verbs.fleet.accept.accepted import DRAIN, Accepted, Between, NodeJudged, Suspect, split
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
    between, everywhere = (
        say("slow together, although each node passes"),
        say("most nodes miss this: not the fault of a single node"),
    )
    return Page.of(
        _answer(result),
        _failing(result, most),
        _open(result, most),
        Points.of(map(_path, result.between), title=between, tone="warn", most=most),
        Points.of(map(_everywhere, result.everywhere), title=everywhere, tone="warn"),
        Commands.next(_next(result)),
        tone=tone_of(result.exit_code),
    )


def _answer(result: Accepted) -> Sentence:
    failing, left, good = (result.named(item) for item in ("fail", "open", "pass"))
    fields = {"fail": len(failing), "count": len(result.nodes)}
    if not (failing or left or result.broken_off):
        return say("{good} of {count} nodes passed", good=len(result.nodes), count=len(result.nodes))
    head = say("0 of {count} nodes failed", **fields)
    if result.broken_off:
        head = say("interrupted: {fail} of {count} nodes failed so far", **fields)
    elif failing:
        head = say("{fail} of {count} nodes failed: {names}", names=_names(failing), **fields)
    passed = say("{good} passed", good=len(good) if good and not result.broken_off else None)
    return with_commas((head, passed, say("{count} not judged", count=len(left) or None))) or head


def _names(nodes: tuple[NodeJudged, ...]) -> str:
    text = folded(verdict.node for verdict in nodes)
    return text if len(text) <= _MOST_NAMES else text[:_MOST_NAMES].rpartition(",")[0] + ", ..."


def _failing(result: Accepted, most: int | None) -> Table:
    rows = [
        (node.node if place == 0 else "", reason.says, reason.seen)
        for node in result.named("fail")
        for place, reason in enumerate(node.reasons)
    ]
    return first_rows(table((say("node"), prose(say("reason")), prose(say("measured"))), rows), most)


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
    fields = {"reached": reached, "full": show_measured(between.full, "bytes_per_s")}
    if len(between.nodes) == 2:
        a, b = between.nodes
        return say("{a} with {b}: {reached}; other pairs {full}", a=a, b=b, **fields)
    first, second = map(folded, split(between.nodes))
    fields |= {"nodes": folded(between.nodes), "first": first, "second": second}
    return say("{nodes}: {reached}, pairs {full}; look between {first} and {second}", **fields)


def _everywhere(suspect: Suspect) -> Sentence:
    result = suspect.result
    value, full = (show_measured(each, result.unit) for each in (result.value, suspect.full))
    fields = {"part": result.part, "what": result.what, "value": value, "full": full}
    return say("{part}, {what}: about {value}, expected {full}", **fields)


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
    report, bad = verdict.report, {reason.about for reason in verdict.reasons}
    results = () if report is None else tuple(figure for figure in report.results if figure.on in bad)
    reasons = (
        (reason.about or verdict.node, reason.says, reason.seen, _EVIDENCE[reason.source])
        for reason in verdict.reasons
    )
    figures = (
        (figure.on, f"{figure.part}: {figure.what}", show_measured(figure.value, figure.unit),
         ", ".join(f"{name} {value}" for name, value in figure.settings))
        for figure in results
    )  # fmt: skip
    heads: list[Heading] = [say("where"), *map(prose, (say("problem"), say("measured"), say("evidence")))]
    more: list[Heading] = [say("where"), *map(prose, (say("measured"), say("value"), say("settings")))]
    names = sorted({figure.part for figure in results})
    commands = ("rigright doctor", *(f"rigright bench {name}" for name in names))
    fields = {"node": verdict.node, "good": len(result.named("pass")), "count": len(result.nodes)}
    return Page.of(
        say("{node} failed its acceptance; {good} of {count} nodes passed", **fields),
        table(heads, reasons, title=say("why it failed")),
        _what_it_is(None if report is None else report.machine),
        table(more, figures, title=say("all results of these parts")),
        Commands(items=commands, title=say("reproduce on that node")),
        tone="bad",
    )


def _what_it_is(machine: Machine | None) -> Iterator[Part]:
    """The node and its cards, by the numbers that a vendor asks for."""
    if machine is None:
        return
    rows = (
        (say("system model"), machine.system.product),
        (say("BIOS"), machine.system.bios),
        (say("CPU"), machine.cpu.name),
        (say("driver"), machine.software.driver),
        (say("kernel"), machine.system.kernel),
    )
    yield table((say("node"), prose("")), (row for row in rows if row[1]))
    yield records(
        machine.devices,
        (
            (say("card"), lambda card: f"gpu {card.index}"),
            (prose(say("name")), lambda card: card.name or "?"),
            (prose(say("serial number")), lambda card: card.serial),
            (prose("UUID"), lambda card: card.uuid),
            (prose("VBIOS"), lambda card: card.vbios),
        ),
    )


plain = telling.RecordPrinter(Accepted, telling.RecordPrinter(NodeJudged, cards=_cards))

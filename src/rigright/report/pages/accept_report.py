"""What is handed to a vendor of one node: which parts, what was seen and expected, how to see it again."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.base.page import Column, Commands, Page, Part, Shown, Table, table
from rigright.base.units import show_measured
from rigright.base.words import Sentence, say
from rigright.machine.bench.record import Result
from rigright.machine.record import Machine
from rigright.verbs.fleet.accept.accepted import Accepted, NodeJudged

_FOUND: dict[str, Sentence] = {
    "values": say("every value was compared"),
    "doctor": say("checks of `rigright doctor`"),
    "baseline": say("compared with the baseline of this node type"),
    "reference": say("twice below the reference for this hardware"),
    "cards": say("twice slower than the other GPUs of this node"),
    "peers": say("twice slower than identical nodes"),
    "traits": say("differs from identical nodes"),
    "network": say("measured with several partners"),
}


def page(verdict: NodeJudged, result: Accepted) -> Page:
    """One node that failed."""
    reasons: list[tuple[Shown, ...]] = [
        (reason.about or verdict.node, reason.says, reason.seen or "", _FOUND[reason.source])
        for reason in verdict.reasons
    ]
    heads = (say("where"), say("problem"), say("measured"), say("evidence"))
    parts: list[Part] = [_table(heads, reasons, title=say("why it failed"))]
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
        parts.append(_table(heads, figures, title=say("all results of these parts")))
    names = sorted({figure.part for figure in results})
    commands = ("rigright doctor", *(f"rigright bench {name}" for name in names))
    parts.append(Commands(items=commands, title=say("reproduce on that node")))
    title = say(
        "{node} failed its acceptance; {good} of {count} nodes passed",
        node=verdict.node,
        good=len(result.named("pass")),
        count=len(result.nodes),
    )
    return Page(title=title, parts=tuple(parts), tone="bad")


def _what_it_is(machine: Machine | None) -> list[Part]:
    """The node and its cards, by the numbers that a vendor asks for."""
    if machine is None:
        return []
    facts: tuple[tuple[Sentence, str | None], ...] = (
        (say("product"), machine.system.product),
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
        _table((say("node"), ""), [(name, value) for name, value in facts if value]),
        _table((say("card"), say("name"), say("serial number"), "UUID", "VBIOS"), cards),
    ]


def _table(
    heads: Sequence[Shown], rows: Sequence[tuple[Shown, ...]], *, title: Sentence | None = None
) -> Table:
    columns = tuple(Column(head=head, flexible=place > 0) for place, head in enumerate(heads))
    return table(columns, rows, title=title)

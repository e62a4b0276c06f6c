"""A list of parts that was judged, as a page and as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rigright.base import telling
from rigright.base.page import Line, Page, Points, Shown, Tone, prose, records, table
from rigright.base.units import to_gib
from rigright.base.words import Sentence, say, with_commas
from rigright.build.judge import DOUBT, IMPOSSIBLE, NOUNS, OK, Ruling
from rigright.build.machine import Rig
from rigright.verbs.build import CheckedList

_TONES: dict[str, Tone] = {OK: "good", DOUBT: "warn", IMPOSSIBLE: "bad"}


def page(result: CheckedList, *, details: bool = False) -> Page:
    """The page for people."""

    def rulings(verdict: str) -> Iterator[Ruling]:
        return (ruling for ruling in result.rules if ruling.verdict == verdict)

    absent = with_commas(NOUNS[kind] for kind in _missing(result))
    fine = (ruling.reason for ruling in rulings(OK))
    return Page.of(
        _verdict_line(result),
        Points.of((item.sentence for item in rulings(IMPOSSIBLE)), title=say("impossible"), tone="bad"),
        Points.of((item.sentence for item in rulings(DOUBT)), title=say("to check"), tone="warn"),
        Points.of(fine, title=say("ok"), tone="good") if details else None,
        table((say("part"), prose(say("read as"))), _read_rows(result.rig)),
        Line.dim(say("not listed, not checked: {parts}", parts=absent)),
        tone="plain" if absent and result.verdict == OK else _TONES[result.verdict],
    )


def _verdict_line(result: CheckedList) -> Sentence:
    """The answer as a sentence."""
    wrong = [ruling for ruling in result.rules if ruling.verdict == IMPOSSIBLE]
    if wrong:
        return say("cannot be built: {why}", why=wrong[0].reason)
    doubts = sum(ruling.verdict == DOUBT for ruling in result.rules)
    if doubts:
        several = say("can be built; {count} things to check", count=doubts)
        return say("can be built; 1 thing to check") if doubts == 1 else several
    if _missing(result):
        return say("no conflicts among the listed parts; the list is incomplete")
    return say("can be built")


def _read_rows(rig: Rig) -> Iterator[tuple[Shown, Shown]]:
    """Each part as it was understood."""
    if rig.machine is not None:
        yield NOUNS["machine"], rig.machine.name
    yield from _base_rows(rig)
    for cards in rig.cards:
        limit = f", {cards.limit_w:.0f} W" if cards.limit_w else ""
        named = f"{cards.count}x {cards.shape.model or cards.chip.name}{limit}"
        if cards.usual_slots is None:
            yield NOUNS["gpu"], named
            continue
        wide = say("{slots} slots", slots=f"{cards.usual_slots:g}")
        yield NOUNS["gpu"], say("{cards}, {wide}", cards=named, wide=wide)
    for supply in dict.fromkeys(rig.supplies):
        count = rig.supplies.count(supply)
        watts = f" ({supply.watts:,.0f} W)" if supply.watts else ""
        yield NOUNS["psu"], f"{_times(count)}{supply.name}{watts}"
    if rig.case is not None:
        yield NOUNS["case"], f"{rig.case.name}{f' ({rig.case.kind})' if rig.case.kind else ''}"
    for disks in rig.disks:
        yield NOUNS["ssd"], f"{_times(disks.count)}{disks.name}"
    if rig.cooler is not None:
        yield NOUNS["cooler"], rig.cooler.name
    if rig.room is not None:
        sizes = ((rig.room.volts, "{:.0f} V"), (rig.room.amps, "{:.0f} A"), (rig.room.units, "{:.0f}U"))
        shown: list[Shown] = [form.format(value) for value, form in sizes if value]
        yield NOUNS["room"], with_commas([*shown, *([say("quiet")] if rig.room.quiet else [])]) or ""


def _base_rows(rig: Rig) -> Iterator[tuple[Shown, Shown]]:
    """Processor, board, memory."""
    if rig.processor is not None:
        yield NOUNS["cpu"], f"{_times(rig.cpu_count)}{rig.processor.name}"
    if rig.board is not None:
        facts = (rig.board.socket, rig.board.chipset, rig.board.form, rig.board.mem_type)
        yield NOUNS["board"], f"{rig.board.name} ({', '.join(filter(None, facts))})"
    for modules in rig.modules:
        each = "" if modules.each_bytes is None else f"{modules.count}x {to_gib(modules.each_bytes):.0f} GB"
        total = "" if modules.total_bytes is None or each else f"{to_gib(modules.total_bytes):.0f} GB"
        kind = {True: "RDIMM", False: "UDIMM", None: None}[modules.registered]
        texts = (each, total, modules.type, f"{modules.mts}" if modules.mts else None, kind)
        yield NOUNS["ram"], " ".join(filter(None, texts))


def _times(count: int) -> str:
    return f"{count}x " if count > 1 else ""


def sheet(result: CheckedList) -> Page:
    """One row a finding."""
    findings = records(
        result.rules,
        (
            ("verdict", lambda ruling: ruling.verdict),
            ("rule", lambda ruling: ruling.rule),
            ("parts", lambda ruling: " ".join(ruling.parts)),
            ("reason", lambda ruling: ruling.reason),
            ("do", lambda ruling: ruling.do or ""),
        ),
    )
    return Page.of(_verdict_line(result), findings)


class Understood(NamedTuple):
    """One line of a list as it was taken."""

    part: Shown
    read_as: Shown  # what the line was taken for


def _understood(result: CheckedList) -> tuple[Understood, ...]:
    """Each line as it was taken."""
    return tuple(Understood(*row) for row in _read_rows(result.rig))


def _missing(result: CheckedList) -> tuple[str, ...]:  # kinds that a machine has and the list does not name
    rig = result.rig
    if rig.machine is not None:
        return ()
    unread = {kind for kind, _ in rig.unknown}
    row = (rig.processor, rig.board, rig.modules, rig.cards, rig.supplies, rig.case)
    kinds = zip(("cpu", "board", "ram", "gpu", "psu", "case"), row, strict=True)
    return tuple(kind for kind, part in kinds if not part and kind not in unread)


plain = telling.RecordPrinter(CheckedList, answer=_verdict_line, understood=_understood, missing=_missing)

"""The page of `history`: pictures over time, figures, and what was kept beside them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from rigright.base import telling
from rigright.base.page import (
    Column,
    Commands,
    Line,
    Page,
    Part,
    Shown,
    Strip,
    Strips,
    Tone,
    number,
    prose,
    table,
)
from rigright.base.units import KILO, show_bytes, show_measured, show_seconds, show_watts
from rigright.base.words import Sentence, say, with_commas
from rigright.machine.history.store import SeenMachine
from rigright.machine.tick import DeviceTick
from rigright.report import readings
from rigright.verbs.watch.record import CardSpan, Figures, Past, Span

_HOUR_S = 3600.0
_FEW = 2  # cards that are shown with every picture
_AWAY_S = 1.0

Show = Callable[[float], str]
_PICTURES: dict[str, tuple[Sentence, Show, float | None]] = {  # column -> label, how it is shown, top
    "busy_share": (say("busy"), readings.share, 1.0),
    "power_w": (say("power"), show_watts, None),
    "mem_used_bytes": (say("memory"), show_bytes, None),
    "gpu_c": (say("heat"), readings.celsius, None),
    "cpu_share": (say("cpu"), readings.share, 1.0),
    "disk_read_bytes_per_s": (say("disk in"), readings.flow, None),
    "net_rx_bytes_per_s": (say("net in"), readings.flow, None),
}
_OF_MANY = ("busy_share", "power_w")


def page(past: Past) -> Page:
    """The page for people."""
    parts, title = _PARTS[past.of](past)
    tone: Tone = "plain"
    if not parts:
        title, tone = say("no history for that period"), "warn"
        parts = [Commands(items=("rigright watch",), title=say("next"))]
    parts = [*parts, Line(text=say("kept in {path}", path=past.path), tone="dim")]
    return Page(title=title, parts=tuple(parts), tone=tone)


def sheet(past: Past) -> Page:
    """Rows for a spreadsheet: each moment of each card; else the page's own table."""
    if past.of != "ticks":
        return page(past)
    names = [field.name for field in fields(DeviceTick) if field.name not in {"programs", "index", "vendor"}]
    rows = tuple(
        (f"{tick.at_s:.3f}", device.card, *(_cell(getattr(device, name)) for name in names))
        for tick in past.moments
        for device in tick.devices
    )
    heads = ("at_s", "card", *names)
    return Page(title="", parts=(table(heads, rows),))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return " ".join(value)
    return f"{value:.6g}" if isinstance(value, float) and value < 1 else str(value)


def _of_ticks(past: Past) -> tuple[list[Part], Shown]:
    span = past.span
    if span is None or not span.n_moments:
        return [], say("history")
    since, until = span.since_s or 0.0, span.until_s or 0.0
    parts: list[Part] = [
        Line(
            text=say(
                "{count} samples; watched {seen} of {whole}",
                count=f"{span.n_moments:,}",
                seen=show_seconds(span.seen_s),
                whole=show_seconds(max(until - since, span.seen_s)),
            )
        )
    ]
    parts += [Line(text=sentence, tone="bad") for sentence in _absences(span)]
    parts.append(_pictures(span))
    if span.cards:
        heads = (
            *(
                say("energy"),
                say("mean power"),
                say("max. power"),
                say("mean utilisation"),
                say("max. memory"),
            ),
            *(say("max. temperature"), say("max. memory temperature")),
        )
        parts.append(
            table(
                (say("card"), *map(number, heads), prose(say("throttled"))),
                (_row(card, span) for card in span.cards),
            )
        )
    return parts, say("from {since} to {until}", since=_date(since), until=_date(until))


def _absences(span: Span) -> list[Sentence]:
    return [
        say("{card} did not respond for {time}", card=card_span.card, time=show_seconds(card_span.away_s))
        for card_span in span.cards
        if card_span.away_s >= _AWAY_S
    ]


def _pictures(span: Span) -> Strips:
    drawn = tuple(_PICTURES) if len(span.cards) <= _FEW else _OF_MANY
    strips = [
        _strip(say("{card} {what}", card=card.card, what=_PICTURES[name][0]), figures, name=name)
        for name in drawn
        for card in span.cards
        for figures in card.figures
        if figures.column == f"{card.card}.{name}"
    ]
    strips += [
        _strip(_PICTURES[name][0] if name != "mem_used_bytes" else say("system memory"), figures, name=name)
        for figures in span.host
        if (name := figures.column.rpartition(".")[2]) in _PICTURES
    ]
    return Strips(strips=tuple(strips))


def _strip(label: Sentence, figures: Figures, *, name: str) -> Strip:
    _, show, top = _PICTURES[name]
    sentence = say(
        "mean {mean}, p95 {p95}, max. {most}",
        mean=show(figures.mean),
        p95=show(figures.p95),
        most=show(figures.most),
    )
    return Strip(label=label, values=figures.values, shown=sentence, high=top)


def _row(card: CardSpan, span: Span) -> tuple[Shown, ...]:
    figures = {figure.column.rpartition(".")[2]: figure for figure in card.figures}

    def value_at(name: str, which: str, *, show: Show) -> str:
        return show(getattr(figures[name], which)) if name in figures else readings.NONE

    sentences = [
        say("{reason} {share}", reason=readings.reason(reason), share=readings.share(slowed_s / span.seen_s))
        for reason, slowed_s in card.slowed_s
    ]
    return (
        card.card,
        readings.NONE if card.energy_j is None else f"{card.energy_j / (KILO * _HOUR_S):.3f} kWh",
        value_at("power_w", "mean", show=show_watts),
        value_at("power_w", "most", show=show_watts),
        value_at("busy_share", "mean", show=readings.share),
        value_at("mem_used_bytes", "most", show=show_bytes),
        value_at("gpu_c", "most", show=readings.celsius),
        value_at("mem_c", "most", show=readings.celsius),
        with_commas(sentences) or "",
    )


def _of_bench(past: Past) -> tuple[list[Part], Shown]:
    heads = (say("when"), say("part"), say("what"), say("on"), say("value"))
    columns = tuple(
        Column(head=head, right=place == 4, flexible=place == 2) for place, head in enumerate(heads)
    )
    rows = tuple(
        (
            _date(result.at_s or 0.0),
            result.part,
            result.what,
            result.on,
            show_measured(result.value, result.unit),
        )
        for result in past.results
    )
    return ([table(columns, rows)] if rows else []), say("recorded benchmarks")


def _of_machines(past: Past) -> tuple[list[Part], Shown]:
    heads = (say("when"), say("machine"), say("host"), say("cards"), say("driver"), say("kernel"))
    columns = tuple(Column(head=head, flexible=place == 3) for place, head in enumerate(heads))
    rows = tuple(_machine(seen_machine) for seen_machine in past.machines)
    return ([table(columns, rows)] if rows else []), say("machine records")


def _machine(seen: SeenMachine) -> tuple[Shown, ...]:
    machine = seen.machine
    names = [device.name or readings.NONE for device in machine.devices]
    cards = ", ".join(f"{names.count(name)}x {name}" for name in dict.fromkeys(names))
    software, system = machine.software, machine.system
    return (
        *(_date(seen.at_s), seen.key, system.host or readings.NONE, cards or readings.NONE),
        *(software.driver or readings.NONE, system.kernel or readings.NONE),
    )


def _of_events(past: Past) -> tuple[list[Part], Shown]:
    columns = (*(say("when"), say("kind"), say("device")), prose(say("text")))
    rows = tuple((_date(event.at_s or 0.0), event.kind, event.pci or "", event.text) for event in past.events)
    return ([table(columns, rows)] if rows else []), say("from the kernel log")


_PARTS: dict[str, Callable[[Past], tuple[list[Part], Shown]]] = {
    "ticks": _of_ticks,
    "bench": _of_bench,
    "machines": _of_machines,
    "events": _of_events,
}


def _date(at_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at_s))


def _answer_words(past: Past) -> Sentence | str:
    """The answer as a sentence."""
    return page(past).title


plain = telling.RecordPrinter(Past, endless="inf", summary=_answer_words)

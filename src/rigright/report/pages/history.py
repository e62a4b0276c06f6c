"""The page of `history`: pictures over time, figures, and what was kept beside them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from rigright.base import telling
from rigright.base.page import (
    Commands,
    Line,
    Page,
    Part,
    Shown,
    Strip,
    Strips,
    Table,
    Tone,
    number,
    prose,
    records,
    table,
)
from rigright.base.units import KILO, show_bytes, show_measured, show_seconds, show_watts
from rigright.base.words import Sentence, say, with_commas
from rigright.machine.tick import DeviceTick
from rigright.report import readings
from rigright.report.findings import cards_of
from rigright.verbs.watch.record import CardSpan, Figures, Past, Span

_HOUR_S = 3600.0
_FEW = 2  # cards that are shown with every picture
_AWAY_S = 1.0

Show = Callable[[float], str]
_PICTURES: dict[str, tuple[Sentence, Show, float | None]] = {  # column -> label, how it is shown, top
    "busy_share": (say("busy"), readings.share, 1.0),
    "power_w": (say("power"), show_watts, None),
    "mem_used_bytes": (say("VRAM"), show_bytes, None),
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
        parts = [Commands.next(("rigright watch",))]
    parts = [*parts, Line.dim(say("kept in {path}", path=past.path))]
    return Page.of(title, parts, tone=tone)


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
    return Page.of("", table(heads, rows))


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
    seen, whole = (show_seconds(time_s) for time_s in (span.seen_s, max(until - since, span.seen_s)))
    samples = say(
        "{count} samples; watched {seen} of {whole}", count=f"{span.n_moments:,}", seen=seen, whole=whole
    )
    away = (
        say("{card} did not respond for {time}", card=card.card, time=show_seconds(card.away_s))
        for card in span.cards
        if card.away_s >= _AWAY_S
    )
    title = say("from {since} to {until}", since=_date(since), until=_date(until))
    return [Line(text=samples), *map(Line.bad, away), _pictures(span), _cards(span)], title


_energy = readings.or_dash(lambda energy_j: f"{energy_j / (KILO * _HOUR_S):.3f} kWh")


def _cards(span: Span) -> Table:
    """A row a card, and what its whole time comes to."""

    def figure(name: str, which: str) -> Callable[[CardSpan], str]:
        show = _PICTURES["gpu_c" if name == "mem_c" else name][1]

        def cell(card: CardSpan) -> str:
            figures = {figures.column.rpartition(".")[2]: figures for figures in card.figures}
            return show(getattr(figures[name], which)) if name in figures else readings.NONE

        return cell

    def throttled(card: CardSpan) -> Shown | None:
        shares = ((readings.reason(reason), slowed_s / span.seen_s) for reason, slowed_s in card.slowed_s)
        return with_commas(
            say("{reason} {share}", reason=why, share=readings.share(share)) for why, share in shares
        )

    return records(
        span.cards,
        (
            (say("card"), lambda card: card.card),
            (number(say("energy")), lambda card: _energy(card.energy_j)),
            (number(say("mean power")), figure("power_w", "mean")),
            (number(say("max. power")), figure("power_w", "most")),
            (number(say("mean utilisation")), figure("busy_share", "mean")),
            (number(say("max. memory")), figure("mem_used_bytes", "most")),
            (number(say("max. temperature")), figure("gpu_c", "most")),
            (number(say("max. memory temperature")), figure("mem_c", "most")),
            (prose(say("throttled")), throttled),
        ),
    )


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
    fields = {"mean": show(figures.mean), "p95": show(figures.p95), "most": show(figures.most)}
    shown = say("mean {mean}, p95 {p95}, max. {most}", **fields)
    return Strip(label=label, values=figures.values, shown=shown, high=top)


def _of_bench(past: Past) -> tuple[list[Part], Shown]:
    results = records(
        past.results,
        (
            (say("when"), lambda result: _date(result.at_s or 0.0)),
            (say("part"), lambda result: result.part),
            (prose(say("what")), lambda result: result.what),
            (say("where"), lambda result: result.on),
            (number(say("value")), lambda result: show_measured(result.value, result.unit)),
        ),
    )
    return ([results] if past.results else []), say("recorded benchmarks")


def _of_machines(past: Past) -> tuple[list[Part], Shown]:
    none = readings.NONE
    machines = records(
        past.machines,
        (
            (say("when"), lambda seen: _date(seen.at_s)),
            (say("machine"), lambda seen: seen.key),
            (say("host"), lambda seen: seen.machine.system.host or none),
            (prose(say("cards")), lambda seen: cards_of(seen.machine, ", ", unnamed=none) or none),
            (say("driver"), lambda seen: seen.machine.software.driver or none),
            (say("kernel"), lambda seen: seen.machine.system.kernel or none),
        ),
    )
    return ([machines] if past.machines else []), say("machine records")


def _of_events(past: Past) -> tuple[list[Part], Shown]:
    columns = (say("when"), say("kind"), say("device"), prose(say("text")))
    rows = ((_date(event.at_s or 0.0), event.kind, event.pci or "", event.text) for event in past.events)
    return ([table(columns, rows)] if past.events else []), say("from the kernel log")


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

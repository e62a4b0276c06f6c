"""The page of `compare` without a model: facts down, things across, and who is ahead in what."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from rigright.base import telling
from rigright.base.money import show_money
from rigright.base.page import Column, Commands, Page, Shown, Table, grouped, table
from rigright.base.units import GIGA, TERA, show_short, to_gib
from rigright.base.words import Sentence, say, with_commas, with_semicolons, worded
from rigright.report.pages.brief import note_lines
from rigright.report.pages.figures import symbol
from rigright.verbs.comparing.sheets import CPU_KIND, Lead, Sheet, Sheets

_UNKNOWN = "-"
_MADE_FOR = {
    "desktop": say("desktop PCs"),
    "workstation": say("workstations"),
    "server": say("servers, 24/7"),
    "soc": say("one chip with unified memory"),
    "embedded": say("edge devices"),
    "host": say("the system, data loading, serial code"),
}


def page(result: Sheets, *, details: bool = False) -> Page:
    """The page for people."""
    return Page.of(
        _verdict(result),
        _table(result),
        note_lines(_notes(result), details=details),
        Commands.next((f"{result.asked} --for llama-3.1-8b",) if result.asked else ()),
        tone="good",
    )


def _verdict(result: Sheets) -> Sentence:
    """Who is ahead in what, and how far."""
    claims = grouped((lead.things, _claim(lead, result)) for lead in result.leads)
    sentence = with_semicolons(
        say("{name}: {claims}", name=", ".join(names), claims=with_commas(sentences) or "")
        for names, sentences in claims.items()
    )
    if sentence is None:
        return say("no meaningful difference")
    return say("{verdict} (vs next best)", verdict=sentence) if len(result.things) > 2 else sentence


def _claim(lead: Lead, result: Sheets) -> Sentence:
    times, less = show_short(lead.ratio).removesuffix(".0"), f"{(1 - 1 / lead.ratio) * 100:.0f}"
    if lead.figure == "half_flops_per_s" and any(sheet.kind == CPU_KIND for sheet in result.things):
        return say("{times}x the matrix throughput", times=times)
    return {
        "mem_bytes": say("{times}x the memory", times=times),
        "mem_bytes_per_s": say("{times}x the bandwidth", times=times),
        "half_flops_per_s": say("{times}x the 16-bit throughput", times=times),
        "power_w": say("{percent} % less power", percent=less),
        "usd": say("{percent} % cheaper", percent=less),
    }[lead.figure]


def _table(result: Sheets) -> Table:
    """A fact a row; one that nobody of them has is left out."""
    every = [(head, *map(show, result.things)) for head, show in _rows(result)]
    rows = [row for row in every if any(cell != _UNKNOWN for cell in row[1:])]
    heads = [Column(head=sheet.name, right=True, flexible=True) for sheet in result.things]
    return table(("", *heads), rows)


def _rows(result: Sheets) -> Iterator[tuple[Sentence, Callable[[Sheet], Shown]]]:
    """The facts in the order that buyers ask for them."""
    yield say("memory GB"), lambda sheet: _number(sheet.mem_bytes, 1, to=to_gib)
    yield say("memory type"), lambda sheet: worded("memory")(sheet.mem_type)
    yield say("bandwidth GB/s"), lambda sheet: _number(sheet.mem_bytes_per_s, GIGA)
    yield say("16-bit TFLOP/s, FP32 accumulate"), _half
    yield say("FP8 TFLOP/s, FP32 accumulate"), lambda sheet: _number(sheet.fp8_flops_per_s, TERA)
    yield say("FP4 TFLOP/s"), lambda sheet: _number(sheet.fp4_flops_per_s, TERA)
    yield say("INT8 TOP/s"), lambda sheet: _number(sheet.int8_ops_per_s, TERA)
    yield say("FP32 TFLOP/s"), lambda sheet: _number(sheet.fp32_flops_per_s, TERA)
    yield say("cores"), lambda sheet: _UNKNOWN if sheet.cores is None else f"{sheet.cores:,}"
    yield say("power W"), lambda sheet: _number(sheet.power_w, 1)
    yield say("link, GB/s both ways"), _link
    yield say("PCIe"), _slot
    head = say("buy, {currency}", currency=symbol(result.currency))
    yield head, lambda sheet: _price(sheet, result.currency)
    yield say("launch"), lambda sheet: sheet.launch or _UNKNOWN
    mixed = len({sheet.kind for sheet in result.things}) > 1
    yield say("made for"), lambda sheet: _use(sheet, mixed=mixed)


def _use(sheet: Sheet, *, mixed: bool) -> Shown:
    """What it is for; beside a processor a card is for what a processor is slow at."""
    if mixed and sheet.kind != CPU_KIND:
        return say("matrix work: training, inference")
    return _MADE_FOR.get(sheet.made_for, sheet.made_for)


def _number(value: float | None, scale: float, *, to: Callable[[float], float] | None = None) -> str:
    if value is None or math.isnan(value):
        return _UNKNOWN
    shown = to(value) if to else value / scale
    return f"{shown:,.0f}" if shown >= 100 else f"{shown:,.3g}"


def _half(sheet: Sheet) -> Shown:
    """A processor multiplies 16-bit numbers in 32 bit."""
    return _UNKNOWN if sheet.kind == CPU_KIND else _number(sheet.half_flops_per_s, TERA)


def _link(sheet: Sheet) -> Shown:
    if sheet.kind == CPU_KIND:
        return _UNKNOWN
    if sheet.link is None or sheet.link_bytes_per_s is None:
        return say("PCIe only")
    return f"{sheet.link.partition('(')[0].strip()} {_number(sheet.link_bytes_per_s, GIGA)}"


def _slot(structure: Sheet) -> Shown:
    if structure.pcie_gen is None:
        return _UNKNOWN
    return (
        f"{structure.pcie_gen}.0 x{structure.pcie_lanes}"
        if structure.kind != CPU_KIND
        else f"{structure.pcie_gen}.0"
    )


def _price(sheet: Sheet, currency: str) -> Shown:
    if sheet.usd is None:
        return say("no price known")
    amount = show_money(sheet.usd.value, currency)
    date = sheet.usd.as_of or ""
    return say("{amount} used ({date})", amount=amount, date=date) if sheet.used else f"{amount} ({date})"


def _notes(result: Sheets) -> Iterator[Shown]:
    yield from result.notes
    yield say("dense rates; prices of the cards alone, each with its date")
    if len({sheet.used for sheet in result.things if sheet.usd is not None}) > 1:
        yield say("used and new prices are not compared; add --used to price all used where known")
    if any(sheet.kind == CPU_KIND for sheet in result.things):
        yield say("processors: FP32 rate of the vector units at base clock; the most memory they take")


plain = telling.RecordPrinter(Sheets, verdict=_verdict)

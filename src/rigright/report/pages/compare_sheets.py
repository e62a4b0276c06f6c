"""The page of `compare` without a model: facts down, things across, and who is ahead in what."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from rigright.base import telling
from rigright.base.money import show_money
from rigright.base.page import Column, Commands, Page, Shown, Table, grouped, table
from rigright.base.units import GIGA, TERA, show_short, to_gib
from rigright.base.words import Sentence, say, with_commas, with_semicolons, worded
from rigright.cost.estimate import Estimate
from rigright.report.pages.brief import note_lines
from rigright.report.pages.figures import RATES, symbol
from rigright.verbs.comparing.sheets import CPU_KIND, Lead, Sheet, Sheets

_UNKNOWN = "-"
_MORE = {
    "mem_bytes": say("VRAM"), "mem_bytes_per_s": say("bandwidth"), "rate": say("throughput"),
    "half_flops_per_s": say("16-bit throughput"),
}  # fmt: skip
_WITH_CPU = {**_MORE, "mem_bytes": say("memory"), "half_flops_per_s": say("matrix throughput")}
_PARTS = {
    "usd_per_mtok": say("cost per token"), "usd": say("price"),
    "usd_per_h": say("rent"), "power_w": say("power"),
}  # fmt: skip
_NEARLY = 0.06
_TWICE = 1.95  # from here on people say how many times, not how many percent more
FRACTIONS = {
    2: say("half"), 3: say("a third of"), 4: say("a quarter of"), 5: say("a fifth of"), 6: say("a sixth of"),
    7: say("a seventh of"), 8: say("an eighth of"), 9: say("a ninth of"), 10: say("a tenth of"),
}  # fmt: skip
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
    claims = grouped(
        (lead.things, claim(lead, matrix=any(sheet.kind == CPU_KIND for sheet in result.things)))
        for lead in result.leads
    )
    sentence = with_semicolons(
        say("{name}: {claims}", name=", ".join(names), claims=with_commas(sentences) or "")
        for names, sentences in claims.items()
    )
    if sentence is None:
        return say("no meaningful difference")
    return say("{verdict} (vs next best)", verdict=sentence) if len(result.things) > 2 else sentence


def claim(lead: Lead, *, even: bool = True, years: float | None = None, matrix: bool = False) -> Sentence:
    """How far somebody is ahead: "65% faster", "4.4x faster", "14% less power", "a ninth of the power".

    `even`: all under the same load; `years`: a bought machine's price a token is held against rent;
    `matrix`: a processor is among them.
    """
    figure, ratio = lead.figure, lead.ratio
    times, more = show_short(ratio).removesuffix(".0"), f"{(ratio - 1) * 100:.0f}"
    less, part = f"{(1 - 1 / ratio) * 100:.0f}", FRACTIONS.get(round(ratio))
    if figure in _MORE or figure in RATES:
        if figure in RATES and even:
            times_said, more_said = (
                say("{times}x faster", times=times),
                say("{percent}% faster", percent=more),
            )
        else:
            what = (_WITH_CPU if matrix else _MORE).get(figure, say("throughput"))
            times_said = say("{times}x the {what}", times=times, what=what)
            more_said = say("{percent}% more {what}", percent=more, what=what)
        return times_said if ratio >= _TWICE else more_said
    if figure == "usd_per_mtok" and years is not None:
        return say("{percent}% cheaper per token over {years} years", percent=less, years=f"{years:g}")
    if (
        figure in _PARTS
        and part is not None
        and abs(ratio - round(ratio)) < _NEARLY * ratio
        and not lead.used
    ):
        return say("{part} the {what}", part=part, what=_PARTS[figure])
    return {
        "ttft_s": say("TTFT {percent}% lower", percent=less),
        "usd_per_mtok": say("{percent}% cheaper per token", percent=less),
        "usd_total": say("{percent}% cheaper in total", percent=less),
        "usd_per_image": say("{percent}% cheaper per image", percent=less),
        "usd_per_text": say("{percent}% cheaper per text", percent=less),
        "usd": say("{percent}% cheaper to buy", percent=less),
        "used": say("{percent}% cheaper used", percent=less),
        "usd_per_h": say("{percent}% cheaper to rent", percent=less),
        "power_w": say("{percent}% less power", percent=less),
    }["used" if lead.used else figure]


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
    yield (
        say("16-bit TFLOP/s, FP32 accumulate"),  # a processor multiplies 16-bit numbers in 32 bit
        lambda sheet: _number(None if sheet.kind == CPU_KIND else sheet.half_flops_per_s, TERA),
    )
    yield say("FP8 TFLOP/s, FP32 accumulate"), lambda sheet: _number(sheet.fp8_flops_per_s, TERA)
    yield say("FP4 TFLOP/s"), lambda sheet: _number(sheet.fp4_flops_per_s, TERA)
    yield say("INT8 TOP/s"), lambda sheet: _number(sheet.int8_ops_per_s, TERA)
    yield say("FP32 TFLOP/s"), lambda sheet: _number(sheet.fp32_flops_per_s, TERA)
    yield say("cores"), lambda sheet: _UNKNOWN if sheet.cores is None else f"{sheet.cores:,}"
    yield say("power W"), lambda sheet: _number(sheet.power_w, 1)
    yield say("link, GB/s both ways"), _link
    yield say("PCIe"), _slot
    yield (
        say("buy, {currency}", currency=symbol(result.currency)),
        lambda sheet: (
            say("no price known")
            if sheet.usd is None and sheet.usd_per_h is None
            else _price(sheet.usd, result.currency, used=sheet.used)
        ),
    )
    head = say("rent, {sign}/hour", sign=symbol(result.currency))
    yield head, lambda sheet: _price(sheet.usd_per_h, result.currency)
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


def _price(amount: Estimate | None, currency: str, *, used: bool | None = False) -> Shown:
    if amount is None:
        return _UNKNOWN
    shown, date = show_money(amount.value, currency), amount.as_of or ""
    return say("{amount} used ({date})", amount=shown, date=date) if used else f"{shown} ({date})"


def _notes(result: Sheets) -> Iterator[Shown]:
    yield from result.notes
    yield say("dense rates; prices of the cards alone, each with its date")
    if any(sheet.kind == CPU_KIND for sheet in result.things):
        yield say("processors: FP32 rate of the vector units at base clock; the most memory they take")


plain = telling.RecordPrinter(Sheets, verdict=_verdict)

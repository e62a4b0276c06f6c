"""The page of `compare` without a model: facts down, things across, and who is ahead in what."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from rigright.base import telling
from rigright.base.money import show_money
from rigright.base.page import Column, Commands, Page, Shown, Table, grouped, known, table
from rigright.base.units import GIB, GIGA, TERA, show_short
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
    if figure in RATES and even:
        faster = say("{percent}% faster", percent=more)
        return say("{times}x faster", times=times) if ratio >= _TWICE else faster
    if figure in _MORE or figure in RATES:
        what = (_WITH_CPU if matrix else _MORE).get(figure, say("throughput"))
        many = say("{percent}% more {what}", percent=more, what=what)
        return say("{times}x the {what}", times=times, what=what) if ratio >= _TWICE else many
    if figure == "usd_per_mtok" and years is not None:
        return say("{percent}% cheaper per token over {years} years", percent=less, years=f"{years:g}")
    if figure in _PARTS and part and abs(ratio - round(ratio)) < _NEARLY * ratio and not lead.used:
        return say("{part} the {what}", part=part, what=_PARTS[figure])
    return {
        "ttft_s": say("TTFT {percent}% lower", percent=less),
        "usd_per_mtok": say("{percent}% cheaper per token", percent=less),
        "usd_total": say("{percent}% cheaper in total", percent=less),
        "usd_per_image": say("{percent}% cheaper per image", percent=less),
        "usd_per_video": say("{percent}% cheaper per video", percent=less),
        "usd_per_text": say("{percent}% cheaper per text", percent=less),
        "usd": say("{percent}% cheaper to buy", percent=less),
        "used": say("{percent}% cheaper used", percent=less),
        "usd_per_h": say("{percent}% cheaper to rent", percent=less),
        "power_w": say("{percent}% less power", percent=less),
    }["used" if lead.used else figure]


def _table(result: Sheets) -> Table:
    """A fact a row; one that nobody of them has is left out."""
    cells = ((head, [show(sheet) or _UNKNOWN for sheet in result.things]) for head, show in _rows(result))
    rows = ((head, *row) for head, row in cells if {*row} != {_UNKNOWN})
    heads = [Column(head=sheet.name, right=True, flexible=True) for sheet in result.things]
    return table(("", *heads), rows)


def _rows(result: Sheets) -> tuple[tuple[Sentence, Callable[[Sheet], Shown | None]], ...]:
    """The facts in the order that buyers ask for them."""
    currency, sign = result.currency, symbol(result.currency)
    mixed = len({sheet.kind for sheet in result.things}) > 1

    def buy(sheet: Sheet) -> Shown | None:
        none = sheet.usd is None and sheet.usd_per_h is None
        return say("no price known") if none else _price(sheet.usd, currency, used=sheet.used)

    def rate(name: str, scale: float = TERA) -> Callable[[Sheet], str | None]:
        return lambda sheet: _number(getattr(sheet, name), scale)

    def use(sheet: Sheet) -> Shown:
        """Beside a processor a card is for what a processor is slow at."""
        if mixed and sheet.kind != CPU_KIND:
            return say("matrix work: training, inference")
        return _MADE_FOR.get(sheet.made_for, sheet.made_for)

    return (
        (say("memory GB"), rate("mem_bytes", GIB)),
        (say("memory type"), lambda sheet: worded("memory")(sheet.mem_type)),
        (say("bandwidth GB/s"), rate("mem_bytes_per_s", GIGA)),
        (say("16-bit TFLOP/s, FP32 accumulate"), _half),
        (say("FP8 TFLOP/s, FP32 accumulate"), rate("fp8_flops_per_s")),
        (say("FP4 TFLOP/s"), rate("fp4_flops_per_s")),
        (say("INT8 TOP/s"), rate("int8_ops_per_s")),
        (say("FP32 TFLOP/s"), rate("fp32_flops_per_s")),
        (say("cores"), lambda sheet: known(sheet.cores, "{:,}".format)),
        (say("power W"), rate("power_w", 1)),
        (say("link, GB/s both ways"), _link),
        (say("PCIe"), _slot),
        (say("buy, {currency}", currency=sign), buy),
        (say("rent, {sign}/hour", sign=sign), lambda sheet: _price(sheet.usd_per_h, currency)),
        (say("launch"), lambda sheet: sheet.launch),
        (say("made for"), use),
    )


def _number(value: float | None, scale: float) -> str | None:
    if value is None or math.isnan(value):
        return None
    return f"{value / scale:,.0f}" if value / scale >= 100 else f"{value / scale:,.3g}"


def _half(sheet: Sheet) -> str | None:
    """A processor multiplies 16-bit numbers in 32 bit."""
    return None if sheet.kind == CPU_KIND else _number(sheet.half_flops_per_s, TERA)


def _link(sheet: Sheet) -> Shown | None:
    if sheet.kind == CPU_KIND:
        return None
    if sheet.link is None or sheet.link_bytes_per_s is None:
        return say("PCIe only")
    return f"{sheet.link.partition('(')[0].strip()} {_number(sheet.link_bytes_per_s, GIGA)}"


def _slot(sheet: Sheet) -> str | None:
    lanes = "" if sheet.kind == CPU_KIND else f" x{sheet.pcie_lanes}"
    return known(sheet.pcie_gen, lambda gen: f"{gen}.0{lanes}")


def _price(amount: Estimate | None, currency: str, *, used: bool | None = False) -> Shown | None:
    if amount is None:
        return None
    shown, date = show_money(amount.value, currency), amount.as_of or ""
    return say("{amount} used ({date})", amount=shown, date=date) if used else f"{shown} ({date})"


def _notes(result: Sheets) -> Iterator[Shown]:
    yield from result.notes
    yield say("dense rates; prices of the cards alone, each with its date")
    if any(sheet.kind == CPU_KIND for sheet in result.things):
        yield say("processors: FP32 rate of the vector units at base clock; the most memory they take")


plain = telling.RecordPrinter(Sheets, verdict=_verdict)

"""The paper for whoever signs: the recommendation, then need, options, money, risks, order, acceptance."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rigright.base import telling
from rigright.base.money import show_money
from rigright.base.page import (
    Commands,
    Heading,
    Line,
    Page,
    Part,
    Points,
    Shown,
    Table,
    Tone,
    facts,
    known,
    number,
    prose,
    table,
)
from rigright.base.units import show_bytes, show_seconds, show_short, show_watts
from rigright.base.words import (
    CHINESE,
    Bilingual,
    Sentence,
    is_known,
    say,
    sentences,
    with_commas,
    with_semicolons,
)
from rigright.cost.estimate import SECONDS_PER_DAY, Estimate, scaled
from rigright.facts.chips import short
from rigright.report.pages import build as building
from rigright.report.pages import cost as costing
from rigright.report.pages import plan_words as words
from rigright.report.pages.brief import model_name, short_format
from rigright.report.pages.figures import FIGURES, amount, amount_band, rate_of, symbol
from rigright.search.sure import limit_time
from rigright.verbs.costing import BUY, OWN, RENT, RESERVED, SPOT, Costed, CostWay
from rigright.verbs.report import Candidate, Decided

_COMPARED = ("ttft_s", "tpot_s", "usd", "usd_per_h", "power_w")

if TYPE_CHECKING:
    from rigright.report.screen import Screen

_ALIKE = 0.05  # share of a figure that nobody decides by
_RENTS = {RENT, SPOT, RESERVED}
_APART = 0.1  # share by which two prices of one machine may differ without a word
_SIGNED = (say("decision"), say("signed by"), say("date"), say("signature"))
_LINE = "_" * 16
_FLAG = re.compile(r"--(?=[a-z])")  # who signs types no options


def page(result: Decided) -> Page:
    """The paper: what is decided, then what speaks for it and against it; sources stand last."""
    sentence = say(
        "made by rigright on {date} from {file}; 4 of 5 cases fall inside an 80 % band",
        date=result.today,
        file=result.plan,
    )
    return Page.of(
        verdict(result),
        _glance(result),
        Line.dim(_speed(result)),
        _need(result),
        _options(result),
        Points.of(_reasons(result), title=say("reasons")),
        () if result.cost is None else _years(result.cost),
        Points.of(_risks(result), title=say("risks"), tone="warn"),
        _order(result),
        _tests(result),
        Commands(title=say("acceptance test"), items=_commands(result)),
        table(_SIGNED, ((_LINE,) * len(_SIGNED),) * 2, title=say("approval")),
        Line.dim(sentence),
        () if result.cost is None else _sources(result, result.cost),
        tone=_tone(result),
    )


def _years(made: Costed) -> Iterator[Part]:
    """What the years cost, way by way."""
    yield Points(title=say("cost over the years"), items=(costing.verdict(made).text,))
    yield costing.ways_table(made, banded=False)
    if len(made.cost_ways) > 1:
        yield costing.picture(made, details=True)
    yield Points.of(costing.sums(made))


def _sources(result: Decided, made: Costed) -> Iterator[Part]:
    """Where the prices are from, and what the years are reckoned with."""
    yield costing.sources(made)
    if made.worth_usd:
        yield costing.resale(made)
    yield Points.of(_taken(result), title=say("assumed and not counted"))


def _glance(result: Decided) -> Table:
    """The figures that a decision turns on."""
    first, made, way = result.first, result.cost, _way(result)
    figures, rents, rate = first.figures, first.how == "rent", _rate(first)
    run = None if made is None or way is None or not rents else made.usd_per_run(way)
    total = None if way is None or run is not None else way.ledger.total
    paid = None if made is None or made.other is None or first.how != "buy" else made.other.payback

    def money(estimate: Estimate | None) -> str | None:
        return known(estimate, lambda usd: show_money(usd.value, result.wish.currency))

    cells: tuple[tuple[Shown, Shown | None], ...] = (
        (say("rent, an hour"), money(figures.get("usd_per_h") if rents else None)),
        (say("price"), money(None if rents else figures.get("usd"))),
        (say("one run"), money(run)),
        (say("{count} years", count=f"{made.wish.years:g}" if made else ""), money(total)),
        (say("pays off, months"), known(paid, costing.paid_off)),
        (say("duration"), known(figures.get("days"), _duration)),
        *(() if rate is None else ((rate[0], show_short(rate[1].value)),)),
        (say("power"), known(figures.get("power_w"), lambda power: show_watts(power.value))),
    )
    return table((head for head, _ in cells), [[cell for _, cell in cells]], filled=True)


def _duration(days: Estimate) -> str:
    return show_seconds(days.value * SECONDS_PER_DAY)


def _way(result: Decided) -> CostWay | None:
    """The way of the plan, or the one that is advised instead."""
    made = result.cost
    if made is None:
        return None
    kinds = {"buy": {BUY}, "own": {OWN, BUY}}.get(result.first.how, _RENTS)
    return result.instead or next((cost_way for cost_way in made.cost_ways if cost_way.kind in kinds), None)


def _order(result: Decided) -> Iterator[Part]:
    """The parts, each with its price and the range of it; the sum is the price of line 1."""
    assembled = result.order
    built = None if assembled is None else assembled.first
    if assembled is None or built is None:
        return
    currency, sign = assembled.currency, symbol(assembled.currency)
    yield Points.of((building.verdict(assembled),), title=say("bill of materials"))
    way, total = _way(result), built.usd
    if way is not None and way.kind == "buy":  # the range of a sum is narrower than the sum of ranges
        total = scaled(way.ledger.terms[0].upfront, 1 / built.machines)
    rows = [(building.KINDS[item.kind], building.counted(item), item.usd) for item in built.items]
    price = number(say("price, {sign}", sign=sign))
    cells = (
        (part, item, known(usd, lambda usd: amount(usd.value, currency)), amount_band(usd, currency))
        for part, item, usd in [*rows, (say("total"), "", total)]
    )
    many = say("each of {count} machines", count=built.machines) if built.machines > 1 else None
    heads = (say("part"), prose(say("parts list")), price, number(say("from-to")))
    yield table(heads, cells, title=many, totals=True)


def _taken(result: Decided) -> Iterator[Shown]:
    """What the years are reckoned with."""
    if result.cost is not None:
        made = result.cost
        if made.output is not None:  # by its own name, not as it was typed
            made = replace(made, output=replace(made.output, model=result.model))
        yield from costing.assumed(made, flags=False)
        yield from made.notes


def _tone(result: Decided) -> Any:
    if not result.fits:
        return "bad"
    return "warn" if result.is_doubtful or result.first.stale else "good"


def verdict(result: Decided) -> Sentence:
    """What to do, what it costs now and over the years."""
    first, currency, made, way = result.first, result.wish.currency, result.cost, _way(result)
    fields: dict[str, Shown] = {"machine": short(first.machine), "model": model_name(result.model)}
    if not result.fits:
        return say("Do not sign: nothing meets every limit; {machine} comes closest for {model}", **fields)
    years, run = result.wish.years, None
    fields["total"] = say("not known")
    if made is not None and way is not None:
        years, run = made.wish.years, made.usd_per_run(way)
        fields |= {"total": show_money(way.ledger.total.value, currency), "way": costing.name_of(way, made)}
    price = first.figures.get("usd_per_h" if first.how == "rent" else "usd")
    fields["usd"] = show_money(price.value, currency) if price is not None else say("no price")
    fields["years"] = say("{count} years", count=f"{years:g}")
    if result.instead is not None:
        return say("Do not buy {machine} for {model}: {way} is cheaper, {total} over {years}", **fields)
    if first.how == "rent" and run is not None:
        fields["run"] = show_money(run.value, currency)
        return say("Rent {machine} for {model}: {usd}/hour, {run} for one run", **fields)
    if first.how == "rent":
        return say("Rent {machine} for {model}: {usd}/hour, {total} over {years}", **fields)
    if first.how == "own":
        return say("Use {machine} for {model}: {total} over {years}", **fields)
    return say("Buy {machine} for {model}: {usd}; {total} over {years} with power and resale", **fields)


def _rate(candidate: Candidate) -> tuple[Sentence, Estimate] | None:
    """What it makes, and how much a second."""
    name = rate_of(candidate.figures)
    return (FIGURES[name].head, candidate.figures[name]) if name else None


def _speed(result: Decided) -> Shown:
    first, rate = result.first, _rate(result.first)
    fields = {"format": short_format(first.weights), "engine": first.engine}
    if rate is None:
        return say("{format}, {engine}", **fields)
    unit, estimate = rate
    low, value, high = (show_short(each) for each in (estimate.low, estimate.value, estimate.high))
    return say("{value} {unit} (80 % band {low}-{high}), {format}, {engine}",
               value=value, unit=unit, low=low, high=high, **fields)  # fmt: skip


def _need(result: Decided) -> Table:
    """What the machine is for."""
    wish = result.wish
    rows = (
        (say("model"), model_name(result.model)),
        (say("workload"), words.work(wish)),
        (say("context"), f"{wish.context_tok:,}" if wish.context_tok else None),
        (say("licence"), result.licence or say("not known")),
        (say("one run"), known(result.first.figures.get("days"), _duration)),
        (say("period"), say("{count} years", count=f"{wish.years:g}")),
        (say("in use"), f"{wish.duty:.0%}"),
    )
    return facts(rows, title=say("need"))


def _options(result: Decided) -> Table:
    """What was considered, and what was left out and why."""
    currency = result.wish.currency
    unit = next((rate[0] for rate in map(_rate, result.options) if rate), say("speed"))
    rows: list[tuple[Shown | None, ...]] = []
    for option in result.options:
        name, how, figures = short(option.machine), option.how, option.figures
        rate = known(_rate(option), lambda rate: show_short(rate[1].value))
        cells = (FIGURES[key].cell(figures.get(key), currency, how=how) for key in _COMPARED)
        machine = say("{machine}, used", machine=name) if option.used else name
        why = _known(option.reasons[0]) if option.reasons else None
        rows.append((machine, short_format(option.weights), rate, *cells, why))
    blank = ("",) * (2 + len(_COMPARED))
    rows += [(short(label), *blank, _known(reason)) for label, reason in result.rejected]
    heads = (number(FIGURES[key].titled(currency=currency)) for key in _COMPARED)
    columns: list[Heading] = [prose(say("machine")), say("format"), number(unit), *heads, prose(say("why"))]
    tones: list[Tone] = ["strong" if option is result.options[0] else "plain" for option in result.options]
    tones += ["dim" for _ in result.rejected]
    return table(columns, rows, title=say("options considered"), tones=tones, filled=True)


def _known(text: str) -> Shown:
    """A sentence of the plan's file; one of ours without values is stated in any language."""
    chinese = sentences(CHINESE).get(text)
    return (
        _FLAG.sub("", text)
        if chinese is None or "{" in text
        else say("{text}", text=Bilingual(text, chinese))
    )


def _reasons(result: Decided) -> tuple[Shown, ...]:
    """Why, in sentences."""
    first, reasons = result.first, list(map(_known, result.first.reasons))
    bought = [option for option in result.options if option.how == first.how and "usd" in option.figures]
    least = min(bought, key=lambda option: option.figures["usd"].value, default=first)
    price = first.figures.get("usd")
    if result.fits and price is not None and least.figures["usd"].value < price.value:
        usd, form = show_money(least.figures["usd"].value, result.wish.currency), short_format(least.weights)
        fields = {"machine": short(least.machine), "format": form, "usd": usd}
        sentence = say("less money up front: {machine} in {format}, {usd}", **fields)
        reasons.append(with_semicolons((sentence, *map(_known, least.reasons[:1]))) or sentence)
    for other in result.options[1:3]:
        fields = {"machine": short(other.machine), "format": short_format(other.weights)}
        told = with_commas(_differs(first, other))
        reasons.append(say("the alternative {machine} in {format}: {told}", told=told, **fields))
    return tuple(filter(is_known, reasons))


def _differs(first: Candidate, other: Candidate) -> Iterator[Sentence]:
    """How much faster another is, and how much cheaper."""
    mine, its = _rate(first), _rate(other)
    rates = (mine[1], its[1]) if mine is not None and its is not None and mine[0] == its[0] else (None, None)
    costs = first.figures.get("usd_total"), other.figures.get("usd_total")
    faster, slower = say("{percent}% faster", percent=""), say("{percent}% slower", percent="")
    dearer, cheaper = say("{percent}% more expensive", percent=""), say("{percent}% cheaper", percent="")
    for (up, down), (own, others) in (((faster, slower), rates), ((dearer, cheaper), costs)):
        if own is not None and others is not None and min(own.value, others.value) > 0:
            part = others.value / own.value - 1
            if abs(part) > _ALIKE:
                yield replace(up if part > 0 else down, values=(("percent", f"{abs(part) * 100:.0f}"),))


def _waits(result: Decided) -> Iterator[tuple[str, Estimate, float | None]]:
    """Times that users see, each with its limit."""
    bounds = {"ttft_s": result.wish.ttft_s, "tpot_s": result.wish.tpot_s}
    figures = result.first.figures
    return ((key[:4].upper(), figures[key], bound) for key, bound in bounds.items() if key in figures)


def _risks(result: Decided) -> tuple[Shown, ...]:
    """What may go wrong."""
    first, made, built = result.first, result.cost, None if result.order is None else result.order.first
    noted = (*first.notes, *result.notes)
    dates = {first.as_of} if first.stale else set()
    dates |= set() if made is None else {str(way.as_of) for way in made.cost_ways if way.stale}
    dates = {date for date in dates if not any(date in note for note in noted)}
    old = say("prices as of {date}; verify before buying", date=", ".join(sorted(dates)))
    every = (
        *map(_known, result.broken),
        *_slow_or_dear(result),
        *((old,) if dates else ()),
        *(() if built is None else (ruling.sentence for ruling in built.doubts)),
        *map(_known, noted),
        *result.open,
    )
    return tuple({str(sentence): sentence for sentence in every}.values())


def _slow_or_dear(result: Decided) -> Iterator[Sentence]:
    """What bands and limits say of speed and money."""
    first, currency, made, way = result.first, result.wish.currency, result.cost, _way(result)
    rate = _rate(first)
    if rate is not None and rate[1].low < rate[1].value:
        yield say("speed: 10 % risk of less than {low} {unit}", low=show_short(rate[1].low), unit=rate[0])
    for name, estimate, bound in _waits(result):
        if bound is None or estimate.high <= bound:
            continue
        fields = {"name": name, "limit": limit_time(bound)}
        if estimate.value > bound:
            yield say(
                "{name}: {value}, over the limit of {limit}", value=limit_time(estimate.value), **fields
            )
        else:
            high = limit_time(estimate.high)
            yield say("{name}: up to {high} in some cases, over the limit of {limit}", high=high, **fields)
    if made is None or way is None:
        return
    run = made.usd_per_run(way) if first.how == "rent" else None
    usd = run or way.ledger.total
    low, high = (show_money(end, currency) for end in (usd.low, usd.high))
    if run is not None:
        yield say("money: {low} to {high} for one run", low=low, high=high)
        return
    yield say("cost: {low} to {high} over the period", low=low, high=high)
    # another rent of the same machine that costs clearly less
    rents = [other for other in made.cost_ways if way.kind in _RENTS and other.kind in _RENTS]
    least = min(rents, key=lambda other: other.ledger.total.value, default=way)
    if least.ledger.total.value < (1 - _APART) * way.ledger.total.value:
        total = show_money(least.ledger.total.value, currency)
        yield say("{way} costs less: {usd} over the years", way=costing.name_of(least, made), usd=total)


def _tests(result: Decided) -> Table:
    """What is measured before anybody pays, and when it passes."""
    first, rate, size = result.first, _rate(result.first), result.first.rank_bytes
    passes = say("every node passes; the drain list is empty")
    if first.n_nodes == 1:
        passes = say("no open faults or slow components")
    rows: list[tuple[Shown, ...]] = [(say("hardware"), passes, "")]
    if rate is not None:
        least, value = show_short(rate[1].low), show_short(rate[1].value)
        rows.append((say("throughput, {unit}", unit=rate[0]), f">= {least}", value))
    for name, estimate, bound in _waits(result):
        most = limit_time(estimate.high if bound is None else bound)
        rows.append((name, f"<= {most}", limit_time(estimate.value)))
    if size is not None:
        most_bytes = size.high if first.room_bytes is None else min(size.high, first.room_bytes)
        rows.append((say("memory of a GPU"), f"<= {show_bytes(most_bytes)}", show_bytes(size.value)))
    columns = (say("what"), prose(say("passes")), say("planned"))
    return table(columns, rows, title=say("acceptance criteria"))


def _commands(result: Decided) -> tuple[str, ...]:
    """The test to pass on delivery."""
    file, many = shlex.quote(result.plan), result.first.n_nodes > 1
    bench = f"rigright validate measured.json --plan {file}"
    if "ttft_s" in result.first.figures:
        bench = f"rigright bench endpoint --endpoint http://127.0.0.1:8000/v1 --plan {file}"
    accept = "rigright fleet bench --hosts hosts.txt --accept handover" if many else "rigright bench"
    asked = (f"{result.asked} --json > {file}",) if result.asked else ()
    return (*asked, f"rigright doctor --for {file}", accept, bench)


def written(result: Decided, file: str) -> Page:
    """After it was written."""
    sentence = say("written: {file}", file=file)
    return Page.of(verdict(result), Line(text=sentence), tone=_tone(result))


def document(result: Decided, screen: Screen) -> str:
    """The paper as an HTML document that prints on a few sheets."""
    from rigright.report.formats.html import render

    return render(page(result), screen, paper=True)


def sheet(result: Decided) -> Page:
    """The options, for a spreadsheet."""
    return Page.of(verdict(result), _options(result))


plain = telling.RecordPrinter(
    Decided, costing.plain, building.plain,
    verdict=verdict, reasons=_reasons, risks=_risks, acceptance=_commands,
)  # fmt: skip

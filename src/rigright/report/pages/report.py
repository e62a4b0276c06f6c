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
    number,
    prose,
    table,
)
from rigright.base.units import show_bytes, show_seconds, show_short, show_watts
from rigright.base.words import CHINESE, Bilingual, Sentence, say, sentences, with_commas, with_semicolons
from rigright.cost.estimate import SECONDS_PER_DAY, Estimate, scaled
from rigright.facts.chips import short
from rigright.report.pages import build as building
from rigright.report.pages import cost as costing
from rigright.report.pages import plan_words as words
from rigright.report.pages.brief import model_name, short_format
from rigright.report.pages.figures import FIGURES, amount, amount_band, rate_of, symbol
from rigright.search.sure import limit_time
from rigright.verbs.costed import BUY, OWN, RENT, RESERVED, SPOT, Costed, CostWay
from rigright.verbs.decided import Candidate, Decided

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
        Points(title=say("risks"), items=tuple(_once(_risks(result))), tone="warn"),
        _order(result),
        _tests(result),
        Commands(title=say("acceptance test"), items=tuple(_commands(result))),
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
    first, made, currency = result.first, result.cost, result.wish.currency
    shown: list[tuple[Shown, Shown]] = []
    name = "usd_per_h" if first.how == "rent" else "usd"
    if (price := first.figures.get(name)) is not None:
        head = say("rent, an hour") if first.how == "rent" else say("price")
        shown.append((head, show_money(price.value, currency)))
    way = _way(result)
    run = None if made is None or way is None else made.usd_per_run(way)
    if first.how == "rent" and run is not None:
        shown.append((say("one run"), show_money(run.value, currency)))
    elif made is not None and way is not None:
        years = say("{count} years", count=f"{made.wish.years:g}")
        shown.append((years, show_money(way.ledger.total.value, currency)))
        if first.how == "buy" and made.other is not None and made.other.payback is not None:
            paid = made.other.payback
            shown.append((say("pays off, months"), costing.paid_off(paid.low, paid.high)))
    if (days := first.figures.get("days")) is not None:
        shown.append((say("duration"), show_seconds(days.value * SECONDS_PER_DAY)))
    if (rate := _rate(first)) is not None:
        shown.append((rate[0], show_short(rate[1].value)))
    if (power := first.figures.get("power_w")) is not None:
        shown.append((say("power"), show_watts(power.value)))
    return table((head for head, _ in shown), (tuple(cell for _, cell in shown),))


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
    currency = assembled.currency
    yield Points.of((building.verdict(assembled),), title=say("bill of materials"))

    def cells(usd: Estimate | None) -> tuple[Shown, Shown]:
        return "" if usd is None else amount(usd.value, currency), amount_band(usd, currency)

    rows: list[tuple[Shown, ...]] = [
        (building.KINDS[item.kind], building.counted(item), *cells(item.usd)) for item in built.items
    ]
    way, total = _way(result), built.usd
    if way is not None and way.kind == "buy":  # the range of a sum is narrower than the sum of ranges
        total = scaled(way.ledger.terms[0].upfront, 1 / built.machines)
    rows.append((say("total"), "", *cells(total)))
    heads = (
        say("part"),
        prose(say("parts list")),
        number(say("price, {sign}", sign=symbol(currency))),
        number(say("from-to")),
    )
    many = say("each of {count} machines", count=built.machines) if built.machines > 1 else None
    yield table(heads, rows, title=many, totals=True)


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
    first, currency, made = result.first, result.wish.currency, result.cost
    sentences: dict[str, Shown] = {"machine": short(first.machine), "model": model_name(result.model)}
    if not result.fits:
        return say("Do not sign: nothing meets every limit; {machine} comes closest for {model}", **sentences)
    way = _way(result)
    if made is not None and way is not None:
        sentences["years"] = say("{count} years", count=f"{made.wish.years:g}")
        sentences["total"] = show_money(way.ledger.total.value, currency)
        sentences["way"] = costing.name_of(way, made)
    price = first.figures.get("usd_per_h" if first.how == "rent" else "usd")
    sentences["usd"] = show_money(price.value, currency) if price is not None else say("no price")
    if "total" not in sentences:
        sentences["total"], sentences["years"] = (
            say("not known"),
            say("{count} years", count=f"{result.wish.years:g}"),
        )
    if result.instead is not None:
        return say("Do not buy {machine} for {model}: {way} is cheaper, {total} over {years}", **sentences)
    run = None if made is None or way is None else made.usd_per_run(way)
    if first.how == "rent" and run is not None:
        sentences["run"] = show_money(run.value, currency)
        return say("Rent {machine} for {model}: {usd}/hour, {run} for one run", **sentences)
    if first.how == "rent":
        return say("Rent {machine} for {model}: {usd}/hour, {total} over {years}", **sentences)
    if first.how == "own":
        return say("Use {machine} for {model}: {total} over {years}", **sentences)
    return say("Buy {machine} for {model}: {usd}; {total} over {years} with power and resale", **sentences)


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
    return say(
        "{value} {unit} (80 % band {low}-{high}), {format}, {engine}",
        value=show_short(estimate.value),
        unit=unit,
        low=show_short(estimate.low),
        high=show_short(estimate.high),
        **fields,
    )


def _need(result: Decided) -> Table:
    """What the machine is for."""
    wish = result.wish
    rows: list[tuple[Shown, Shown]] = [
        (say("model"), model_name(result.model)),
        (say("workload"), words.work(wish)),
    ]
    if wish.context_tok:
        rows.append((say("context"), f"{wish.context_tok:,}"))
    rows.append((say("licence"), result.licence or say("not known")))
    days = result.first.figures.get("days")
    if days is not None:
        rows.append((say("one run"), show_seconds(days.value * SECONDS_PER_DAY)))
    rows.append((say("period"), say("{count} years", count=f"{wish.years:g}")))
    rows.append((say("in use"), f"{wish.duty:.0%}"))
    return facts(rows, title=say("need"))


def _options(result: Decided) -> Table:
    """What was considered, and what was left out and why."""
    currency = result.wish.currency
    heads = {
        name: FIGURES[name].titled(currency=currency)
        for name in ("ttft_s", "tpot_s", "usd", "usd_per_h", "power_w")
        if any(_cell(option, name, currency=currency) for option in result.options)
    }
    rows: list[tuple[Shown, ...]] = []
    for candidate in result.options:
        rate, name = _rate(candidate), short(candidate.machine)
        rows.append(
            (
                say("{machine}, used", machine=name) if candidate.used else name,
                short_format(candidate.weights),
                "" if rate is None else show_short(rate[1].value),
                *(_cell(candidate, figure, currency=currency) for figure in heads),
                _known(candidate.reasons[0]) if candidate.reasons else "",
            )
        )
    blank = ("",) * (2 + len(heads))
    rows += [(short(label), *blank, _known(reason)) for label, reason in result.rejected]
    unit = next((rate[0] for rate in map(_rate, result.options) if rate), say("speed"))
    figures = tuple(map(number, heads.values()))
    columns: tuple[Heading, ...] = (
        prose(say("machine")),
        say("format"),
        number(unit),
        *figures,
        prose(say("why")),
    )
    first = result.options[0]
    tones: list[Tone] = ["strong" if option is first else "plain" for option in result.options]
    tones += ["dim" for _ in result.rejected]
    return table(columns, rows, title=say("options considered"), tones=tones)


def _cell(candidate: Candidate, name: str, *, currency: str) -> str:
    return FIGURES[name].cell(candidate.figures.get(name), currency, how=candidate.how)


def _known(text: str) -> Shown:
    """A sentence of the plan's file; one of ours without values is stated in any language."""
    chinese = sentences(CHINESE).get(text)
    return (
        _FLAG.sub("", text)
        if chinese is None or "{" in text
        else say("{text}", text=Bilingual(text, chinese))
    )


def _reasons(result: Decided) -> Iterator[Shown]:
    """Why this one: what the plan says, and how the next two stand against it."""
    first = result.first
    yield from map(_known, first.reasons)
    bought = [
        candidate for candidate in result.options if candidate.how == first.how and "usd" in candidate.figures
    ]
    least = min(bought, key=lambda candidate: candidate.figures["usd"].value, default=first)
    price = first.figures.get("usd")
    if result.fits and price is not None and least.figures["usd"].value < price.value:
        sentence = say(
            "less money up front: {machine} in {format}, {usd}",
            machine=short(least.machine),
            format=short_format(least.weights),
            usd=show_money(least.figures["usd"].value, result.wish.currency),
        )
        whole = with_semicolons(
            (sentence, *(say("{text}", text=_known(reason)) for reason in least.reasons[:1]))
        )
        yield whole or sentence
    for other in result.options[1:3]:
        differs = with_commas(_differs(first, other))
        if differs is not None:
            yield say("the alternative {machine} in {format}: {told}", machine=short(other.machine),
                      format=short_format(other.weights), told=differs)  # fmt: skip


def _differs(first: Candidate, other: Candidate) -> Iterator[Sentence]:
    """How much faster another is, and how much cheaper."""
    mine, its = _rate(first), _rate(other)
    rates = (mine[1], its[1]) if mine is not None and its is not None and mine[0] == its[0] else None
    costs = [candidate.figures.get("usd_total") for candidate in (first, other)]
    for what, pair in (("speed", rates), ("cost", costs)):
        own, others = (0.0 if value is None else value.value for value in pair or (None, None))
        if own > 0 and others > 0 and abs(others / own - 1) > _ALIKE:
            percent = f"{abs(others / own - 1) * 100:.0f}"
            yield {
                ("speed", True): say("{percent}% faster", percent=percent),
                ("speed", False): say("{percent}% slower", percent=percent),
                ("cost", True): say("{percent}% more expensive", percent=percent),
                ("cost", False): say("{percent}% cheaper", percent=percent),
            }[what, others > own]


def _risks(result: Decided) -> Iterator[Shown]:
    """What may turn out otherwise: bands, prices, what nobody said, what rules doubt."""
    first, wish, currency = result.first, result.wish, result.wish.currency
    yield from map(_known, result.broken)
    rate = _rate(first)
    if rate is not None and rate[1].low < rate[1].value:
        yield say("speed: 10 % risk of less than {low} {unit}", low=show_short(rate[1].low), unit=rate[0])
    for name, bound in (("ttft_s", wish.ttft_s), ("tpot_s", wish.tpot_s)):
        estimate = first.figures.get(name)
        if estimate is None or bound is None or estimate.high <= bound:
            continue
        if estimate.value > bound:
            yield say(
                "{name}: {value}, over the limit of {limit}",
                name=name[:4].upper(),
                value=limit_time(estimate.value),
                limit=limit_time(bound),
            )
        else:
            yield say(
                "{name}: up to {high} in some cases, over the limit of {limit}",
                name=name[:4].upper(),
                high=limit_time(estimate.high),
                limit=limit_time(bound),
            )
    made = result.cost
    way = _way(result)
    if made is not None and way is not None:
        total = way.ledger.total
        run = made.usd_per_run(way) if first.how == "rent" else None
        low, high = (show_money(usd, currency) for usd in ((run or total).low, (run or total).high))
        if run is not None:
            yield say("money: {low} to {high} for one run", low=low, high=high)
        else:
            yield say("cost: {low} to {high} over the period", low=low, high=high)
            yield from _cheaper(way, made, currency=currency)
    noted = (*first.notes, *result.notes)
    dates = {first.as_of} if first.stale else set()
    dates |= set() if made is None else {str(cost_way.as_of) for cost_way in made.cost_ways if cost_way.stale}
    dates = {date for date in dates if not any(date in note for note in noted)}
    if dates:
        yield say("prices as of {date}; verify before buying", date=", ".join(sorted(dates)))
    built = None if result.order is None else result.order.first
    if built is not None:
        yield from (ruling.sentence for ruling in built.doubts)
    yield from map(_known, (*first.notes, *result.notes))
    yield from result.open


def _cheaper(way: CostWay, made: Costed, *, currency: str) -> Iterator[Sentence]:
    """Another rent of the same machine that costs clearly less."""
    rents = [cost_way for cost_way in made.cost_ways if way.kind in _RENTS and cost_way.kind in _RENTS]
    least = min(rents, key=lambda cost_way: cost_way.ledger.total.value, default=way)
    if least.ledger.total.value < (1 - _APART) * way.ledger.total.value:
        usd = show_money(least.ledger.total.value, currency)
        yield say("{way} costs less: {usd} over the years", way=costing.name_of(least, made), usd=usd)


def _once(sentences: Iterator[Shown]) -> Iterator[Shown]:
    """What several places say, once."""
    yield from {str(sentence): sentence for sentence in sentences}.values()


def _tests(result: Decided) -> Table:
    """What is measured before anybody pays, and when it passes."""
    first, wish = result.first, result.wish
    rate = _rate(first)
    passes = say("every node passes; the drain list is empty")
    if first.n_nodes == 1:
        passes = say("no open faults or slow components")
    rows: list[tuple[Shown, ...]] = [(say("hardware"), passes, "")]
    if rate is not None:
        rows.append(
            (
                say("throughput, {unit}", unit=rate[0]),
                f">= {show_short(rate[1].low)}",
                show_short(rate[1].value),
            )
        )
    for name, head, bound in (("ttft_s", "TTFT", wish.ttft_s), ("tpot_s", "TPOT", wish.tpot_s)):
        estimate = first.figures.get(name)
        if estimate is not None:
            most = estimate.high if bound is None else bound
            rows.append((head, f"<= {limit_time(most)}", limit_time(estimate.value)))
    if first.rank_bytes is not None:
        size = first.rank_bytes
        most_bytes = size.high if first.room_bytes is None else min(size.high, first.room_bytes)
        rows.append((say("memory of a GPU"), f"<= {show_bytes(most_bytes)}", show_bytes(size.value)))
    columns = (say("what"), prose(say("passes")), say("planned"))
    return table(columns, rows, title=say("acceptance criteria"))


def _commands(result: Decided) -> Iterator[str]:
    """On the machine, in this order."""
    file = shlex.quote(result.plan)
    if result.asked:
        yield f"{result.asked} --json > {file}"
    yield f"rigright doctor --for {file}"
    many = result.first.n_nodes > 1
    yield "rigright fleet bench --hosts hosts.txt --accept handover" if many else "rigright bench"
    if "ttft_s" in result.first.figures:
        yield f"rigright bench endpoint --endpoint http://127.0.0.1:8000/v1 --plan {file}"
    else:
        yield f"rigright validate measured.json --plan {file}"


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


def _why(result: Decided) -> tuple[Sentence | str, ...]:
    return tuple(_reasons(result))


def _dangers(result: Decided) -> tuple[Sentence | str, ...]:
    return tuple(_once(_risks(result)))


def _acceptance(result: Decided) -> tuple[str, ...]:
    return tuple(_commands(result))


plain = telling.RecordPrinter(
    Decided,
    costing.plain,
    building.plain,
    verdict=verdict,
    reasons=_why,
    risks=_dangers,
    acceptance=_acceptance,
)

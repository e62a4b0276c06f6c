"""The page of `cost`: when buying has paid for itself, every way side by side, and what it adds up to."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from rigright.base import telling
from rigright.base.money import CNY, currency_of, show_money
from rigright.base.page import (
    Commands,
    Curve,
    Line,
    Page,
    Plot,
    Shown,
    Table,
    answer_of,
    known,
    number,
    prose,
    records,
    table,
)
from rigright.base.units import KILO, MEGA, show_short
from rigright.base.words import Bilingual, Sentence, say, with_commas
from rigright.cost.estimate import Estimate, scaled
from rigright.facts.chips import short
from rigright.facts.clouds import cloud_shown
from rigright.money.lifetime import Payback
from rigright.money.machine_price import BILL
from rigright.report.pages.brief import model_name, months_between, months_shown, note_lines, old_prices
from rigright.report.pages.figures import amount, amount_band, money_between, symbol
from rigright.verbs.costing import API, BUY, OWN, RENT, REPLACE, RESERVED, SPOT, Costed, CostWay, WayWithWork

SURE, LIKELY = 0.995, 0.5  # shares of cases
_MOST_CURVES = 3  # of one screen
PARTS = {
    "machine": say("machine"), "power": say("electricity"), "idle": say("electricity while idle"),
    "upkeep": say("repairs"), "space": say("rack space"), "people": say("staff"), "resale": say("resale"),
}  # fmt: skip


def page(result: Costed, *, why: bool = False, details: bool = False) -> Page:
    """The page for people."""
    more = [] if details else [f"{result.asked} --details"]
    return Page.of(
        _kept(verdict(result), result),
        ways_table(result, banded=details),
        picture(result, details=details),
        map(Line.dim, sums(result)),
        old_prices(way.as_of for way in result.cost_ways if way.stale),
        resale(result) if details and result.worth_usd else None,
        _formulas(result) if why else None,
        sources(result) if why or details else None,
        note_lines((*assumed(result), *result.notes), details=details),
        Commands.next((*_next(result), *more) if result.asked else ()),
    )


def _kept(answer: Line, result: Costed) -> Line:
    """The same where a limit is missed: no machine is worth its price then."""
    if not result.missed:
        return answer
    reasons = with_commas(result.missed) or ""
    return Line.bad(say("misses the limit: {reasons}; {said}", reasons=reasons, said=answer.text))


def verdict(result: Costed) -> Line:
    """When buying has paid for itself, or what the years cost where there is nothing to hold it against."""
    currency, own, other = result.wish.currency, result.own, result.other
    fields: dict[str, Shown] = {"machine": short(result.machine), "years": _years(result.wish.years)}
    if result.spend.hours is not None:
        hours = f"{result.spend.hours:,.4g}"
        fields["years"] = say("{hours} hours of use in {years}", hours=hours, years=fields["years"])
    if own is None or other is None or (other.payback is None and own.kind != OWN):
        way = own or min(result.cost_ways, key=lambda way: way.ledger.total.value)
        usd = money_between(way.ledger.total, currency)
        return Line.good(
            say("{machine}: {usd} over {years}, {way}", usd=usd, way=_alone(way, result), **fields)
        )
    fields["costs"] = with_commas(_spent(way, result) for way in (own, other)) or ""
    chance = other.buy_is_cheaper
    bought, kept = (f"{share:.0%}" for share in (chance or 0.0, 1 - (chance or 0.0)))
    if own.kind == OWN or other.payback is None:
        sentence = say("{machine}: keeping it is cheaper over {years} in {share} of cases: {costs}",
                       share=bought, **fields)  # fmt: skip
        sure = chance is not None and not 1 - SURE < chance < SURE
        return Line(text=sentence, tone="good" if sure else "warn")
    paid = other.payback
    if chance is not None and chance < LIKELY:
        sentence = say("{machine}: do not buy for {years}, it costs more in {share} of cases: {costs}",
                       share=kept, **fields)  # fmt: skip
        return Line(text=sentence, tone="good" if chance < 1 - SURE else "warn")
    if paid.share < LIKELY or not math.isfinite(paid.months):
        sentence = say(
            "{machine}: buying is cheaper over {years} in {share} of cases, counting resale: {costs}",
            share=bought, **fields,
        )  # fmt: skip
        return Line.warn(sentence)
    span = say("{months} months", months=months_between(paid.low, paid.high))
    if not math.isfinite(paid.high):
        span = say("{months} months or more", months=months_shown(paid.low))
    if paid.share >= SURE:
        return Line.good(
            say("{machine}: buying pays off after {span}; over {years}: {costs}", span=span, **fields)
        )
    share = f"{paid.share:.0%}"
    text = say("{machine}: buying pays off after {span}, within {years} in {share} of cases; {costs}",
               span=span, share=share, **fields)  # fmt: skip
    return Line.warn(text)


def _alone(way: CostWay, result: Costed) -> Shown:
    """The only way that is known, and what nobody says of the other."""
    if result.wish.buy is not None or way.kind not in {BUY, RENT, SPOT, RESERVED}:
        return name_of(way, result)
    if way.kind == BUY:
        return say("bought; no rental price known")
    return say("{way}; no purchase price known", way=name_of(way, result))


def _spent(way: CostWay, result: Costed) -> Sentence:
    """What all the years of a way cost, in few words."""
    usd, label = show_money(way.ledger.total.value, result.wish.currency), cloud_shown(way.label)
    return {
        OWN: say("{usd} kept", usd=usd),
        BUY: say("{usd} bought used", usd=usd) if result.used else say("{usd} bought", usd=usd),
        RENT: say("{usd} rented ({label})", usd=usd, label=label),
        SPOT: say("{usd} at spot prices ({label})", usd=usd, label=label),
        RESERVED: say("{usd} by contract ({label})", usd=usd, label=label),
    }.get(way.kind, say("{usd} through the API", usd=usd))


def name_of(way: CostWay, result: Costed) -> Sentence:
    """One way as people call it."""
    years, label = _years(way.years or 0.0), cloud_shown(way.label)
    other = say("{machine}", machine=way.label) if way.label else say("the same model")
    monthly = way.kind == RESERVED and (way.years or 0.0) < 1
    return {
        OWN: say("keep it"),
        BUY: say("buy used") if result.used else say("buy"),
        REPLACE: say("buy, then {machine} after {years}", years=years, machine=other),
        RENT: say("rent, {label}", label=label),
        SPOT: say("rent at spot prices, {label}", label=label),
        RESERVED: say("rent by the month, {label}", label=label)
        if monthly
        else say("rent for {years}, {label}", years=years, label=label),
        API: say("API"),
    }[way.kind]


def _years(years: float) -> Sentence:
    months = years * 12
    if months < 12 and abs(months - round(months)) < 1e-6:
        return say("{months} months", months=round(months))
    return say("{years} years", years=f"{years:g}")


def ways_table(result: Costed, *, banded: bool) -> Table:
    """Every way, the dearest column last."""
    currency, sign = result.wish.currency, symbol(result.wish.currency)
    unit = "" if result.output is None else result.output.unit
    each = {
        "audio_h": say("{sign}/audio hour", sign=sign), "images": say("{sign}/1K images", sign=sign),
        "videos": say("{sign}/video", sign=sign), "texts": say("{sign}/1K texts", sign=sign),
    }.get(unit, "")  # fmt: skip
    keeps = say("buy is cheaper") if result.way(OWN) is None else say("keeping is cheaper")

    def money(estimate: Estimate | None) -> str:
        if estimate is None:
            return ""
        band = amount_band(estimate, currency) if banded else ""
        return amount(estimate.value, currency) + (f" ({band})" if band else "")

    def unit_money(way: CostWay) -> str:
        usd = result.usd_per_unit(way)
        return money(None if usd is None else scaled(usd, 1 if unit == "audio_h" else KILO))

    def upfront(way: CostWay) -> str:
        usd = way.ledger.terms[0].upfront
        return money(usd) if usd.value else ""

    def month(way: CostWay) -> str:
        return amount(way.ledger.terms[0].month_usd, currency)

    return records(
        result.cost_ways,
        (
            (prose(""), lambda way: name_of(way, result)),
            (number(say("up front, {sign}", sign=sign)), upfront),
            (
                number(say("{sign}/month", sign=sign)),
                lambda way: amount(way.ledger.terms[0].month_usd, currency),
            ),
            (number(say("total, {sign}", sign=sign)), lambda way: money(way.ledger.total)),
            (number(say("{sign}/1M tok", sign=sign)), lambda way: money(result.usd_per_mtok(way))),
            (number(each), unit_money),
            (number(say("{sign}/run", sign=sign)), lambda way: money(result.usd_per_run(way))),
            (number(say("pays off, months (80 %)")), lambda way: known(way.payback, paid_off)),
            (number(keeps), lambda way: known(way.buy_is_cheaper, "{:.0%}".format)),
        ),
        filled=True,
    )


def paid_off(paid: Payback) -> Shown:
    """When it has paid for itself, in months."""
    low, high = paid.low, paid.high
    if not math.isfinite(low):
        return say("never")
    return months_between(low, high) if math.isfinite(high) else f"{months_shown(low)}+"


def picture(result: Costed, *, details: bool) -> Plot:
    """What has been paid by each month; on one screen of the ways that matter most."""
    rate = currency_of(result.wish.currency).per_usd
    months = sorted(
        {float(month) for month in np.linspace(0, result.months, 37)}
        | {term.start for way in result.cost_ways for term in way.ledger.terms}
    )
    shown = list(result.cost_ways)
    if not details:
        cheap = sorted(result.cost_ways, key=lambda way: way.ledger.total.value)
        first = [result.own, result.way(REPLACE), result.other, *cheap]
        places = dict.fromkeys(result.cost_ways.index(way) for way in first if way is not None)
        shown = [result.cost_ways[place] for place in list(places)[:_MOST_CURVES]]
    curves = tuple(
        Curve(
            letter="ABCDEFGH"[place % 8], name=name_of(way, result),
            points=tuple((month, way.ledger.paid(month).value * rate) for month in months),
        )
        for place, way in enumerate(shown)
    )  # fmt: skip
    return Plot(
        curves=curves, spots=(), x_name=say("month"),
        y_name=say("cumulative cost, {sign}", sign=symbol(result.wish.currency)), linear=True,
        lines=14 if details else 7,
    )  # fmt: skip


def sums(result: Costed) -> Iterator[Sentence]:
    """What the bought machine's total is made of, its power, and its carbon."""
    currency = result.wish.currency
    own = result.own
    if own is not None and own.kind == BUY and result.cards_usd is not None:
        around = result.host_usd.value if result.host_usd else 0.0
        cards, rest = (show_money(usd, currency) for usd in (result.cards_usd.value, around))
        sentences = [say("cards {usd}", usd=cards), say("rest of the machine {usd}", usd=rest)]
        if not around or not result.cards_usd.value:
            sentences = [say("machine {usd}", usd=show_money(result.cards_usd.value + around, currency))]
        sentences += [
            say("{name} {usd}", name=PARTS[name], usd=show_money(estimate.value, currency))
            for name, estimate in own.ledger.shares.items()
            if name != "machine"
        ]
        yield say("bought: {parts}", parts=with_commas(sentences) or "")
    if own is not None and result.power_w.value:
        yield say(
            "power {watts} W, idle {idle} W: {kwh} kWh per month at {tariff}/kWh, PUE {pue}",
            watts=show_short(result.power_w.value), idle=show_short(result.idle_w),
            kwh=show_short(result.kwh_per_month), pue=f"{result.tariff.pue:g}",
            tariff=show_money(result.tariff.usd_per_kwh, currency),
        )  # fmt: skip
    if result.carbon is not None and result.carbon_kg:
        yield say(
            "CO2 over {years}: {kg} kg ({grams} g/kWh, {date})", years=_years(result.wish.years),
            kg=show_short(result.carbon_kg), grams=f"{result.carbon.value:.0f}", date=result.carbon.as_of,
        )  # fmt: skip


def assumed(result: Costed, *, flags: bool = True) -> Iterator[Sentence]:
    """What nobody said, and what is not counted; `flags`: with the options that say it."""
    wish, output = result.wish, result.output
    if output is not None and output.output_tok:
        made, model = output.output_tok / MEGA, model_name(output.model) or say("needed")
        tokens = Bilingual(f"{show_short(made)}M", f"{show_short(made / 100)} 亿")
        yield say("{model}: {tokens} output tokens per month", model=model, tokens=tokens)
    foreign = [way for way in result.cost_ways if way.currency == CNY and wish.currency != CNY]
    names = with_commas({say("{cloud}", cloud=cloud_shown(way.label)): None for way in foreign})
    yield say("{clouds}: in China, billed in yuan", clouds=names)

    def by(thing: Sentence, option: str) -> Sentence:
        return say("{part} ({option})", part=thing, option=option) if flags else thing

    guessed = [by(say("24/7 use"), "--duty")] if result.duty == 1 else []
    if wish.place is None and wish.tariff_usd_per_kwh is None and result.own:
        tariff = show_money(result.tariff.usd_per_kwh, wish.currency)
        guessed.append(by(say("{tariff}/kWh", tariff=tariff), "--place, --tariff"))
    yield say("assumed: {things}", things=with_commas(guessed))
    spend = result.spend
    spent = {"space": spend.space_usd, "upkeep": spend.upkeep, "people": spend.people_usd}
    left = [by(PARTS[name], f"--{name}") for name, value in spent.items() if not value]
    if result.boxes > 1:
        left.append(say("the network between {count} machines", count=result.boxes))
    if result.own:
        yield say("not counted: {options}", options=with_commas(left))


def resale(result: Costed) -> Table:
    """What the machine would still bring, year by year."""
    currency = result.wish.currency
    head = say("resale, {sign}", sign=symbol(currency))
    return records(
        enumerate(result.worth_usd),
        (
            (number(say("after, years")), lambda year: str(year[0])),
            (number(head), lambda year: amount(year[1].value, currency)),
            (number(say("80 % band")), lambda year: amount_band(year[1], currency)),
        ),
        title=say("resale value today"),
    )


def _formulas(result: Costed) -> Table:
    """How the figures come about, with the numbers of this answer."""
    currency, own, other = result.wish.currency, result.own, result.other
    hour = show_money(result.tariff.usd_per_kwh, currency)
    rows: list[tuple[Shown, ...]] = [
        (say("electricity"), say("kW x 730.5 h x duty x PUE x price per kWh"),
         f"{result.power_w.value / KILO:.3g} x 730.5 x {result.duty:g} x {result.tariff.pue:g} x {hour}"),
    ]  # fmt: skip
    if own is not None:
        term = own.ledger.terms[0]
        ends = (term.upfront.value, term.month_usd, own.ledger.resale.value)
        price, paid, left = (show_money(usd, currency) for usd in ends)
        rows.append((say("total"), say("up front + months x monthly costs - resale"),
                     f"{price} + {result.months:g} x {paid} - {left}"))  # fmt: skip
        if other is not None and other.payback is not None:
            rent = show_money(other.ledger.terms[0].month_usd, currency)
            rows.append((say("pays off"), say("up front / (monthly cost of alternative - own monthly cost)"),
                         f"{price} / ({rent} - {paid})"))  # fmt: skip
    columns = ("", prose(say("formula")), say("numbers"))
    return table(columns, rows, title=say("how it is calculated"))


def sources(result: Costed) -> Table:
    """Where each price comes from."""
    rows: list[tuple[Shown, ...]] = [
        (name_of(way, result), str(way.as_of or ""), way.source) for way in result.cost_ways if way.source
    ]
    if result.cards_usd is not None and result.cards_usd.why:
        rows.insert(0, (say("cards"), str(result.cards_usd.as_of or ""), result.cards_usd.why))
    if result.host_usd is not None and result.host_usd.value:
        why: Shown = result.host_usd.why
        why = say("the parts list of `rigright build`") if why == BILL else why
        rows.insert(1, (say("rest of the machine"), str(result.host_usd.as_of or ""), why))
    if result.carbon is not None:
        rows.append((say("carbon"), result.carbon.as_of, result.carbon.source))
    columns = (say("price"), say("as of"), prose(say("source")))
    return table(columns, rows, title=say("prices and their sources"))


def _next(result: Costed) -> Iterator[str]:
    if result.output is None:
        yield f"{result.asked} --for llama-3.1-8b"
    elif result.wish.place is None and result.wish.tariff_usd_per_kwh is None:
        yield f"{result.asked} --place {'CN-GD' if result.wish.currency == CNY else 'US-CA'}"


def sheet(result: Costed) -> Page:
    """For a spreadsheet: what has been paid by each month."""
    heads = (say("month"), *(name_of(way, result) for way in result.cost_ways))
    rows = tuple(
        (str(month), *(f"{way.ledger.paid(float(month)).value:.2f}" for way in result.cost_ways))
        for month in range(int(result.months) + 1)
    )
    return Page.of(say("paid so far, USD"), table(heads, rows))


def _name(cost_way: WayWithWork) -> Sentence:
    return name_of(cost_way.way, cost_way.costed)


plain = telling.RecordPrinter(
    Costed, telling.RecordPrinter(WayWithWork, name=_name), verdict=answer_of(verdict)
)

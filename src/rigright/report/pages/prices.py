"""The pages of `prices`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rigright.base import telling
from rigright.base.money import from_currency, show_money
from rigright.base.page import (
    Column,
    Commands,
    Line,
    Page,
    Points,
    Shown,
    Table,
    Tone,
    known,
    number,
    prose,
    records,
)
from rigright.base.record import dataclass
from rigright.base.words import Sentence, say, with_commas
from rigright.facts.chips import short
from rigright.facts.clouds import cloud_shown
from rigright.facts.own_prices import Flaw
from rigright.facts.prices import Price
from rigright.report.pages.figures import amount, symbol
from rigright.verbs.prices import ChipPrices, PriceList, PricesOfNames

MOST_ROWS, _MOST_RENTS, _MOST_FLAWS = 20, 3, 15
KINDS = {
    "launch": say("new, launch price"),
    "shop": say("new, shop median"),
    "street": say("new, street price"),
    "used": say("used"),
    "claim": say("a claim"),
    "own": say("your own, new"),
    "own-used": say("your own, used"),
    "own-rent": say("your own, per hour"),
}


def page(result: PricesOfNames, *, why: bool = False) -> Page:
    """The page for people: what is taken, and all that is known."""
    if result.parts:
        return Page.of(say("prices of {names}", names=result.names), _parts_table(result))
    if len(result.chips) != 1:
        return _many(result)
    prices, currency = result.chips[0], result.currency
    rents = with_commas(_rents(prices, currency))
    return Page.of(
        _taken(prices, currency),
        Line.dim(prices.why),
        _known(prices, currency, why=why),
        Line(text=say("rent per card and hour: {offers}", offers=rents)),
        Line.warn(say("old price: verify before buying; its band is wider")) if prices.stale else None,
        Commands.next(("rigright prices import FILE",)),
    )


def _rents(prices: ChipPrices, currency: str) -> Iterator[Sentence]:
    """What the cheapest clouds take, each once."""
    cheapest = {offer.provider: offer for offer in reversed(prices.rents)}
    for offer in sorted(cheapest.values(), key=prices.rents.index)[:_MOST_RENTS]:
        usd = show_money((offer.usd_per_h or 0.0) / offer.n_chips, currency)
        cloud, date = cloud_shown(offer.provider), offer.as_of or "?"
        yield say("{cloud} {usd} ({date})", cloud=cloud, usd=usd, date=date)


def _taken(prices: ChipPrices, currency: str) -> Sentence:
    name = short(prices.name)
    if prices.usd is None:
        return say("{name}: no price known", name=name)
    band = f"{show_money(prices.usd.low, currency)}-{show_money(prices.usd.high, currency)}"
    fields = {"name": name, "usd": show_money(prices.usd.value, currency), "band": band}
    if prices.used:
        return say("{name}: {usd} used ({band})", **fields)
    return say("{name}: {usd} new ({band})", **fields)


def _ends(currency: str) -> tuple[Column, ...]:
    """The heads of a price and its ends."""
    sign = symbol(currency)
    heads = (say("low {sign}", sign=sign), say("typical {sign}", sign=sign), say("high {sign}", sign=sign))
    return tuple(map(number, heads))


def _known(prices: ChipPrices, currency: str, *, why: bool) -> Table:
    low, typical, high = _ends(currency)

    def cell(row: Price, end: float | None) -> str | None:
        return known(end, lambda end: amount(from_currency(end, row.currency), currency))

    return records(
        prices.rows,
        (
            ("", lambda row: "*" if row in prices.counted else ""),
            (prose(say("condition")), lambda row: KINDS.get(row.kind, say("unknown"))),
            (low, lambda row: cell(row, row.low)),
            (typical, lambda row: cell(row, row.typical)),
            (high, lambda row: cell(row, row.high)),
            (say("market"), lambda row: row.currency),
            (say("as of"), lambda row: row.as_of),
            (prose(say("source")), (lambda row: row.source) if why else None),
        ),
        title=say("all known prices (* used)"),
    )


def _many(result: PricesOfNames) -> Page:
    """One row a card, the newest price first."""
    known = [prices for prices in result.chips if prices.usd is not None]
    ordered = sorted(known, key=lambda prices: str(prices.usd.as_of if prices.usd else ""), reverse=True)
    old, left = sum(prices.stale for prices in known), len(ordered) - MOST_ROWS
    more = say("{count} more: --csv lists all; give a name to see one", count=left)
    return Page.of(
        say("{count} cards have a price, {old} of them outdated", count=len(known), old=old),
        _list(ordered[:MOST_ROWS], result.currency),
        Line.dim(more) if left > 0 else None,
    )


def _list(every: Iterable[ChipPrices], currency: str) -> Table:
    low, typical, high = _ends(currency)
    return records(
        [(prices, prices.usd) for prices in every if prices.usd is not None],
        (
            (prose(say("chip")), lambda row: short(row[0].name)),
            (say("condition"), lambda row: say("used") if row[0].used else say("new")),
            (low, lambda row: amount(row[1].low, currency)),
            (typical, lambda row: amount(row[1].value, currency)),
            (high, lambda row: amount(row[1].high, currency)),
            (say("as of"), lambda row: str(row[1].as_of)),
        ),
        tone=lambda row: "dim" if row[0].stale else "plain",
    )


def _parts_table(result: PricesOfNames) -> Table:
    currency = result.currency
    return records(
        result.parts,
        (
            (prose(say("part")), lambda row: row.name),
            (say("condition"), lambda row: say("used") if row.condition == "used" else say("new")),
            (_ends(currency)[1], lambda row: amount(from_currency(row.typical, row.currency), currency)),
            (say("as of"), lambda row: row.as_of),
            (prose(say("why not used")), lambda row: row.left_out),
        ),
    )


def sheet(result: PricesOfNames) -> Page:
    """For a spreadsheet: every price of a card that was named; else one row a card, or a part."""
    if result.parts:
        return Page.of("", _parts_table(result))
    if len(result.chips) == 1:
        return Page.of("", _known(result.chips[0], result.currency, why=True))
    return Page.of("", _list(result.chips, result.currency))


def judged(result: PriceList) -> Page:
    """A list: how many prices, and what is wrong or doubtful."""
    wrong = [flaw for flaw in result.flaws if flaw.wrong]
    doubts = [flaw for flaw in result.flaws if not flaw.wrong]
    tone: Tone = "bad" if wrong else "warn" if doubts else "good"
    count = len(result.prices)
    title = say("{count} valid prices, {doubts} warnings", count=count, doubts=len(doubts))
    if wrong:
        title = say("nothing imported: {wrong} invalid rows", wrong=len(wrong))
    elif result.kept is not None:
        fields = {"count": count, "all": result.kept}
        title = say("{count} prices imported, {all} in total; every command now uses them", **fields)
    chips = [price.chip for price in result.prices[:1]] if result.kept is not None else []
    return Page.of(
        title,
        Points.of(map(_flaw, wrong), title=say("invalid"), tone="bad", most=_MOST_FLAWS),
        Points.of(map(_flaw, doubts), title=say("to check"), tone="warn", most=_MOST_FLAWS),
        Line.dim(say("kept in {file}", file=result.place or None)),
        (Commands.next((f"rigright prices show {chip}", "rigright prices forget")) for chip in chips),
        tone=tone,
    )


def _flaw(flaw: Flaw) -> Shown:
    sentence = say("line {line}: {said}", line=flaw.line, said=flaw.said) if flaw.line else flaw.said
    return sentence if flaw.hint is None else say("{said} ({hint})", said=sentence, hint=flaw.hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """A list of your own that counts no more."""

    removed: str  # the file that was removed


def forgotten(place: str) -> Page:
    """The list is gone."""
    return Page.of(say("removed: {file}", file=place), tone="good")


plain = telling.RecordPrinter(PricesOfNames)
plain_list = telling.RecordPrinter(PriceList)
plain_forgotten = telling.RecordPrinter(Forgotten)

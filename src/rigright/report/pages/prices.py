"""The pages of `prices`."""

from __future__ import annotations

from rigright.base import telling
from rigright.base.money import from_currency, show_money
from rigright.base.page import Commands, Line, Page, Part, Points, Shown, Table, Tone, number, prose, table
from rigright.base.record import dataclass
from rigright.base.words import Sentence, say, with_commas
from rigright.facts.chips import short
from rigright.facts.clouds import cloud_shown
from rigright.facts.own_prices import Flaw
from rigright.facts.prices import Price
from rigright.report.pages.figures import amount, symbol
from rigright.verbs.priced import ChipPrices, PriceList, PricesOfNames

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
    prices = result.chips[0]
    parts: list[Part] = [Line.dim(prices.why), _known(prices, result.currency, why=why)]
    cheapest = {offer.provider: offer for offer in reversed(prices.rents)}  # of each cloud
    rents = sorted(cheapest.values(), key=prices.rents.index)[:_MOST_RENTS]
    if rents:
        sentence = with_commas(
            say(
                "{cloud} {usd} ({date})",
                cloud=cloud_shown(offer.provider),
                date=offer.as_of or "?",
                usd=show_money((offer.usd_per_h or 0.0) / offer.n_chips, result.currency),
            )
            for offer in rents
        )
        parts.append(Line(text=say("rent per card and hour: {offers}", offers=sentence)))
    if prices.stale:
        parts.append(Line.warn(say("old price: verify before buying; its band is wider")))
    parts.append(Commands.next(("rigright prices import FILE",)))
    return Page.of(_taken(prices, result.currency), parts, tone="plain")


def _taken(prices: ChipPrices, currency: str) -> Sentence:
    name = short(prices.name)
    if prices.usd is None:
        return say("{name}: no price known", name=name)
    band = f"{show_money(prices.usd.low, currency)}-{show_money(prices.usd.high, currency)}"
    fields = {"name": name, "usd": show_money(prices.usd.value, currency), "band": band}
    return (
        say("{name}: {usd} used ({band})", **fields)
        if prices.used
        else say("{name}: {usd} new ({band})", **fields)
    )


def _known(prices: ChipPrices, currency: str, *, why: bool) -> Table:
    sign = symbol(currency)

    def cell(row: Price, end: float | None) -> str:
        return "" if end is None else amount(from_currency(end, row.currency), currency)

    rows = tuple(
        (
            "*" if row in prices.counted else "",
            KINDS.get(row.kind, say("unknown")),
            cell(row, row.low),
            cell(row, row.typical),
            cell(row, row.high),
            row.currency,
            row.as_of,
            *((row.source,) if why else ()),
        )
        for row in prices.rows
    )
    columns = (
        "",
        prose(say("condition")),
        *map(
            number,
            (say("low {sign}", sign=sign), say("typical {sign}", sign=sign), say("high {sign}", sign=sign)),
        ),
        say("market"),
        say("as of"),
        *((prose(say("source")),) if why else ()),
    )
    return table(columns, rows, title=say("all known prices (* used)"))


def _many(result: PricesOfNames) -> Page:
    """One row a card, the newest price first."""
    known = [prices for prices in result.chips if prices.usd is not None]
    ordered = sorted(known, key=lambda prices: str(prices.usd.as_of if prices.usd else ""), reverse=True)
    old = sum(prices.stale for prices in known)
    parts: list[Part] = [_list(ordered[:MOST_ROWS], result.currency)]
    if len(ordered) > MOST_ROWS:
        parts.append(
            Line.dim(
                say("{count} more: --csv lists all; give a name to see one", count=len(ordered) - MOST_ROWS)
            )
        )
    title = say("{count} cards have a price, {old} of them outdated", count=len(known), old=old)
    return Page.of(title, parts)


def _list(prices: list[ChipPrices], currency: str) -> Table:
    sign = symbol(currency)
    rows: list[tuple[Shown, ...]] = []
    tones: list[Tone] = []
    for item in prices:
        if item.usd is None:
            continue
        ends = (item.usd.low, item.usd.value, item.usd.high)
        state = say("used") if item.used else say("new")
        rows.append((short(item.name), state, *(amount(end, currency) for end in ends), str(item.usd.as_of)))
        tones.append("dim" if item.stale else "plain")
    heads = (say("low {sign}", sign=sign), say("typical {sign}", sign=sign), say("high {sign}", sign=sign))
    return table((prose(say("chip")), say("condition"), *map(number, heads), say("as of")), rows, tones=tones)


def _parts_table(result: PricesOfNames) -> Table:
    currency = result.currency
    rows = tuple(
        (
            row.name,
            say("used") if row.condition == "used" else say("new"),
            amount(from_currency(row.typical, row.currency), currency),
            row.as_of,
            row.left_out or "",
        )
        for row in result.parts
    )
    columns = (
        prose(say("part")),
        say("condition"),
        number(say("typical {sign}", sign=symbol(currency))),
        say("as of"),
        prose(say("why not used")),
    )
    return table(columns, rows)


def sheet(result: PricesOfNames) -> Page:
    """For a spreadsheet: every price of a card that was named; else one row a card, or a part."""
    if result.parts:
        return Page.of("", _parts_table(result))
    if len(result.chips) == 1:
        return Page.of("", _known(result.chips[0], result.currency, why=True))
    return Page.of("", _list([prices for prices in result.chips if prices.usd], result.currency))


def judged(result: PriceList) -> Page:
    """A list: how many prices, and what is wrong or doubtful."""
    wrong = [flaw for flaw in result.flaws if flaw.wrong]
    doubts = [flaw for flaw in result.flaws if not flaw.wrong]
    count = len(result.prices)
    tone: Tone = "bad" if wrong else "warn" if doubts else "good"
    if wrong:
        title = say("nothing imported: {wrong} invalid rows", wrong=len(wrong))
    elif result.kept is not None:
        title = say(
            "{count} prices imported, {all} in total; every command now uses them",
            count=count,
            all=result.kept,
        )
    else:
        title = say("{count} valid prices, {doubts} warnings", count=count, doubts=len(doubts))
    parts: list[Part] = []
    for flaws, head in ((wrong, say("invalid")), (doubts, say("to check"))):
        items = tuple(_flaw(flaw) for flaw in flaws[:_MOST_FLAWS])
        if len(flaws) > _MOST_FLAWS:
            items = (*items, say("{count} more", count=len(flaws) - _MOST_FLAWS))
        parts.append(Points.of(items, title=head, tone="bad" if flaws is wrong else "warn"))
    if result.place:
        parts.append(Line.dim(say("kept in {file}", file=result.place)))
    if result.kept is not None and result.prices:
        chips = list(dict.fromkeys(price.chip for price in result.prices))
        parts.append(Commands.next((f"rigright prices show {chips[0]}", "rigright prices forget")))
    return Page.of(title, parts, tone=tone)


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

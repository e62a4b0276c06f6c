"""Prices, with their date and a band that widens with age."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import cache
from math import exp, inf, log
from typing import Any

from rigright.base.money import from_currency
from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_toml
from rigright.cost.estimate import Estimate
from rigright.facts.chips import Chip
from rigright.facts.cpus import CpuModel
from rigright.facts.own_prices import in_force
from rigright.facts.prices import (
    OWN_RENT,
    OWN_USED,
    OWNS,
    STALE_DAYS,
    USED,
    PartPrice,
    Price,
    dated,
    newest_prices,
    part_prices,
    price_when_new,
)

DAYS_PER_YEAR = 365.25
GUESSED = "fitted"  # the mark of a price that nobody asks: reckoned from the first


@cache
def assumptions() -> Mapping[str, Any]:
    """What is taken where nobody says; the head of data/money.toml tells what each means."""
    return read_toml(DATA / "money.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """What one card is bought for: the median of what is asked, with the range of it, in dollars."""

    chip: str
    usd: float
    usd_low: float
    usd_high: float
    used: bool
    mark: str  # "measured" in shops, else "stated", or GUESSED
    as_of: str  # of the newest row
    source: str
    currency: str  # of the rows
    own: bool = False  # the user's


def quote_of(chip: Chip, *, today: date, currency: str = "USD", used: bool | None = None) -> Quote | None:
    """What a card is bought for on its market; None where nobody says.

    The user's own prices go before ours. Of what is made no more, where nobody says what a used one goes
    for: the last price of a new one, less what such machines lose in so many years, marked GUESSED.
    """
    own = [row for row in in_force().get(chip.id, ()) if row.kind != OWN_RENT]
    if own:
        return quoted(newest_own(own, used=chip.ended is not None if used is None else used))
    rows = newest_prices(chip, currency=currency, used=used)
    if rows:
        return quoted(rows)
    first = price_when_new(chip) if chip.ended else None
    if first is None:
        return None
    usd = from_currency(first.typical, first.currency)
    years = max((today - dated(first.as_of)).days, 0) / DAYS_PER_YEAR
    kept = kept_share(years, segment="soc" if chip.unified_memory else chip.segment)
    return Quote(
        chip=chip.id, usd=usd * kept["usual"], usd_low=usd * kept["fast"], usd_high=usd * kept["slow"],
        used=True, mark=GUESSED, as_of=first.as_of, currency=first.currency,
        source=f"{first.source}; less the loss of {years:.1f} years",
    )  # fmt: skip


def newest_own(rows: Sequence[Price], *, used: bool) -> tuple[Price, ...]:
    """Of the user's own prices of a chip those that count: as new or used as asked, the newest half year."""
    fit = [row for row in rows if (row.kind == OWN_USED) is used] or rows
    newest = max(dated(row.as_of) for row in fit)
    recent = [row for row in fit if (newest - dated(row.as_of)).days <= STALE_DAYS]
    return tuple(sorted(recent, key=lambda row: dated(row.as_of), reverse=True))


def kept_share(years: float, *, segment: str, used: bool = False) -> dict[str, float]:
    """What a machine is still worth after some years: "slow" to lose it, "usual", "fast".

    A seller's loss comes at once, the rest year by year; both are fitted in decision 050.
    """
    table = assumptions()["resale"]
    rates = table.get(segment, table["consumer"])
    loss = 0.0 if used else rates["loss"]
    return {end: (1 - loss) * exp(-rates[end] * years) for end in ("slow", "usual", "fast")}


def quoted(rows: Sequence[Price]) -> Quote:
    """Prices of one chip, the newest first, as one."""
    newest = rows[0]
    values = [from_currency(row.typical, row.currency) for row in rows]
    ends = [
        from_currency(end, row.currency) for row in rows for end in (row.low, row.high) if end is not None
    ]
    return Quote(
        chip=newest.chip,
        usd=_median(values),
        usd_low=min(values + ends),
        usd_high=max(values + ends),
        used=newest.kind in {USED, OWN_USED},
        mark="measured" if newest.kind == "shop" else "stated",
        as_of=newest.as_of,
        source="; ".join(dict.fromkeys(row.source for row in rows)),
        currency=newest.currency,
        own=newest.kind in OWNS,
    )


def _median(values: Iterable[float]) -> float:
    """The middle one, or the mean of the two there; to load `statistics` takes longer than a plan may."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return (ordered[half] + ordered[~half]) / 2


def priced(quote: Quote, today: date) -> Estimate:
    """A price with its date and a band: what was asked, wider with its age."""
    width = price_width(quote.as_of, today, used=quote.used, own=quote.own)
    return Estimate(
        value=quote.usd,
        low=min(quote.usd * (1 - width), quote.usd_low),
        high=max(quote.usd * (1 + width), quote.usd_high),
        mark=quote.mark,
        as_of=quote.as_of,
        why=quote.source,
    )


def price_width(as_of: str | None, today: date, *, used: bool = False, own: bool = False) -> float:
    """Half the width of a price's band: it grows with every year since its date; used cards vary more.

    `own`: the user's, who is sure of it on its day.
    """
    table = assumptions()
    if as_of is None:
        return float(table["most_spread"])
    years = max((today - dated(as_of)).days, 0) / DAYS_PER_YEAR
    spread = 0.0 if own else table["used_spread" if used else "price_spread"]
    return float(min(spread + table["price_drift"] * years, table["most_spread"]))


DIVISIBLE = {"ram", "disk"}  # bought as several smaller ones where that is cheaper


def ram_usd(kind: str, *, registered: bool, gb: float, today: date | None = None) -> Estimate | None:
    """What so many GB of memory cost: kind "ddr4" or "ddr5", with registers (servers) or without."""
    plain = kind.lower().partition("-")[0]
    return part_usd("ram", f"{plain}-registered" if registered else plain, size=gb, today=today)


def cpu_usd(row: CpuModel, today: date) -> Estimate | None:
    """What a processor costs: in the street, else as such ones of its socket do, else as its maker asks."""
    if row.street_price_usd is not None:
        width, usd = price_width(row.street_as_of, today), row.street_price_usd
        return Estimate(value=usd, low=usd * (1 - width), high=usd * (1 + width), mark="stated",
                        as_of=row.street_as_of, why=row.source)  # fmt: skip
    near = part_usd("cpu", row.socket.lower().partition(" ")[0], size=row.cores, today=today)
    asked = row.list_price_usd
    if near is not None or asked is None:
        return near
    return Estimate(value=asked * 0.95, low=asked * 0.8, high=asked * 1.1, mark="stated", as_of=row.as_of,
                    why=row.source)  # fmt: skip


def part_usd(
    kind: str, variant: str = "", *, size: float = 1.0, today: date | None = None
) -> Estimate | None:
    """What a part of some size costs: a processor by its cores, a supply by its watts, a disk by its TB.

    None where no price is known. From the newest half year of its prices, new ones before used; wider with
    their age where a day is named.
    """
    taken = [row for row in part_prices(kind, variant) if row.left_out is None]
    taken = [row for row in taken if row.condition != USED] or taken
    if not taken:
        return None
    newest = max(taken, key=lambda row: dated(row.as_of))
    since = dated(newest.as_of)
    recent = [row for row in taken if (since - dated(row.as_of)).days <= STALE_DAYS]
    value, low, high = (_sized(recent, size, end=end) for end in ("typical", "low", "high"))
    is_used = newest.condition == USED
    width = 0.0 if today is None else price_width(newest.as_of, today, used=is_used)
    return Estimate(
        value=value,
        low=min(low, value * (1 - width)),
        high=max(high, value * (1 + width)),
        mark="stated",
        as_of=newest.as_of,
        why="; ".join(dict.fromkeys(row.source for row in recent)),
    )


def _sized(rows: Sequence[PartPrice], size: float, *, end: str) -> float:
    """One end of a price at a size: by the unit of what is no larger, or between the nearest sizes."""
    pools: dict[str, Callable[[Iterable[float]], float]] = {"typical": _median, "low": min, "high": max}
    pool = pools[end]
    by_size: dict[float, list[float]] = {}
    for row in rows:
        value = getattr(row, end)
        amount = from_currency(row.typical if value is None else value, row.currency)
        by_size.setdefault(row.size, []).append(amount)
    sizes = sorted(by_size)
    if rows[0].kind in DIVISIBLE:
        usable = [item for item in sizes if item <= size] or sizes[:1]
        larger = [min(by_size[item]) for item in sizes if item > size]
        return float(min(pool(usd / item for item in usable for usd in by_size[item]) * size, *larger, inf))
    known = [float(pool(by_size[item])) for item in sizes]
    if not sizes[0] < size < sizes[-1]:
        nearest = 0 if size <= sizes[0] else -1
        return known[nearest] * size / sizes[nearest]
    place = next(place for place, item in enumerate(sizes) if item >= size)
    (left, right), (less, more) = sizes[place - 1 : place + 1], known[place - 1 : place + 1]
    return float(less * (more / less) ** (log(size / left) / log(right / left)))

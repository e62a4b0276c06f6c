"""The user's own prices: a CSV or JSON list, checked row by row, and the list that `prices import` keeps.

The list that is kept stands in the user's folder of settings; `use` puts it, and lists that somebody names,
in force for a while.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any

from rigright.base.bounded import bounded_csv, bounded_json
from rigright.base.errors import DataError, RigError
from rigright.base.files import is_file, read_bounded, settings_folder, write_whole
from rigright.base.money import USD, currency_of, from_currency
from rigright.base.record import dataclass
from rigright.base.units import GIGA, MIB
from rigright.base.words import Sentence, say
from rigright.facts.prices import OWN, OWN_RENT, OWN_USED, Price, dated, is_stale

FILE = "prices.csv"
MOST_BYTES, MOST_ROWS = 4 * MIB, 20_000
MOST_HINTS = 50  # rows that are told the nearest name
MOST_USD, MOST_USD_PER_H, MOST_CHARS = 1e7, 1e3, 200
COLUMNS = ("chip", "condition", "low", "price", "high", "currency", "as_of", "source", "provider")
HOURLY = "usd_per_h"  # a column of prices that rent a card
NAMES = {  # what people write over a column
    "gpu": "chip", "name": "chip", "型号": "chip", "显卡": "chip", "typical": "price", "价格": "price",
    "date": "as_of", "日期": "as_of", "货币": "currency", "成色": "condition", "来源": "source",
    "cloud": "provider", "厂商": "provider",
}  # fmt: skip
CONDITIONS = {
    "": OWN, "new": OWN, "全新": OWN, "used": OWN_USED, "二手": OWN_USED, "refurbished": OWN_USED,
    "rent": OWN_RENT, "rented": OWN_RENT, "租": OWN_RENT, "租用": OWN_RENT,
}  # fmt: skip
Listed = Mapping[str, tuple[Price, ...]]  # by chip
NamedList = tuple[str, Listed | None]  # a file, and its prices; None: read where they are asked for
_IN_FORCE: ContextVar[tuple[NamedList, ...]] = ContextVar("own_prices", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """What is wrong with a row of a list, or doubtful in it."""

    line: int | None  # of the file; None: all of it
    said: Sentence
    wrong: bool = True  # it cannot be used; else it is only doubted
    hint: Sentence | None = None


def place() -> Path:
    """Where the list stands that `prices import` keeps."""
    return settings_folder() / "rigright" / FILE


def used() -> tuple[NamedList, ...]:
    """The lists that are in force, the first asked last; none outside of `use`."""
    return _IN_FORCE.get()


@contextmanager
def use(*lists: NamedList) -> Iterator[None]:
    """Put lists in force beside those that are: of a chip that more than one names the last counts."""
    before = _IN_FORCE.set((*_IN_FORCE.get(), *lists))
    try:
        yield
    finally:
        _IN_FORCE.reset(before)


def kept() -> NamedList:
    """The list that `prices import` keeps; it is read where a price is asked for."""
    return str(place()), None


def listed(file: str | None, *, today: date) -> tuple[NamedList, ...]:
    """A list that somebody named, read at once; none where it is in force already, or none is named."""
    if file is None or any(name == file for name, _ in _IN_FORCE.get()):
        return ()
    return ((file, _grouped(read_own(file, today=today))),)


def in_force() -> Mapping[str, tuple[Price, ...]]:
    """The user's own prices that count, by chip; none outside of `use`."""
    result: dict[str, tuple[Price, ...]] = {}
    for name, prices in _IN_FORCE.get():
        if prices is not None:
            result |= prices
        elif is_file(Path(name)):
            result |= _kept(Path(name), Path(name).stat().st_mtime_ns)
    return result


def own_clouds() -> frozenset[str]:
    """Clouds of which the user's own prices rent."""
    rows = (row for rows in in_force().values() for row in rows if row.kind == OWN_RENT)
    return frozenset(row.provider for row in rows if row.provider)


@cache
def _kept(path: Path, written_ns: int) -> Listed:
    written = datetime.fromtimestamp(written_ns / GIGA, tz=UTC).date()
    return _grouped(read_own(path, today=written))


def _grouped(prices: Iterable[Price]) -> Listed:
    result: dict[str, tuple[Price, ...]] = {}
    for price in prices:
        result[price.chip] = (*result.get(price.chip, ()), price)
    return result


def read_own(file: str | Path, *, today: date) -> tuple[Price, ...]:
    """Every price of a list; one without a date is of today. The first that is wrong is an error."""
    prices, flaws = examine(file, today=today)
    for flaw in flaws:
        if flaw.wrong:
            name = Path(file).name
            raise DataError(
                say("{file}, line {line}: {why}", file=name, line=flaw.line, why=flaw.said), hint=flaw.hint
            )
    return prices


def examine(file: str | Path, *, today: date) -> tuple[tuple[Price, ...], tuple[Flaw, ...]]:
    """The prices of a list that can be used, and all that is wrong or doubtful in it."""
    prices: dict[tuple[str, str, str], Price] = {}
    flaws: list[Flaw] = []
    count = 0
    for line, row in _rows(Path(file)):
        count += 1
        if count > MOST_ROWS:
            raise DataError(
                say("{file} has more than {most} rows", file=Path(file).name, most=f"{MOST_ROWS:,}")
            )
        try:
            price = _price(row, source=Path(file).name, today=today)
        except RigError as wrong:
            hint = wrong.hint if len(flaws) < MOST_HINTS else None  # what is nearest takes its time
            flaws.append(Flaw(line=line, said=wrong.sentence, hint=hint))
            continue
        key = (price.chip, price.kind, price.as_of)
        if key in prices and prices[key].typical != price.typical:
            flaws.append(
                Flaw(
                    line=line,
                    wrong=False,
                    said=say("{chip} already has a different price for that day above", chip=price.chip),
                )
            )
        if is_stale(price.as_of, today):
            flaws.append(
                Flaw(
                    line=line,
                    wrong=False,
                    said=say("{chip}: the price is from {date}", chip=price.chip, date=price.as_of),
                )
            )
        prices[key] = price
    return tuple(prices.values()), tuple(flaws)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Each row's line, or its place in a list of JSON, and its cells by our names."""
    try:
        text = read_bounded(path, MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(say("{file} is not a CSV table: {why}", file=path.name, why=error)) from None
    if text.lstrip()[:1] in {"[", "{"}:
        yield from _json_rows(path, text)
        return
    try:
        table = bounded_csv(io.StringIO(text, newline=""))
        columns = [_column(cell) for cell in next(table, (0, []))[1]]
        if "chip" not in columns:
            raise DataError(say("{file} lacks the column {column}", file=path.name, column="chip"))
        for line, cells in table:
            if any(cell.strip() for cell in cells):
                yield line, dict(zip(columns, (cell.strip() for cell in cells), strict=False))
    except ValueError as error:
        raise DataError(say("{file} is not a CSV table: {why}", file=path.name, why=error)) from None


def _column(name: str) -> str:
    plain = name.strip().casefold()
    return NAMES.get(plain, plain)


def _json_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        value: Any = bounded_json(text)
    except ValueError as error:
        why = str(error) or type(error).__name__
        raise DataError(say("{file} is not JSON: {why}", file=path.name, why=why[:MOST_CHARS])) from None
    rows = value.get("prices", [value]) if isinstance(value, dict) else value
    for number, row in enumerate(rows if isinstance(rows, list) else [rows], 1):
        if not isinstance(row, dict):
            raise DataError(say("{file}: entry {number} is not an object", file=path.name, number=number))
        yield number, {_column(str(name)): _plain(cell) for name, cell in row.items()}


def _plain(cell: object) -> str:
    if cell is None or isinstance(cell, dict | list):
        return ""
    return str(cell)[:MOST_CHARS].strip()


def _price(row: Mapping[str, str], *, source: str, today: date) -> Price:
    """One row as a price; what cannot be one is an error without its place."""
    from rigright.facts.find import find_chip

    for column, cell in row.items():
        if len(cell) > MOST_CHARS:
            raise DataError(say("column {column} is too long", column=column[:MOST_CHARS]))
    if not row.get("chip"):
        raise DataError(say("no chip given"))
    chip = find_chip(row["chip"])
    currency = currency_of(row.get("currency") or USD).code
    column = next((text for text in (HOURLY, "usd") if row.get(text)), "price")
    if column != "price":
        currency = USD
    typical = _amount(row, column)
    if typical is None:
        raise DataError(say("no price above zero: fill in usd, or price and currency"))
    low, high = _amount(row, "low"), _amount(row, "high")
    if not (low or typical) <= typical <= (high or typical):
        raise DataError(say("low, price and high are not in order"))
    condition = row.get("condition") or ("rent" if column == HOURLY else "")
    kind = CONDITIONS.get(condition.casefold())
    most = MOST_USD_PER_H if kind == OWN_RENT else MOST_USD
    if from_currency(high or typical, currency) > most:
        raise DataError(
            say("{price} {currency} is more than any GPU costs", price=f"{typical:,.12g}", currency=currency)
        )
    if kind is None:
        raise DataError(
            say('unknown condition "{text}"', text=condition),
            hint=say("use new, used or rent (per card and hour)"),
        )
    as_of = _day(row.get("as_of") or today.isoformat(), today=today)
    return Price(
        chip=chip.id, kind=kind, currency=currency, low=low, typical=typical, high=high, as_of=as_of,
        source=row.get("source") or source, confidence="high", provider=row.get("provider") or None,
    )  # fmt: skip


def _day(as_of: str, *, today: date) -> str:
    """A date as it was written, which is past."""
    try:
        day = dated(as_of)
    except ValueError:
        raise DataError(
            say('column {column}: cannot read "{cell}"', column="as_of", cell=as_of),
            hint=say("use a date: 2026-11-22, 2026-11 or 2026"),
        ) from None
    slack = {len("2026"): 190, len("2026-11"): 31}.get(len(as_of), 1)
    if (day - today).days > slack:
        raise DataError(say("{date} is in the future", date=as_of))
    return as_of


def _amount(row: Mapping[str, str], column: str) -> float | None:
    """A number above zero; None where the cell is empty."""
    cell = row.get(column) or ""
    if not cell:
        return None
    try:
        value = float(cell.replace(",", "") if cell.replace(",", "").replace(".", "", 1).isdigit() else cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(say('column {column}: cannot read "{cell}"', column=column, cell=cell))
    if value <= 0:
        raise DataError(say("no price above zero: fill in usd, or price and currency"))
    return value


def keep(prices: Iterable[Price], *, today: date) -> int:
    """Add prices to the list that is kept, in the place of older ones of the same card and condition."""
    new = tuple(prices)
    path = place()
    named = {(price.chip, price.kind) for price in new}
    old = read_own(path, today=today) if is_file(path) else ()
    rows = [price for price in old if (price.chip, price.kind) not in named] + list(new)
    if len(rows) > MOST_ROWS:
        raise DataError(say("{file} has more than {most} rows", file=path.name, most=f"{MOST_ROWS:,}"))
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for price in rows:
        condition = {OWN_USED: "used", OWN_RENT: "rent"}.get(price.kind, "new")
        ends = ["" if end is None else f"{end:.12g}" for end in (price.low, price.typical, price.high)]
        table.writerow(
            [price.chip, condition, *ends, price.currency, price.as_of, price.source, price.provider or ""]
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.getvalue())
    return len(rows)

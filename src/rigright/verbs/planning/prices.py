"""The user's own prices of cards: a CSV with `chip` and `usd`, or `price` and `currency`."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from rigright.base.errors import DataError, RigError
from rigright.base.money import from_currency
from rigright.base.tables import bad_cell, number, raw_rows, read_cells, text
from rigright.base.words import say
from rigright.facts.find import find_chip
from rigright.facts.prices import OWN, Price, dated

READERS = {"chip": text, "usd": number, "price": number, "currency": text, "as_of": text, "source": text}


def own_prices(asked: str, *, today: date) -> tuple[Price, ...]:
    """Every price of a file; one without a date is of today."""
    path = Path(asked)
    found = []
    for line, raw in raw_rows(path, required=("chip",)):
        row, faults = read_cells(raw, READERS, required=("chip",))
        for column in faults:
            raise bad_cell(path, line, column=column, cell=raw.get(column))
        usd = row["usd"]
        if usd is None and row["price"] is not None:
            usd = from_currency(row["price"], row["currency"] or "USD")
        if usd is None or usd <= 0:
            raise DataError(
                say("{file}, line {line}: a price above zero is missing, in usd or in price and currency",
                    file=path.name, line=line)
            )  # fmt: skip
        found.append(_price(path, line, chip=row["chip"], usd=usd, as_of=row["as_of"] or today.isoformat()))
    return tuple(found)


def _price(path: Path, line: int, *, chip: str, usd: float, as_of: str) -> Price:
    try:
        known = find_chip(chip)
        dated(as_of)
    except RigError as wrong:
        raise DataError(
            say("{file}, line {line}: {why}", file=path.name, line=line, why=wrong.whole)
        ) from None
    except ValueError:
        raise bad_cell(path, line, column="as_of", cell=as_of) from None
    return Price(
        chip=known.id, kind=OWN, typical=usd, as_of=as_of, source=path.name, confidence="high",
    )  # fmt: skip

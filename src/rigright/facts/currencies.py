"""Currencies: what a dollar came to at a date. A rough rate, told wherever it is used."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from rigright.base.errors import AskError
from rigright.base.tables import DATA, number, read_rows, text
from rigright.base.words import say


@dataclass(frozen=True, slots=True, kw_only=True)
class Currency:
    """One currency against the dollar."""

    currency: str
    per_usd: float
    as_of: str
    source: str
    confidence: str


@cache
def currencies() -> dict[str, Currency]:
    """Every currency under its code."""
    readers = {"currency": text, "per_usd": number, "as_of": text, "source": text, "confidence": text}
    rows = read_rows(DATA / "currencies.csv", readers, required=tuple(readers))
    return {row["currency"]: Currency(**row) for row in rows}


def find_currency(code: str) -> Currency:
    """One currency by its code."""
    found = currencies().get(code.upper())
    if found is None:
        known = ", ".join(currencies())
        raise AskError(say("no rate is known for {code}; there are {known}", code=code, known=known))
    return found


def to_usd(amount: float, code: str) -> float:
    """An amount in dollars, at the table's rate."""
    return amount / find_currency(code).per_usd

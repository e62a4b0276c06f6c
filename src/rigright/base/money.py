"""Money: amounts as people type them, in any currency, and dollars shown in the reader's own."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from functools import cache

from rigright.base.errors import AskError
from rigright.base.numerals import NUMBER, chinese, digits
from rigright.base.patterns import pattern
from rigright.base.record import dataclass
from rigright.base.tables import DATA, number, read_rows, text
from rigright.base.units import GIGA, KILO, MEGA
from rigright.base.words import Sentence, say

USD, CNY = "USD", "CNY"
_SIGNS = {"$": USD, "¥": CNY}  # of several currencies: the one that is meant where no name stands beside it
_SCALES = {
    "": 1, "k": KILO, "thousand": KILO, "grand": KILO, "m": MEGA, "mn": MEGA, "mio": MEGA, "million": MEGA,
    "bn": GIGA, "billion": GIGA, "w": 1e4,
}  # fmt: skip
_NEED_CURRENCY = {"w"}  # 5w is 50,000 yuan, or five watts
_PLAIN = pattern(rf"({NUMBER})\s*([a-z]*)")
_UNKNOWN = pattern(rf"(?:{NUMBER})\s*(?P<code>[a-z]{{3}})|(?P<first>[a-z]{{3}})\s*(?:{NUMBER})")
_PER = {  # what money is for each of, as people write it
    "h": r"h|hr|hour|小时|钟头",
    "month": r"mo|month|months?|月|个月",
    "kwh": r"kwh|kw·h|千瓦时|度电|度",
    "mtok": r"1?\s*m(?:illion)?[ -]?(?:tok(?:en)?s?)?|百万(?:个)?(?:tok(?:en)?s?)?",
}
_TAIL = pattern(r"\s*(?:/|每|一(?=小时|度)|\b(?:per|an?)\s)\s*(?P<unit>[^/]+)\Z")
_AROUND = pattern(r"\A(?:约|大约|大概|~|≈)\s*|\s*(?:以内|以下|左右|上下)\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Currency:
    """A currency: how it is written, and what a dollar buys of it."""

    code: str
    per_usd: float
    sign: str
    names: tuple[str, ...]
    as_of: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """An amount, and the currency that was named with it."""

    amount: float
    currency: str | None = None

    def usd(self, otherwise: str = USD) -> float:
        """In dollars, at the dated rate; where no currency was named, it is another's."""
        return from_currency(self.amount, self.currency or otherwise)


@cache
def currencies() -> Mapping[str, Currency]:
    """Every currency whose rate is known, by its code."""
    readers = {
        "code": text, "per_usd": number, "sign": text, "names": lambda cell: tuple(cell.split("|")),
        "as_of": text, "source": text,
    }  # fmt: skip
    rows = read_rows(DATA / "currencies.csv", readers, required=tuple(readers))
    return {row["code"]: Currency(**row) for row in rows}


def currency_of(code: str) -> Currency:
    """One currency by its code."""
    currency = currencies().get(code.upper())
    if currency is None:
        raise AskError(
            say('no exchange rate for "{currency}"', currency=code),
            hint=say("known currencies: {known}", known=", ".join(currencies())),
        )
    return currency


def from_currency(amount: float, currency: str) -> float:
    """An amount of another currency in USD, at the dated rate of the table."""
    return amount / currency_of(currency).per_usd


def parse_money(asked: str, *, per: str = "") -> Money:
    """Read "$8000", "8k", "60000 CNY", "HK$20k", "5千块", "三万五", "€0.12/kWh" (with `per` "kwh")."""
    plain = unicodedata.normalize("NFKC", asked).strip().casefold()
    plain = re.sub(r"\A(每(?:小时|千瓦时|度电|度|百万|个?月))(.+)", r"\2\1", plain)
    tail = _TAIL.search(plain)
    if tail is not None:
        if not per or re.fullmatch(_PER[per], tail["unit"].strip()) is None:
            raise AskError(_unread(asked), hint=_how_to_write(per))
        plain = plain[: tail.start()]
    plain = _AROUND.sub("", plain).strip()
    named: list[str] = []
    while pair := _named_in(plain):
        code, plain = pair
        named.append(code)
    meant = {code for code in named if code not in _SIGNS.values()} or set(named)
    fits = all(code in meant or _shares_sign(code, meant) for code in named)
    if len(meant) > 1 or not fits:
        raise AskError(
            say('"{text}" names two currencies: {named}', text=asked, named=", ".join(dict.fromkeys(named))),
            hint=_how_to_write(per),
        )
    currency = next(iter(meant), None)
    amount = _amount(plain, is_money=currency is not None)
    if amount is None or not 0 < amount < math.inf:
        other = _UNKNOWN.fullmatch(plain) if not named else None
        if other is not None:
            code = (other["code"] or other["first"]).upper()
            known = ", ".join(currencies())
            hint = say('no exchange rate for "{code}"; known: {known}; {how}',
                       code=code, known=known, how=_how_to_write(per))  # fmt: skip
            raise AskError(_unread(asked), hint=hint)
        eaten = not asked.strip("0. ")  # what a shell leaves of "$8000": 000, or nothing
        raise AskError(_unread(asked), hint=_IN_BASH if eaten else _how_to_write(per))
    return Money(amount=amount, currency=currency or (CNY if re.search(r"[千万亿]", plain) else None))


def _unread(asked: str) -> Sentence:
    return say('cannot read "{text}" as an amount', text=asked)


_IN_BASH = say("in bash, $8000 is a variable; write '$8000', 8000usd or 8000")


def _how_to_write(per: str) -> Sentence:
    if per == "h":
        return say("use an amount per hour: 2.5, 2.5usd/h or 18元/小时")
    if per == "month":
        return say("use an amount per month: 200, 200usd/month or 1500元/月")
    if per == "kwh":
        return say("use a price per kWh: 0.12, 0.12usd/kWh or 0.6元/度")
    if per == "mtok":
        return say("use a price per million tokens: 0.5, 0.5usd or 4元")
    return say("use one amount in one currency: 8000usd, '$8000', 8k, 60000cny or 5万")


def _named_in(plain: str) -> tuple[str, str] | None:
    """A currency at either end, by its longest name, and what is left."""
    names = [(name, currency.code) for currency in currencies().values() for name in currency.names]
    for name, code in sorted(names, key=lambda pair: -len(pair[0])):
        is_word = re.fullmatch(r"[a-z ]+", name) is not None
        if plain.startswith(name) and not (is_word and re.match("[a-z]", plain[len(name) :])):
            return code, plain[len(name) :].strip()
        before = plain.removesuffix(name)
        letters = re.search(r"[a-z]*\Z", before)
        if before != plain and not (is_word and letters and letters[0] not in _SCALES):
            return code, before.strip()
    return None


def _shares_sign(code: str, meant: set[str]) -> bool:
    """Whether "$" or "¥" stands for a currency that is named beside it: "$8000 CAD"."""
    bare = next((sign for sign, text in _SIGNS.items() if text == code), None)
    return bare is not None and all(currencies()[text].sign.endswith(bare) for text in meant)


def _amount(plain: str, *, is_money: bool) -> float | None:
    """The number: digits with a scale, or Chinese numerals, or both."""
    match = _PLAIN.fullmatch(plain)
    if match:
        unit = match[2]
        if unit not in _SCALES or (unit in _NEED_CURRENCY and not is_money):
            return None
        return digits(match[1]) * _SCALES[unit]
    return chinese(plain)


def show_money(usd: float, currency: str = USD) -> str:
    """Dollars for people, in a currency and with its sign, to three digits: "$4,880", "¥34,600", "€0.24"."""
    if not math.isfinite(usd):
        return "-"
    known = currency_of(currency)
    amount = float(f"{usd * known.per_usd:.3g}")
    size = abs(amount)
    digits = 0 if size >= 100 or not size else 1 if size >= 10 else 2
    shown = f"{size:,.{digits}f}" if size >= 0.1 or not size else f"{float(f'{size:.2g}'):.10f}".rstrip("0")
    sign = f"{known.sign} " if known.sign[-1].isalpha() else known.sign
    return f"{'-' if amount < 0 else ''}{sign}{shown}"

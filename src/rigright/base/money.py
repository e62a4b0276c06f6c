"""Money: amounts as people type them, in any currency, and dollars shown in the reader's own."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache

from rigright.base.errors import AskError
from rigright.base.numerals import NUMBER, and_tenths, leading, plain
from rigright.base.patterns import pattern
from rigright.base.record import dataclass
from rigright.base.tables import DATA, number, read_rows, text
from rigright.base.units import GIGA, KILO, MEGA
from rigright.base.words import Sentence, say

USD, CNY = "USD", "CNY"
_SIGNS = {"$": USD, "¥": CNY}  # of several currencies: the one that is meant where no name stands beside it
_SCALES = {"": 1, "k": KILO, "m": MEGA, "mn": MEGA, "mio": MEGA, "bn": GIGA}
_YUAN = pattern(
    r"[\u4e00-\u9fff]|w\Z"
)  # an amount written so is in yuan, where no currency is named: 5万, 5w
_POINTS = pattern(r"(?<=\d)\.(?=\d{3}(?!\d|\s*(?:[km]|mn|million|万|千)))(?<!\b0\.)")  # 4.500 €
_COIN = pattern(r"([\d.]+)([A-Z]*)")
_UNKNOWN = pattern(rf"(?:{NUMBER})\s*(?P<code>[a-z]{{3}})|(?P<first>[a-z]{{3}})\s*(?:{NUMBER})")
_PER = {  # what money is for each of, as people write it
    "h": r"h|hr|hour|小时|钟头",
    "month": r"mo|month|months?|月|个月",
    "kwh": r"kwh|kw·h|千瓦时|度电|度",
    "mtok": r"1?\s*m(?:illion)?[ -]?(?:tok(?:en)?s?)?|百万(?:个)?(?:tok(?:en)?s?)?",
}
_FIRST = pattern(r"\A([每一](?:小时|千瓦时|度电|度|百万|个?月)|(?:per|an?|each) (?:hour|kwh|month)\b)(.+)")
_TAIL = pattern(
    r"\s*(?:/|每|一(?=小时|度)|\bper\s|\ban?\s(?=(?:h|hr|hour|month|day|week|year|kwh)\b|million t))"
    r"\s*(?P<unit>[^/]+)\Z"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Currency:
    """A currency: how it is written, and what a dollar buys of it."""

    code: str
    per_usd: float
    sign: str
    names: tuple[str, ...]
    place: str | None  # where it is paid with, for the tariff of who names no place
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
        "place": text, "as_of": text, "source": text,
    }  # fmt: skip
    rows = read_rows(DATA / "currencies.csv", readers, required=tuple(set(readers) - {"place"}))
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
    from rigright.base.everyday import bare

    text = _FIRST.sub(r"\2\1", plain(asked))
    tail = _TAIL.search(text)
    if tail is not None:
        if not per or re.fullmatch(_PER[per], tail["unit"].strip()) is None:
            raise AskError(_unread(asked), hint=_how_to_write(per))
        text = text[: tail.start()]
    text = bare(text if per else _POINTS.sub("", text))
    named: list[str] = []
    while pair := _named_in(text):
        code, text = pair
        named.append(code)
    meant = {code for code in named if code not in _SIGNS.values()} or set(named)
    fits = all(code in meant or _shares_sign(code, meant) for code in named)
    if len(meant) > 1 or not fits:
        raise AskError(
            say('"{text}" names two currencies: {named}', text=asked, named=", ".join(dict.fromkeys(named))),
            hint=_how_to_write(per),
        )
    amount, coin = _amount(text)
    currency = next(iter(meant), coin)
    if amount is None or not 0 < amount < math.inf:
        other = _UNKNOWN.fullmatch(text) if not named else None
        if other is not None:
            code = (other["code"] or other["first"]).upper()
            known = ", ".join(currencies())
            hint = say('no exchange rate for "{code}"; known: {known}; {how}',
                       code=code, known=known, how=_how_to_write(per))  # fmt: skip
            raise AskError(_unread(asked), hint=hint)
        eaten = not asked.strip("0. ")  # what a shell leaves of "$8000": 000, or nothing
        raise AskError(_unread(asked), hint=_IN_BASH if eaten else _how_to_write(per))
    return Money(amount=amount, currency=currency or (CNY if _YUAN.search(text) else None))


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


def _amount(text: str) -> tuple[float | None, str | None]:
    """The number, in digits or in words, with a scale or in coins; and the currency of the coins."""
    from rigright.base.everyday import words_of

    pair = leading(text)
    if pair is None:
        return None, None
    value, rest = pair
    scale = _SCALES.get(rest) or float(words_of("scale").get(rest, 0))
    if scale:
        return value * scale, None
    for word, form in sorted(words_of("coin").items(), key=lambda pair: -len(pair[0])):
        coin = _COIN.fullmatch(form)
        if coin and re.match(rf"{word}(?![a-z])", rest):
            value, rest = and_tenths(value, rest.removeprefix(word))
            return (float(f"{value * float(coin[1]):.12g}") if rest in {"", "毛", "角"} else None), coin[
                2
            ] or None
    return None, None


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

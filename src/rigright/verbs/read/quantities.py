"""Quantities of a text with their units and places, in either language, in SI."""

from __future__ import annotations

import math
import re
from functools import cache

from rigright.base.everyday import words_of
from rigright.base.loader import rows
from rigright.base.patterns import pattern
from rigright.base.record import dataclass
from rigright.base.units import KILO, MEGA

_MOST_QUANTITIES = 64  # of a text
EXACT, ABOUT, LEAST, MOST = "exact", "about", "least", "most"
_NUMBER = r"(?:\d{1,3}(?:,\d{3}){1,4}(?!\d)(?:\.\d{1,6})?|\d{1,12}(?:\.\d{1,6})?)"
_RANGE = pattern(
    rf"(?<![A-Za-z0-9_.])({_NUMBER})(?:\s?([A-Za-z$]{{0,4}}))?\s?(?:-|–|—|~|～|to|至|到)\s?\\?\$?({_NUMBER})"
)
_ONE = pattern(rf"(?<![A-Za-z0-9_.])({_NUMBER})")
_TIMES = pattern(r"([一两三四五六七八九十])倍|\b(?:twice|thrice|half(?= of))\b|一半|翻倍", re.IGNORECASE)
_TIMES_SIZES = {"thrice": "3", "half": "0.5", "一半": "0.5"}
_BIG = {"千": KILO, "万": 1e4, "百万": MEGA, "千万": 10 * MEGA, "亿": 1e8, "k": KILO, "K": KILO}
_HEAD_UNIT = pattern(r"[(\[,/ ]\s?([A-Za-z/]{1,8})\s?[)\]]?\s*(?=\Z|[)\]])")
_NEAR = 14  # characters in which such a word stands before a number
_MONEY_BEFORE = pattern(r"([$€£¥￥]|USD|RMB|CNY|人民币)\s?\Z")
_MONEY_BEHIND = pattern(
    r"\s?(usd|美元|美金|dollars?|元|rmb|cny|人民币|块钱|eur|euros?|欧元)(?![a-z])", re.IGNORECASE
)
_CURRENCIES = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "CNY", "￥": "CNY"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedQuantity:
    """One figure, or a range of them."""

    start: int
    end: int  # behind its unit
    low: float  # in SI
    high: float
    unit: str  # "bytes", "bytes_per_s", "flops_per_s", "w", "count" ...
    text: str
    bound: str = EXACT
    currency: str = ""
    per_hour: bool = False

    @property
    def mid(self) -> float:
        """The figure."""
        return (self.low + self.high) / 2


@cache
def words_for(use: str) -> tuple[str, ...]:
    """Words of a row of data/claim_words.csv."""
    return next(
        tuple(words.split("|")) for name, words in rows("claim_words.csv", "use", "words") if name == use
    )


@cache
def _units() -> tuple[tuple[str, str, float], ...]:
    """A unit as it is written -> what it measures and how much of it, the longest first."""
    result = [
        (word, of, float(size)) for word, of, size in rows("claim_units.csv", "word", "measures", "size")
    ]
    return tuple(sorted(result, key=lambda row: -len(row[0])))


@cache
def _unit() -> re.Pattern[str]:
    words = "|".join(re.escape(word) for word, _, _ in _units() if word)
    return re.compile(rf"\s?(?:({words}))(?:(?<![a-z])|(?![a-z]))(?:(?<![x×])|(?!\s?\d))", re.IGNORECASE)


@cache
def _sizes() -> dict[str, tuple[str, float]]:
    cased = {word: (of, size) for word, of, size in _units()}
    return {word.casefold(): pair for word, pair in cased.items()} | cased


def quantities(text: str) -> tuple[StatedQuantity, ...]:
    """Every quantity of a text in its order; years, versions and list numbers are left out."""
    result: list[StatedQuantity] = []
    place = 0
    while len(result) < _MOST_QUANTITIES:
        match = _ONE.search(text, place)
        if match is None:
            break
        spread = _RANGE.match(text, match.start())
        read = _ranged(text, spread) if spread is not None else None
        read = read or _single(text, match)
        result += [read]
        place = max(read.end, match.end())
    worded = (
        StatedQuantity(start=at.start(), end=at.end(), low=size, high=size, unit="times", text=at[0])
        for at in _TIMES.finditer(text)
        for size in (float({**words_of("counted"), **_TIMES_SIZES}.get(at[1] or at[0].lower(), "2")),)
    )
    return tuple(sorted((*result, *worded), key=lambda item: item.start))


def _value(text: str) -> float:
    value = float(text.replace(",", ""))
    return value if math.isfinite(value) else 0.0


def _scaled(text: str, end: int) -> tuple[float, int]:
    """The scale of a number that stands behind it: 万, 亿, k; and where it ends."""
    for word, size in sorted(_BIG.items(), key=lambda pair: -len(pair[0])):
        after = text[end + len(word) : end + len(word) + 1]
        if text.startswith(word, end) and not (word in "kK" and (after.isalnum() and after.isascii())):
            return size, end + len(word)
    return 1.0, end


def _measured(text: str, end: int) -> tuple[str, float, int]:
    """What a unit behind a number measures, its size, and where it ends."""
    unit = _unit().match(text, end)
    if unit is None:
        return "count", 1.0, end
    of, size = _sizes().get(unit[1]) or _sizes()[unit[1].casefold()]
    return of, size, unit.end()


def _single(text: str, match: re.Match[str]) -> StatedQuantity:
    scale, end = _scaled(text, match.end())
    return _made(text, match.start(), low=_value(match[1]) * scale, high=_value(match[1]) * scale, end=end)


def _ranged(text: str, spread: re.Match[str]) -> StatedQuantity | None:
    """Two numbers joined by a dash or a word, the first of which may bear its unit, too."""
    low, high = _value(spread[1]), _value(spread[3])
    first = (spread[2] or "").strip("$ ")
    if first and _unit().fullmatch(first) is None and first not in _BIG:
        return None
    scale, end = _scaled(text, spread.end())
    low *= _BIG.get(first, scale)
    high *= scale
    if not low < high:
        return None
    return _made(text, spread.start(), low=low, high=high, end=end)


def _made(text: str, start: int, *, low: float, high: float, end: int) -> StatedQuantity:
    of, size, stop = _measured(text, end)
    before = text[max(0, start - _NEAR) : start]
    currency = ""
    paid = _MONEY_BEFORE.search(before)
    behind = _MONEY_BEHIND.match(text, end)
    if paid is not None:
        currency = _CURRENCIES.get(paid[1], "CNY" if paid[1] in {"RMB", "CNY", "人民币"} else "USD")
    elif behind is not None:
        word = behind[1].casefold()
        currency = (
            "EUR"
            if word.startswith(("eur", "欧"))
            else "USD"
            if word.startswith(("usd", "美", "dollar"))
            else "CNY"
        )
        stop = behind.end()
    if currency:
        of, size = "money", 1.0
        start -= len(paid[0]) if paid is not None else 0
    per_hour = (
        currency != ""
        and re.match(r"\s?(?:/|per |每)\s?(?:h\b|hr|hour|小时)", text[stop : stop + 10]) is not None
    )
    return StatedQuantity(
        start=start, end=stop, low=low * size, high=high * size, unit=of, text=text[start:stop].strip(),
        bound=_bound(before, text[stop : stop + 4]), currency=currency,
        per_hour=per_hour,
    )  # fmt: skip


def _bound(before: str, behind: str) -> str:
    """How a figure is meant, by the words around it."""
    text = before.casefold()
    for bound in (LEAST, MOST, ABOUT):
        if any(
            text.rstrip(" $¥€").endswith(word.strip()) or f"{word.strip()} " in text[-len(word) - 4 :]
            for word in words_for(bound)
        ):
            return bound
    if behind.lstrip().startswith(("+", "以上")):
        return LEAST
    if behind.lstrip().startswith(("左右",)):
        return ABOUT
    return MOST if behind.lstrip().startswith(("以下", "以内")) else EXACT


def unit_in(head: str) -> str:
    """The unit that a head of a column names: behind a bracket, a slash or a comma, or as its last word."""
    for match in _HEAD_UNIT.finditer(head):
        written = match[1].strip()
        unit = _unit().fullmatch(written)
        if unit is not None and len(written) > 0:
            return written
    return ""

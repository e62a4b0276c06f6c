"""Everyday wordings as the plain form that readers know: "每天10万次" -> "100000/d", "two weeks" -> "14d".

The words are rows of `data/everyday.csv`: what a word is of (a kind of value, or an option by its name) and
its plain form. A row without one is dropped: what is counted, or a word around a figure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

from rigright.base.loader import rows
from rigright.base.numerals import and_tenths, leading, plain
from rigright.base.patterns import pattern
from rigright.base.units import GIGA, MEGA

LEAST = frozenset({"tok-per-s", "min-params"})  # options that say the least, where others say the most
DEMANDS = frozenset({"concurrency", "rate", "requests", "samples", "tokens"})  # so many at least or at most
FORMATS = frozenset({"weights", "kv", "quality", "base", "precision"})
STORED = FORMATS - {"kv", "precision"}
LENGTHS = frozenset({"prompt", "output", "context", "seq", "tokens", "step-tokens", "mtok"})
DAYS = {"s": 1 / 86400, "min": 1 / 1440, "h": 1 / 24, "d": 1.0, "ms": 1 / 86400e3, "us": 1 / 86400e6}
_UPPER = pattern(r"\s*(?:-|–|—|~|到|至|\bto\b)\s*")
_SIGNS = frozenset("$¥€£")
_PERCENT = pattern(r"百分之\s*(.+)")
_TIMED = pattern(r"([0-9.]*)([a-z]+)")
_CLASSED = pattern(r"(?<=[\d万亿千百十几多来余])[个名位号]\Z|\s+of\Z")
_ONCE = pattern(r"(?:每隔?)?(.+?)[一1][次个条]|(?:once|one|a request) every (.+)")  # 半秒一次, one every 5 s
_USERS = pattern(r"(?P<active>日活|dau)?\s*(?P<users>.+?)[,\s]*(?:每人|人均|each|per user)\s*(?P<asks>.+)")
_AREA = pattern(r"(\d{2,5})\s*[x×*]\s*\1(?!\d)")
_EVERY = r"(?:/|每个?|一|\bper\b|\ban?\b|\beach\b|\bevery\b|\bon\b)\s*"


@cache
def words_of(kind: str) -> Mapping[str, str]:
    """Word -> plain form, of a kind of value or of an option."""
    return {word: form for word, of, form in rows("everyday.csv", "word", "of", "plain") if of == kind}


def paid(asked: str) -> tuple[str | None, str]:
    """Whether it is bought, used or new, or rented, where that is said before its name, and the name."""
    text = asked.strip()
    name = text.lstrip("0123456789 ").removeprefix("x ")
    count = text[: len(text) - len(name)]
    for word, way in words_of("paid").items():
        rest = name[len(word) :]
        if name.lower().startswith(word) and rest and (rest[0] == " " or not word.isascii()):
            return way, count + rest.strip()
    return None, asked


def named(option: str, text: str) -> str:
    """A word that stands for a choice or a format, as the option knows it; any other text as it is."""
    stated = plain(text)
    own = {**(words_of("format") if option in STORED else {}), **words_of(option)}
    if option not in FORMATS:
        ends = (word for word in own if stated.endswith(word) and not word.isascii() and len(word) > 1)
        return own.get(stated) or own.get(max(ends, key=len, default=""), text)
    tail = max((item for item in words_of("stored") if stated.endswith(item)), key=len, default="")
    forms = [_bits(stated), _bits(stated.removesuffix(tail).strip())]
    known = next((own[form] for form in forms if form in own), None)
    return known or next((form for form in forms if form and form.isascii() and form != stated), text)


def _bits(text: str) -> str:
    """Bits in digits: "四比特", "4-bit" -> "4bit"."""
    pair = leading(text)
    if pair is None or not pair[0].is_integer():
        return text
    unit = pair[1].removeprefix("-").strip()
    return f"{pair[0]:.0f}bit" if unit in words_of("bits") else text


def figure(option: str, text: str, *, kind: str) -> str | None:
    """A figure in everyday words in its plain form; None where the words say none of that kind."""
    stated = plain(text)
    known, around = {**words_of(kind), **words_of(option)}, bare(stated, option)
    whole = known.get(stated) or known.get(around)
    if whole:
        return whole
    stated = around
    reader = _KINDS.get(kind)
    return None if reader is None else reader(option, stated)


def bare(text: str, option: str = "") -> str:
    """The figure without words around it; of a range its upper end."""
    sides = ("least",) if option in LEAST else ("least", "most") if option in DEMANDS else ("most",)
    around = [word for side in ("around", *sides) for word in words_of(side)]
    for word in 2 * sorted(around, key=len, reverse=True):  # 1.5万左右吧
        edge = r"\b" if word[-1].isalnum() and word.isascii() else ""
        text = re.sub(rf"\A{re.escape(word)}{edge}|{edge}{re.escape(word)}\Z", "", text).strip()
    low, *high = _UPPER.split(text, maxsplit=1)
    sign = low[:1] if low[:1] in _SIGNS else ""
    if not high or leading(low.removeprefix(sign)) is None or leading(high[0].removeprefix(sign)) is None:
        return text
    return sign + high[0].removeprefix(sign)


def _unit(rest: str, known: Mapping[str, str]) -> str | None:
    """What a unit or a word for what is counted stands for; None: it means nothing here."""
    for word in (rest, rest.removeprefix("个").strip(), rest.removeprefix("of ").strip()):
        if word in known:
            return known[word]
    return None


def _count(option: str, text: str) -> str | None:
    """A number of what the option counts."""
    own = {**words_of(option), **(words_of("length") if option in LENGTHS else {})}
    text = _per(text)[0] if option == "tok-per-s" and _per(text)[1] == "s" else text
    area = _AREA.match(text) if option == "image-size" else None
    text = text if area is None else area[1] + text[area.end() :]
    for word in sorted((item for item, form in own.items() if not form), key=len, reverse=True):
        number = text.removesuffix(word).strip()
        if number != text and number:
            text = _CLASSED.sub("", number)
            break
    return _number(text)


def _number(text: str) -> str | None:
    pair = leading(text)
    if pair is None:
        return None
    value, rest = pair
    rest = "" if rest == "个" else rest
    scale = words_of("scale").get(rest)
    if scale is not None:
        return f"{value * float(scale):.12g}"
    return f"{value:.12g}{rest}" if re.fullmatch(r"[a-z]{0,2}", rest) else None


def _time(_option: str, text: str) -> str | None:
    pair = leading(text)
    if pair is None:
        return None
    value, rest = pair
    if rest.endswith("半"):
        value, rest = value + 0.5, rest[:-1]
    unit = _unit(rest, words_of("time"))
    return None if unit is None else _timed(value, unit)


def _timed(value: float, unit: str) -> str:
    """So many of a unit such as "7d"."""
    many = _TIMED.fullmatch(unit)
    return f"{value * float(many[1] or 1):.12g}{many[2]}" if many else ""


def _per(text: str) -> tuple[str, str | None]:
    """What happens, and in which time: "每天10万次", "10k a day", "5 qps"; None: in no time that was said."""
    for word, unit in words_of("per").items():
        for rest in (text.removeprefix(word), text.removesuffix(word)):
            if rest != text and rest.strip():
                return rest.strip(), unit
    units = {**words_of("time"), **words_of("working")}
    known = "|".join(map(re.escape, sorted(units, key=len, reverse=True)))
    before = re.match(rf"(?:平均)?(?:每个?|一|each |every |per )\s*(?P<unit>{known})\s*(?P<rest>.+)", text)
    working = "|".join(sorted(words_of("working"), key=len, reverse=True))
    before = before or re.match(rf"(?P<unit>{working})\s*(?P<rest>.+)", text)
    match = before or re.match(rf"(?P<rest>.+?)\s*{_EVERY}(?P<unit>{known})\Z", text)
    return (text, None) if match is None else (match["rest"].strip(), units[match["unit"]])


def _rate(option: str, text: str) -> str | None:
    each, once = _USERS.fullmatch(text), _ONCE.fullmatch(text)
    users = each and _count("concurrency", each["users"])
    if each and users:  # 100人每人每天20次; of 日活5000人 the time is a day
        asks = (
            _rate(option, each["asks"]) or (each["active"] and _rate(option, f"每天{each['asks']}")) or ""
        ).split("/")
        return f"{float(asks[0]) * float(users):.12g}/{asks[1]}" if len(asks) > 1 else None
    what, unit = _per(text)
    gap = None if unit or not once else _time(option, once[1] or once[2])
    if gap:
        return f"{1 / (_days(gap) * 86400):.12g}/s"
    number = None if unit is None else _count(option, bare(what, option))
    many = _TIMED.fullmatch(unit or "")
    if number is None or many is None:
        return None
    return f"{number}/{many[2]}" if not many[1] else _divided(number, float(many[1]), unit=many[2])


def _divided(number: str, by: float, *, unit: str) -> str | None:
    pair = leading(number)
    return None if pair is None or pair[1] else f"{pair[0] / by:.12g}/{unit}"


def _share(option: str, text: str) -> str | None:
    percent = _PERCENT.match(text)
    what, unit = _per(text) if option == "duty" else (text, None)
    spent = None if option != "duty" else _time(option, what)
    if spent is not None:
        return f"{_days(spent) / _days(unit or 'd'):.12g}"
    pair = leading(text if percent is None else percent[1])
    if pair is None:
        return None
    value, rest = pair
    if percent is not None and not rest:
        return f"{value:.12g}%"
    for word in (item for item, form in words_of(option).items() if not form):
        rest = rest.removesuffix(word).strip()
    tenths = words_of("share").get(rest[:1])
    if tenths:
        value, rest = and_tenths(value, rest[1:])
        return None if rest else f"{value * float(tenths):.12g}%"
    if rest in {"", "%", "percent"}:
        return f"{value:.12g}" + ("%" if rest else "")
    return None


def _factor(option: str, text: str) -> str | None:
    """So many times, or so much more."""
    more = text
    for word in words_of("more"):
        more = more.removeprefix(word).removesuffix(word).strip()
    share = _share("", more)
    return share if share and share.endswith("%") else _measured("factor")(option, text)


def _days(time: str) -> float:
    many = _TIMED.fullmatch(time)
    return float(many[1] or 1) * DAYS[many[2]] if many else 0.0


def _measured(kind: str) -> Callable[[str, str], str | None]:
    """A number with a unit of a kind."""

    def read(_option: str, text: str) -> str | None:
        pair = leading(text)
        unit = None if pair is None else _unit(pair[1], words_of(kind))
        return None if pair is None else f"{pair[0]:.12g}{pair[1] if unit is None else unit}"

    return read


def _years(_option: str, text: str) -> str | None:
    pair = leading(text.removesuffix("半"))
    if pair is None:
        return None
    value, unit = pair[0] + 0.5 * text.endswith("半"), _unit(pair[1], words_of("years"))
    return None if unit is None else f"{value * float(unit):.12g}"


def _size(_option: str, text: str) -> str | None:
    """A number of parameters."""
    for word in words_of("size"):
        text = text.removesuffix(word).strip()
    pair = leading(text)
    if pair is not None and pair[1] in {"m", "b", "t"}:
        return f"{pair[0]:.12g}{pair[1]}"
    return f"{pair[0] / GIGA:.12g}B" if pair is not None and not pair[1] and pair[0] >= MEGA else None


_KINDS: Mapping[str, Callable[[str, str], str | None]] = {
    "number": _count, "time": _time, "rate": _rate, "share": _share, "factor": _factor,
    "power": _measured("power"), "years": _years, "size": _size,
}  # fmt: skip

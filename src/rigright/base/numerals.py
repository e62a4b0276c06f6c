"""Numbers as people write and say them: "50,000", "3.2万", "三万五", "十几", "half", "a hundred".

Of a rough number the rule is: "two or three" is the larger, "几" is five, "多" adds nothing.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from rigright.base.loader import rows
from rigright.base.patterns import pattern

_DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0, "几": 5}
_MORE = "多来余"  # behind a number: somewhat more than it
_TENS = {"十": 10, "百": 100, "千": 1000}
_MYRIAD, _MYRIAD_MYRIADS = {"万": 1e4}, {"亿": 1e8}
NUMBER = r"(?:\d{1,3}(?:[ ,'_]\d{3})+|\d{1,2}(?:,\d{2})+,\d{3}|\d+(?:,\d{4})+|\d+)(?:\.\d+)?|\.\d+"
_MADE = "".join((*_DIGITS, *_TENS, *_MYRIAD, *_MYRIAD_MYRIADS))
_WRITTEN = pattern(
    rf"(?:{NUMBER})?(?:[{_MADE}]|(?<=[\d{_MADE}])[{_MORE}]|(?<=[{_MADE}{_MORE}])(?:{NUMBER}))*"
)
_PART = pattern(r"(?:an? )?(?:half|(quarter))(?: an?| of an?)?(?![a-z])|一?半个?")


@cache
def _number_words(kind: str) -> dict[str, float]:
    """Number words of `everyday.csv`: the small ones that add up, the large ones that multiply."""
    table = rows("everyday.csv", "word", "of", "plain")
    return {word: float(value) for word, of, value in table if of == kind}


@cache
def _words() -> re.Pattern[str]:
    known = "|".join((*_number_words("small"), *_number_words("large")))
    return re.compile(rf"(?:(?:{known}|(?:and|of)(?= \w))(?![a-z])[ -]*)+")


@cache
def _characters() -> dict[int, str]:
    table = rows("everyday.csv", "word", "of", "plain")
    return str.maketrans({word: form for word, of, form in table if of == "character"})


def simplified(text: str) -> str:
    """Full-width digits and punctuation as plain ones, traditional characters as simplified ones."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_characters())


def plain(text: str) -> str:
    """The same, in small letters."""
    return simplified(text).strip().casefold()


def digits(number: str) -> float:
    """A number in digits, with or without marks between thousands."""
    return float(re.sub(r"[ ,'_]", "", number))


def leading(text: str) -> tuple[float, str] | None:
    """The number at the head of a plain text, and what follows it; None where there is none."""
    share = _PART.match(text)
    if share is not None:
        return _scaled(0.25 if share[1] else 0.5, text[share.end() :].strip())
    written = _WRITTEN.match(text)
    if written is not None and written[0]:
        value = chinese(written[0])
        return None if value is None else _scaled(value, text[written.end() :].strip())
    match = _words().match(text)
    if match is None:
        return None
    rest = text[match.end() :].strip()
    return _english(match[0]), rest


def _scaled(value: float, rest: str) -> tuple[float, str]:
    """Digits before a large word: 10 billion; and one and a half of what is counted: 一个半小时."""
    word, _, behind = rest.partition(" ")
    if word in _number_words("large"):
        return value * _number_words("large")[word], behind.strip()
    return (value + 0.5, rest.removeprefix("个半")) if rest.startswith("个半") else (value, rest)


def and_tenths(value: float, rest: str) -> tuple[float, str]:
    """A digit behind a unit is a tenth of it: the 5 of 六毛五, of 九成五."""
    return (value + _DIGITS[rest[0]] / 10, rest[1:]) if rest[:1] in _DIGITS else (value, rest)


def _english(words: str) -> float:
    """Read "two", "a hundred", "five thousand", "twenty-five"."""
    small, large = _number_words("small"), _number_words("large")
    total = section = 0.0
    spoken = re.findall("[a-z]+", words)
    for word, behind in zip(spoken, [*spoken[1:], ""], strict=True):
        if word in {"a", "an"} and behind in small:
            continue
        if word in small:
            section = section * 12 if word == "dozen" and section else section + small[word]
        elif word == "hundred":
            section = max(section, 1) * large[word]
        elif word in large:
            total, section = total + max(section, 1) * large[word], 0.0
    return total + section


def chinese(text: str) -> float | None:
    """Read "五千", "三万五", "1万2千", "一亿两千万", digits alone too; None where it is no number."""
    total = section = 0.0
    digit: float | None = None
    last = 1.0  # the unit before a digit that stands at the end: the 5 of 三万五 are thousands
    for token in re.findall(rf"{NUMBER}|\S", text):
        if token in _DIGITS or re.fullmatch(NUMBER, token):
            if digit and not (token in _DIGITS and digit < _DIGITS[token]):
                return None
            digit = digits(token) if token not in _DIGITS else _DIGITS[token]
            last = 1.0 if digit == 0 else last
        elif token in _TENS:
            section += (1 if digit is None else digit) * _TENS[token]
            digit, last = None, _TENS[token]
        elif token in _MYRIAD or token in _MYRIAD_MYRIADS:
            last = (_MYRIAD | _MYRIAD_MYRIADS)[token]
            below = section + (digit or 0)
            total = total + below * last if token in _MYRIAD else (total + below) * last
            section, digit = 0.0, None
        elif token not in _MORE:
            return None
    rest = 0.0 if digit is None else digit * (last / 10 if last > 1 and digit < 10 else 1)
    return total + section + rest

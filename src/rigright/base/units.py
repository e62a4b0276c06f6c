"""The one place that converts: inside the code everything is SI, bytes and counts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

from rigright.base.errors import AskError
from rigright.base.patterns import pattern
from rigright.base.words import Sentence, say

YES = frozenset({"y", "yes", "true", "1", "on"})
NO = frozenset({"n", "no", "false", "0", "off"})
KILO, MEGA, GIGA, TERA = 1e3, 1e6, 1e9, 1e12
KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40

_SCALES = {
    "": 1,
    "k": 1e3,
    "m": 1e6,
    "g": 1e9,
    "b": 1e9,
    "t": 1e12,
    "ki": KIB,
    "mi": MIB,
    "gi": GIB,
    "ti": TIB,
}
# only what figures are written in; everyday words and Chinese ones are rows of data/everyday.csv
_SECONDS = {"": 1, "s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "min": 60, "m": 60, "h": 3600, "d": 86400}
_WATTS = {"": 1, "w": 1, "kw": 1e3, "mw": 1e6}
_AMOUNTS = {"": 1, "k": 1e3, "m": 1e6, "b": 1e9, "bn": 1e9, "t": 1e12}
_PERIODS_S = {"": 1, "s": 1, "min": 60, "m": 60, "h": 3600, "d": 86400}
_MEASURE = pattern(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{1,3})?)\s*([^\s\d]*)\s*\Z")
_QUANTITY = pattern(r"\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]{1,3})?)\s*([a-z]*)\s*\Z", re.IGNORECASE)


def unreadable(text: str, what: Sentence, *, example: str) -> AskError:
    """The error for a text that is no such figure."""
    return AskError(
        say('cannot read "{text}" as {what}', text=text, what=what),
        hint=say("for example {example}", example=example),
    )


def to_gib(size_bytes: float) -> float:
    """Bytes -> GiB."""
    return size_bytes / GIB


def from_gib(size_gib: float) -> float:
    """GiB -> bytes."""
    return size_gib * GIB


def parse_bytes(text: str) -> float:
    """Read "80GB", "24 GiB", "512MiB" or plain bytes."""
    match = _QUANTITY.match(text)
    unit = match.group(2).lower().removesuffix("bytes").removesuffix("b") if match else None
    if match is None or unit not in _SCALES or not math.isfinite(float(match.group(1))):
        raise unreadable(text, say("a size"), example="80GB, 24GiB")
    return float(match.group(1)) * _SCALES[unit]


def parse_count(text: str) -> int:
    """Read "4096", "4k", "128Ki", "1.5M" as a whole number (k is 1024 for powers of two: 4k = 4096)."""
    match = _QUANTITY.match(text)
    unit = match.group(2).lower() if match else None
    if match is None or unit not in {"", "k", "ki", "m", "mi"}:
        raise unreadable(text, say("a count"), example="4096, 32k")
    scale = {"k": KIB, "m": MIB}.get(unit, _SCALES[unit])
    number = float(match.group(1)) * scale
    if not math.isfinite(number) or number != int(number):
        raise unreadable(text, say("a count"), example="4096, 32k")
    return int(number)


def parse_seconds(text: str) -> float:
    """Read "50ms", "1.5 s", "2min", "8h", "14d"; a bare number is seconds."""
    wrong = unreadable(text, say("a time"), example="50ms, 1s, 2min")
    return _measured(text, _SECONDS, wrong=wrong)


def parse_watts(text: str) -> float:
    """Read "800", "800W", "1.5kW", "2 MW"."""
    wrong = unreadable(text, say("a power"), example="800W, 1.5kW")
    return _measured(text, _WATTS, wrong=wrong)


def parse_amount(text: str) -> float:
    """Read "10B", "500k", "1.5T" as a number; k is 1000 here."""
    wrong = unreadable(text, say("a number"), example="500k, 10M, 10B")
    return _measured(text, _AMOUNTS, wrong=wrong)


def parse_rate(text: str) -> float:
    """Read "5", "5/s", "300/min", "20k/h", "1M/d" as events a second."""
    number, _, unit = text.partition("/")
    per_s = _PERIODS_S.get(unit.strip().lower())
    wrong = unreadable(text, say("a rate"), example="5/s, 300/min")
    if per_s is None:
        raise wrong
    return _measured(number, _AMOUNTS, wrong=wrong) / per_s


def parse_factor(text: str) -> float:
    """Read "2x", "1.5", "+50%" as a factor."""
    wrong = unreadable(text, say("a factor"), example="2x, +50%")
    if text.strip().endswith("%"):
        return 1 + _measured(text.strip().strip("+%"), {"": 1}, wrong=wrong) / 100
    return _measured(text, {"": 1, "x": 1, "×": 1}, wrong=wrong)


def parse_share(text: str) -> float:
    """Read "0.9", "90%" as a share."""
    wrong = unreadable(text, say("a share"), example="0.9, 90%")
    if text.strip().endswith("%"):
        return _measured(text.strip().removesuffix("%"), {"": 1}, wrong=wrong) / 100
    return _measured(text, {"": 1}, wrong=wrong)


def _measured(text: str, scales: Mapping[str, float], *, wrong: AskError) -> float:
    """A number above zero and its unit."""
    match = _MEASURE.match(text)
    scale = None if match is None else scales.get(match.group(2), scales.get(match.group(2).lower()))
    if match is None or scale is None or not 0 < float(match.group(1)) * scale < math.inf:
        raise wrong
    return float(match.group(1)) * scale


def show_seconds(time_s: float) -> str:
    """A time for people: "12 ms", "1.4 s", "3.2 days"."""
    return show_times(time_s)[0]


def show_times(time_s: float, *others_s: float) -> list[str]:
    """A time for people, then others as numbers in its unit: "22 ms", "19", "25"."""
    least_s = {"d": 86400, "h": 3600, "min": 120, "s": 1}
    unit = next((name for name, least in least_s.items() if time_s >= least), "ms")
    first, *others = (_short(each_s / _SECONDS[unit]) for each_s in (time_s, *others_s))
    return [f"{first} {unit}", *others]


def show_watts(power_w: float) -> str:
    """A power for people: "450 W", "5.6 kW"."""
    if power_w >= MEGA:
        return f"{_short(power_w / MEGA)} MW"
    return f"{_short(power_w / KILO)} kW" if power_w >= KILO else f"{power_w:.0f} W"


def show_usd(usd: float) -> str:
    """Dollars for people: "$0.24", "$23.92", "$4,880"."""
    if not math.isfinite(usd):
        return "-"
    return f"${usd:,.2f}" if 0.1 <= abs(usd) < 100 else f"${_short(usd)}"


def show_short(number: float) -> str:
    """A figure known to two or three digits: "0.35", "41", "8,420"."""
    return _short(number)


def _short(number: float) -> str:
    """Two digits below ten, three above, whole from a hundred on."""
    if not math.isfinite(number):
        return "-"
    size = abs(number)
    if size >= 100:
        step = 10 ** max(math.floor(math.log10(size)) - 2, 0)
        return f"{round(number / step) * step:,.0f}"
    if number == 0:
        return "0"
    return f"{number:.{max(1 - math.floor(math.log10(size)), 0)}f}"


def show_bytes(size_bytes: float) -> str:
    """A size for people, binary: "14.96 GiB"."""
    for unit, name in ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if abs(size_bytes) >= unit:
            return f"{_three(size_bytes / unit)} {name}"
    return f"{size_bytes:.0f} B"


def show_count(number: float) -> str:
    """A count for people: "8.03 B", "131,072"."""
    if abs(number) >= TERA:
        return f"{_three(number / TERA)} T"
    if abs(number) >= GIGA:
        return f"{_three(number / GIGA)} B"
    if abs(number) >= MEGA:
        return f"{_three(number / MEGA)} M"
    return f"{number:,.0f}"


def _three(number: float) -> str:
    """Three leading digits, never fewer than the whole part needs."""
    digits = max(0, 2 - math.floor(math.log10(abs(number)))) if number else 2
    return f"{number:,.{min(digits, 2)}f}"


_MEASURED = {
    "flops_per_s": (("TFLOP/s", TERA), ("GFLOP/s", GIGA)),
    "bytes_per_s": (("GB/s", GIGA), ("MB/s", MEGA)),
    "ops_per_s": (("op/s", 1),),
    "items_per_s": (("items/s", 1),),
    "tok_per_s": (("tok/s", 1),),
    "ratio": (("", 1),),
}


_WRITTEN: Mapping[str, Callable[[float], str]] = {
    "s": lambda time_s: show_seconds(time_s) if time_s >= 1 / KILO else f"{_short(time_s * MEGA)} µs",
    "bytes": show_bytes,
    "w": show_watts,
    "share": "{:.0%}".format,
    "c": "{:.0f} °C".format,
    "cores": "{:.1f}".format,
}


def show_measured(value: float, unit: str) -> str:
    """A measured figure in the unit that suits its size: "1,400 TFLOP/s", "26 GB/s", "5.1 µs"."""
    if unit in _WRITTEN:
        return _WRITTEN[unit](value)
    scales = _MEASURED.get(unit, ((unit, 1),))
    name, scale = next(((name, scale) for name, scale in scales if value >= scale / 10), scales[-1])
    return f"{_short(value / scale)} {name}".rstrip()

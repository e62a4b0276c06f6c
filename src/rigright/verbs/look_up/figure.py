"""A figure: a value with its unit, how it is shown, and how a field of a record becomes one."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.base.errors import DataError
from rigright.base.units import GIB, GIGA, TERA
from rigright.base.words import Sentence, say


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its unit; a value that is a word has none."""

    value: float | str | Sentence | None
    unit: str = ""


# how a field's name ends -> what one unit of it is called, and how many base units it holds
_UNITS = (
    ("_flops_per_s", "TFLOPS", TERA),
    ("_bytes_per_s", "GB/s", GIGA),
    ("mem_bytes", "GiB", GIB),
    ("size_bytes", "TB", TERA),
    ("_bytes", "GB", GIGA),
    ("_w", "W", 1.0),
    ("_usd", "USD", 1.0),
)


def show(figure: Figure) -> str | Sentence:
    """A figure for people: two or three leading digits, then its unit."""
    value = figure.value
    if value is None:
        return say("none")
    if isinstance(value, str | Sentence):
        return value
    digits = 0 if value == int(value) or abs(value) >= 1000 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f} {figure.unit}".strip()


def number(figure: Figure) -> float:
    """The value of a figure that must be a number."""
    if not isinstance(figure.value, int | float):
        raise DataError(say('"{value}" is not a number', value=figure.value))
    return float(figure.value)


def of_field(name: str, value: object) -> Figure:
    """A field of a record as a figure in the unit its name ends with."""
    if value is None or isinstance(value, str | Sentence):
        return Figure(value)
    for ending, unit, factor in _UNITS:
        if name.endswith(ending):
            return Figure(float(value) / factor, unit)  # type: ignore[arg-type]
    return Figure(float(value))  # type: ignore[arg-type]

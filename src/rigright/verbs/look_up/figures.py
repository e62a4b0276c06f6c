"""The figures of the myths: each a law with plain words as arguments, computed from our tables and counts.

A figure is written `law word word`; `times N | figure` multiplies, `ratio figure | figure` divides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from rigright.base.errors import DataError
from rigright.base.units import GIB, GIGA, MIB, TERA, to_gib
from rigright.base.words import Sentence, say
from rigright.facts.chips import Chip, by_id, chips
from rigright.facts.links import pcie_bytes_per_s


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its unit; a value that is a word has none."""

    value: float | str | Sentence | None
    unit: str = ""


Law = Callable[..., Figure]

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


def compute(text: str) -> Figure:
    """The figure that a row asks for."""
    head, bar, rest = text.partition("|")
    words = head.split()
    if bar and words[0] == "times":
        return scale(float(words[1]), compute(rest))
    if bar and words[0] == "ratio":
        return divide(compute(head.partition(" ")[2]), compute(rest))
    law = laws().get(words[0])
    if law is None:
        raise DataError(say('no law of figures is called "{name}"', name=words[0]))
    return law(*words[1:])


def show(figure: Figure) -> str | Sentence:
    """A figure for people: two or three leading digits, then its unit."""
    value = figure.value
    if value is None:
        return say("none")
    if isinstance(value, str | Sentence):
        return value
    digits = 0 if value == int(value) or abs(value) >= 1000 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f} {figure.unit}".strip()


def scale(factor: float, figure: Figure) -> Figure:
    """So many times a figure."""
    return replace(figure, value=factor * number(figure))


def divide(upper: Figure, lower: Figure) -> Figure:
    """One figure in terms of another."""
    return Figure(number(upper) / number(lower))


def number(figure: Figure) -> float:
    """The value of a figure that must be a number."""
    if not isinstance(figure.value, int | float):
        raise DataError(say('"{value}" is no number', value=figure.value))
    return float(figure.value)


def of_field(name: str, value: object) -> Figure:
    """A field of a record as a figure in the unit its name ends with."""
    if value is None or isinstance(value, str | Sentence):
        return Figure(value)
    for ending, unit, factor in _UNITS:
        if name.endswith(ending):
            return Figure(float(value) / factor, unit)  # type: ignore[arg-type]
    return Figure(float(value))  # type: ignore[arg-type]


def chip_field(chip_id: str, name: str) -> Figure:
    """A field of one chip."""
    return of_field(name, getattr(by_id()[chip_id], name))


def most(name: str, *where: str) -> Figure:
    """The largest value of a field among chips whose own field begins with a word."""
    return of_field(name, max(getattr(chip, name) or 0 for chip in _chips(" ".join(where))))


def counted(name: str, *where: str) -> Figure:
    """How many chips among these have the field at all."""
    return Figure(float(sum(getattr(chip, name) is not None for chip in _chips(" ".join(where)))))


def _chips(where: str) -> list[Chip]:
    field, _, start = where.partition("=")
    return [chip for chip in chips() if str(getattr(chip, field)).startswith(start)]


def cards_for(model: str, form: str, chip_id: str) -> Figure:
    """Cards whose memory together holds the weights."""
    from rigright.arch.sources.open import open_model
    from rigright.cost.weights import weights_bytes

    held = by_id()[chip_id].mem_usable_bytes
    return Figure(float(math.ceil(weights_bytes(open_model(model), form) / held)))


def weights(model: str, form: str) -> Figure:
    """Bytes of a model's weights."""
    from rigright.arch.sources.open import open_model
    from rigright.cost.weights import weights_bytes

    return Figure(weights_bytes(open_model(model), form) / GIGA, "GB")


def params(model: str) -> Figure:
    """Parameters of a model."""
    from rigright.arch import count
    from rigright.arch.sources.open import open_model

    return Figure(count.params(open_model(model)) / GIGA, "B")


def states(model: str, bytes_per_param: str) -> Figure:
    """Weights, gradients and optimizer states of training."""
    return states_of(str(number(params(model))), bytes_per_param)


def states_of(billions: str, bytes_per_param: str) -> Figure:
    """The same for so many billion parameters."""
    return Figure(float(billions) * float(bytes_per_param), "GB")


def kv(model: str, tokens: str) -> Figure:
    """Bytes of the KV cache of one sequence, 16-bit."""
    from rigright.arch import cache
    from rigright.arch.sources.open import open_model

    return Figure(cache.kv_bytes_per_token(open_model(model)) * int(tokens) / GIGA, "GB")


def pcie(gen: str, lanes: str) -> Figure:
    """PCIe, one way."""
    return Figure(pcie_bytes_per_s(int(gen), int(lanes)) / GIGA, "GB/s")


def ports(count: str, gbit: str) -> Figure:
    """Network ports, one way."""
    return Figure(float(count) * float(gbit) / 8, "GB/s")


def gib_of_mib(mib: str) -> Figure:
    """So many MiB as GiB."""
    return Figure(to_gib(float(mib) * MIB))


def laws() -> dict[str, Law]:
    """Every law by the word that calls it."""
    from rigright.verbs.look_up import table_figures

    return {
        "chip": chip_field,
        "most": most,
        "count": counted,
        "cards_for": cards_for,
        "weights": weights,
        "params": params,
        "states": states,
        "states_of": states_of,
        "kv": kv,
        "pcie": pcie,
        "pcie_both": lambda gen, lanes: scale(2, pcie(gen, lanes)),
        "ports": ports,
        "gib_of_mib": gib_of_mib,
        "product": lambda first, second: Figure(float(first) * float(second)),
        "divide": lambda first, second: Figure(float(first) / float(second)),
        **table_figures.LAWS,
    }

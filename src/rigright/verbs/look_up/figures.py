"""The figures of the myths: each a law with plain words as arguments, computed from our tables and counts.

A figure is written `law word word`; `times N | figure` multiplies, `ratio figure | figure` divides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from rigright.base.bounded import MOST_DEPTH, TooDeepError
from rigright.base.errors import DataError
from rigright.base.units import GIGA, MIB, to_gib
from rigright.base.words import say
from rigright.facts.chips import Chip, by_id, chips
from rigright.facts.links import pcie_bytes_per_s, pcie_raw_bytes_per_s
from rigright.verbs.look_up import table_figures
from rigright.verbs.look_up.figure import Figure, number, of_field

Law = Callable[..., Figure]


def compute(text: str) -> Figure:
    """The figure that a row asks for."""
    try:
        found = _computed(text, depth=0)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, StopIteration) as error:
        raise DataError(say('cannot compute "{text}": {why}', text=text, why=error)) from None
    if isinstance(found.value, float) and not math.isfinite(found.value):
        raise DataError(say('"{value}" is not a number', value=found.value))
    return found


def _computed(text: str, *, depth: int) -> Figure:
    head, bar, rest = text.partition("|")
    words = head.split()
    if depth > MOST_DEPTH:
        raise TooDeepError
    if bar and words[0] == "times":
        return scale(float(words[1]), _computed(rest, depth=depth + 1))
    if bar and words[0] == "ratio":
        return divide(_computed(head.partition(" ")[2], depth=depth + 1), _computed(rest, depth=depth + 1))
    law = laws().get(words[0])
    if law is None:
        raise DataError(say('no law of figures is called "{name}"', name=words[0]))
    return law(*words[1:])


def scale(factor: float, figure: Figure) -> Figure:
    """So many times a figure."""
    return replace(figure, value=factor * number(figure))


def divide(upper: Figure, lower: Figure) -> Figure:
    """One figure in terms of another."""
    return Figure(number(upper) / number(lower))


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


def cards_for(model: str, form: str, *said: str) -> Figure:
    """Cards whose memory together holds the weights."""
    from rigright.arch.sources.open import open_model
    from rigright.terms.stored import weights_bytes

    (chip_id,) = said
    held = by_id()[chip_id].mem_usable_bytes
    return Figure(float(math.ceil(weights_bytes(open_model(model), form) / held)))


def weights(model: str, form: str) -> Figure:
    """Bytes of a model's weights."""
    from rigright.arch.sources.open import open_model
    from rigright.terms.stored import weights_bytes

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


def saved(model: str, tokens: str, *said: str) -> Figure:
    """Activations that training a sequence of so many tokens keeps for its backward pass."""
    from rigright.arch.sources.open import open_model
    from rigright.cost.training_acts import activations
    from rigright.cost.training_stages import stage_of
    from rigright.demand import Layout, Training
    from rigright.terms.training import set_up

    (recompute,) = said
    arch = open_model(model)
    setup = set_up(Training(seq_tok=int(tokens), recompute=recompute), hidden=arch.trunk.hidden)
    return Figure(float(activations(stage_of(arch, setup, layout=Layout(), index=0)).kept) / GIGA, "GB")


def pcie(gen: str, lanes: str) -> Figure:
    """PCIe, one way."""
    return Figure(pcie_bytes_per_s(int(gen), int(lanes)) / GIGA, "GB/s")


def pcie_raw(gen: str, lanes: str) -> Figure:
    """The same before encoding: the round figures of data sheets."""
    return Figure(pcie_raw_bytes_per_s(int(gen), int(lanes)) / GIGA, "GB/s")


def ports(count: str, gbit: str) -> Figure:
    """Network ports, one way."""
    return Figure(float(count) * float(gbit) / 8, "GB/s")


def gib_of_mib(mib: str) -> Figure:
    """So many MiB as GiB."""
    return Figure(to_gib(float(mib) * MIB))


def laws() -> dict[str, Law]:
    """Every law by the word that calls it."""
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
        "saved": saved,
        "pcie": pcie,
        "pcie_raw": pcie_raw,
        "ports": ports,
        "gib_of_mib": gib_of_mib,
        "product": lambda first, second: Figure(float(first) * float(second)),
        "divide": lambda first, second: Figure(float(first) / float(second)),
        **table_figures.LAWS,
    }

"""Inputs that a question leaves open, integrated over how people run.

Each has a prior: a few values with weights (`data/unsaid.toml`). The figure uses the middle of every
prior; then each input alone varies over its prior, and that spread is added to the band like an
independent error: squares of logarithms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rigright.base.record import dataclass, kept

SHARES = np.array([0.1, 0.5, 0.9])  # from end to end of an 80 % band
SLIGHT = 0.05  # logarithm: an input that moves a figure by less decides nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """What an input may be where nobody says."""

    name: str
    values: tuple[Any, ...]  # from low to high where they have an order
    weights: tuple[float, ...]
    option: str = ""  # what a person types to say it

    @property
    def middle(self) -> Any:
        """The value half of the weight lies below."""
        return _middle(self)


@kept
def _middle(prior: Prior) -> Any:
    heaped = np.cumsum(prior.weights)
    return prior.values[int(np.searchsorted(heaped, heaped[-1] / 2))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decides:
    """The unsaid input that a figure hangs on most."""

    prior: Prior
    least: float  # the figure from here
    most: float  # to there


@dataclass(frozen=True, slots=True, kw_only=True)
class Integrated:
    """A figure with its band over everything that was not said."""

    value: float
    low: float
    high: float
    decides: Decides | None = None


def integrated(
    figure: Callable[[Mapping[str, Any]], float],
    unsaid: Sequence[Prior],
    *,
    band: tuple[float, float] = (1.0, 1.0),
) -> Integrated:
    """The figure over its unsaid inputs; `band`: low and high over the figure were everything said.

    `figure` gives the figure for values of the unsaid inputs, by name; nan where they cannot be.
    """
    return weighed([float(figure(values)) for values in trials(unsaid)], unsaid, band=band)


def trials(unsaid: Sequence[Prior]) -> list[dict[str, Any]]:
    """Values to try: the middle of all, then each input alone over what else it may be."""
    middle = {prior.name: prior.middle for prior in unsaid}
    return [middle, *({**middle, prior.name: other} for prior in unsaid for other in others(prior))]


def others(prior: Prior) -> list[Any]:
    """What an input may be beside its middle."""
    middle = prior.middle
    return [value for value in prior.values if value != middle]


def weighed(
    figures: Sequence[float] | np.ndarray, unsaid: Sequence[Prior], *, band: tuple[float, float]
) -> Integrated:
    """A figure over its unsaid inputs, from what it is at each of their trials."""
    value, values = float(figures[0]), iter(figures[1:])
    below, above = np.log(band[0]) ** 2, np.log(band[1]) ** 2
    decides, widest, moved = None, SLIGHT, 0.0
    for prior in unsaid:
        middle = prior.middle
        given = np.array([value if item == middle else float(next(values)) for item in prior.values])
        good = np.isfinite(given) & (given > 0)
        if not good.any():
            continue
        offs, weights = np.log(given[good] / value), np.array(prior.weights)[good]
        order = np.argsort(offs, kind="stable")
        heaped = np.cumsum(weights[order])
        places = np.searchsorted(heaped, SHARES * heaped[-1])
        low, half, high = offs[order][np.minimum(places, len(offs) - 1)].tolist()
        below, above, moved = below + (half - low) ** 2, above + (high - half) ** 2, moved + half
        if high - low > widest:
            widest = high - low
            decides = Decides(prior=prior, least=value * np.exp(low), most=value * np.exp(high))
    value *= float(np.exp(moved))
    low, high = value * float(np.exp(-np.sqrt(below))), value * float(np.exp(np.sqrt(above)))
    return Integrated(value=value, low=low, high=high, decides=decides)

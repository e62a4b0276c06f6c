"""Loads that are made up: moments by a process, lengths around their means, the same again for a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rigright.demand import Traffic
from rigright.sim.load import Load

DAY_SWING = 0.8  # of a day's rate, from its mean to its top
CURVE_POINTS = 4096
CLOSED = "closed"
TOGETHER = "together"  # a closed loop whose users all start at the same moment, as benchmarks do
UNLIKE = 0.1  # of lengths of answers to users that go on: were all alike, their prompts would fall into step
LOOPS = frozenset({CLOSED, TOGETHER})


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """How requests arrive."""

    kind: str = "poisson"  # a key of PROCESSES, or one of LOOPS
    spread: float = 2.0  # gamma: standard deviation of gaps over their mean; 1 is Poisson, 0 a metronome
    burst: int = 10  # burst: requests that come together
    period_s: float = 86_400.0  # diurnal: from top to top
    think_s: float = 0.0  # closed: between an answer and the next question
    life_s: float = 0.0  # closed: users start at any moment of it, as if they had been there; 0: all at once


def made_load(traffic: Traffic, *, count: int, process: Arrivals, seed: int) -> Load:
    """So many requests of a traffic."""
    dice = np.random.default_rng(seed)
    users = None
    if process.kind in LOOPS:
        users = max(min(int(traffic.concurrency), count), 1)
        moments = np.zeros(count)
        moments[:users] = np.sort(dice.uniform(0, process.life_s + process.think_s, users))
        moments -= moments[0]
    else:
        moments = PROCESSES[process.kind](dice, count, rate_per_s=float(traffic.rate_per_s), process=process)
        moments -= moments[0]
    steady = users is not None and process.life_s > 0
    spread = traffic.output_spread
    if spread is None:
        spread = UNLIKE if steady else 0.0
    prompt = lengths(dice, count, mean=traffic.prompt_tok, spread=traffic.prompt_spread)
    return Load(
        arrival_s=moments,
        prompt_tok=prompt,
        output_tok=lengths(
            dice,
            count,
            mean=traffic.output_tok,
            spread=spread,
        ),
        cached_tok=np.minimum(np.full(count, int(traffic.cached_tok)), prompt - 1),
        users=users,
        think_s=process.think_s,
        steady=steady,
    )


def lengths(dice: np.random.Generator, count: int, *, mean: float, spread: float) -> np.ndarray:
    """Whole lengths of at least one token, log-normal around a mean."""
    if spread <= 0:
        return np.full(count, max(int(mean), 1))
    sigma = np.sqrt(np.log1p(spread * spread))
    drawn = dice.lognormal(np.log(mean) - sigma * sigma / 2, sigma, count)
    return np.maximum(np.rint(drawn), 1).astype(int)


Moments = Callable[..., np.ndarray]  # dice and count; the rate and the process by name


def _poisson(dice: np.random.Generator, count: int, *, rate_per_s: float, process: Arrivals) -> np.ndarray:
    del process  # nothing to choose
    return np.cumsum(dice.exponential(1 / rate_per_s, count))


def _gamma(dice: np.random.Generator, count: int, *, rate_per_s: float, process: Arrivals) -> np.ndarray:
    if process.spread <= 0:
        return np.arange(count) / rate_per_s
    shape = 1 / process.spread**2
    return np.cumsum(dice.gamma(shape, 1 / (rate_per_s * shape), count))


def _burst(dice: np.random.Generator, count: int, *, rate_per_s: float, process: Arrivals) -> np.ndarray:
    bursts = -(-count // process.burst)
    starts = np.cumsum(dice.exponential(process.burst / rate_per_s, bursts))
    return np.repeat(starts, process.burst)[:count]


def _diurnal(dice: np.random.Generator, count: int, *, rate_per_s: float, process: Arrivals) -> np.ndarray:
    """A rate that swings over a day around its mean, from its lowest: time stretched until it is even."""
    even = np.cumsum(dice.exponential(1.0, count))
    days = np.ceil(even[-1] / rate_per_s / process.period_s) + 1
    turn = np.linspace(0, days, int(days) * CURVE_POINTS + 1)
    due = rate_per_s * process.period_s * (turn - DAY_SWING * np.sin(2 * np.pi * turn) / (2 * np.pi))
    return np.interp(even, due, turn * process.period_s)


PROCESSES: dict[str, Moments] = {
    "poisson": _poisson,
    "gamma": _gamma,
    "burst": _burst,
    "diurnal": _diurnal,
}

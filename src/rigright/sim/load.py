"""What arrives: requests with their moments and lengths, and the book in which a replay writes."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Requests in the order they arrive; one entry each."""

    arrival_s: np.ndarray
    prompt_tok: np.ndarray
    output_tok: np.ndarray
    cached_tok: np.ndarray  # of the prompt, found in the prefix cache
    users: int | None = None  # a closed loop: so many at once, each asks again when it has its answer
    think_s: float = 0.0  # between an answer and the next question
    steady: bool = False  # users come one by one: what counts is the time while all of them are there

    @property
    def count(self) -> int:
        """Requests."""
        return len(self.arrival_s)

    @property
    def rate_per_s(self) -> float:
        """How many arrive a second, over the time in which they do; inf where all are there at once."""
        span = float(self.arrival_s[-1] - self.arrival_s[0]) if self.count else 0.0
        return (self.count - 1) / span if span > 0 else float("inf")

    def only(self, kept: np.ndarray) -> Load:
        """Some of the requests."""
        return replace(
            self,
            arrival_s=self.arrival_s[kept],
            prompt_tok=self.prompt_tok[kept],
            output_tok=self.output_tok[kept],
            cached_tok=self.cached_tok[kept],
        )


class Book:
    """What each request is and what became of it, by its number; flat arrays that are read one by one."""

    __slots__ = ("arrival_s", "cached", "first_s", "last_s", "output", "prompt", "started_s")

    def __init__(self, load: Load) -> None:
        never = np.full(load.count, np.nan)
        self.arrival_s, self.prompt = _flat("d", load.arrival_s), _flat("q", load.prompt_tok)
        self.output, self.cached = _flat("q", load.output_tok), _flat("q", load.cached_tok)
        self.started_s, self.first_s, self.last_s = (_flat("d", never) for _ in range(3))


def _flat(code: str, values: np.ndarray) -> array[Any]:
    """As Python's own array, whose items are read faster than NumPy's."""
    return array(code, np.ascontiguousarray(values, dtype=code).tobytes())

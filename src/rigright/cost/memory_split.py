"""Layers split over GPUs in order: by free memory, or so that the fullest GPU holds as little as possible."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from rigright.base.units import MEGA
from rigright.cost.shards import stage_bounds
from rigright.demand import Numbers

HALVINGS = 40
MOST_FILL = float(MEGA)  # beyond it no card has any room


def split_by_free(layers: int, free_bytes: Sequence[float]) -> tuple[tuple[int, int], ...]:
    """First and past-last layer of each card as llama.cpp deals them: by what is free when it starts.

    The head counts as one layer more, and a layer goes to the card on which its beginning falls.
    """
    each = np.maximum(np.asarray(free_bytes, dtype=float), 1.0)
    free = np.cumsum(each / each.max())  # cards alike are dealt alike, whatever their size
    cards = np.searchsorted(free / free[-1], np.arange(layers) / (layers + 1), side="right")
    ends = np.searchsorted(cards, np.arange(len(free)), side="right")
    return tuple(pairwise([0, *ends.tolist()]))


def even_bounds(layers: int, cards: int, *, split: str) -> tuple[tuple[int, int], ...]:
    """The same of so many alike cards, for engines that cut tensors and for those that deal layers out."""
    return stage_bounds(layers, cards) if split == "tensor" else split_by_free(layers, [1.0] * cards)


def split_layers(layers_bytes: Sequence[float], room_bytes: Sequence[float]) -> tuple[tuple[int, int], ...]:
    """First and past-last layer of each card; all are filled, or overfilled, alike."""
    sums = np.concatenate([[0.0], np.cumsum(layers_bytes)])
    room = np.maximum(np.asarray(room_bytes, dtype=float), 0.0)
    low, high = 0.0, 1.0
    while _reached(sums, room * high)[-1] < len(layers_bytes) and high < MOST_FILL:
        high *= 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (
            (low, middle) if _reached(sums, room * middle)[-1] >= len(layers_bytes) else (middle, high)
        )
    ends = _reached(sums, room * high)
    ends[-1] = len(layers_bytes)
    return tuple(pairwise([0, *ends]))


def _reached(sums: Numbers, room: Numbers) -> list[int]:
    """Past-last layer of each card when each takes all it has room for."""
    ends: list[int] = []
    start = 0
    for size in room:
        start = int(np.searchsorted(sums, sums[start] + size * (1 + 1e-12), side="right")) - 1
        ends.append(start)
    return ends

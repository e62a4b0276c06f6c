"""80 % bands of inference memory: each part as certain as runs show, parts added as independent errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from rigright.base.record import dataclass
from rigright.demand import Numbers

if TYPE_CHECKING:
    from rigright.cost.memory_serving import ServingMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a figure is made of, in bytes."""

    counted: Numbers = 0.0  # weights, caches, states and rotary tables
    step: Numbers = 0.0  # activations and logits
    libraries: Numbers = 0.0
    graphs: Numbers = 0.0
    beside: Numbers = 0.0  # contexts, collectives, fragments
    loading: Numbers = 0.0  # what copies of a loading may leave, whatever the model's size
    mixed: Numbers = 0.0  # what files of a format differ by, half of it
    narrow: Numbers = 1.0  # no bytes: how much of the band of what is not counted own starts leave


SIZES = tuple(field.name for field in fields(Parts) if field.name != "narrow")
COUNTED = frozenset({"counted", "mixed"})


def parts_of(memory: ServingMemory, *, mixed: float = 0.0) -> Parts:
    """All that a rank needs; `mixed`: the part of its weights by which files of its format differ."""
    return Parts(
        counted=memory.weights_bytes + memory.cache_bytes + memory.states_bytes + memory.tables_bytes,
        step=memory.step_bytes,
        libraries=memory.libraries_bytes,
        graphs=memory.graphs_bytes,
        beside=memory.collectives_bytes + memory.context_bytes + memory.slack_bytes,
        mixed=mixed * memory.weights_bytes,
        narrow=memory.narrow,
    )


def summed_band(
    value: Numbers, *, parts: Parts, edges: Mapping[str, tuple[float, float]], wider: float
) -> tuple[Numbers, Numbers]:
    """Low and high of a value that is the sum of its parts, by the edges of each.

    `wider`: where its like was not measured.
    """
    below = above = np.asarray(parts.mixed, dtype=float) ** 2
    for name in SIZES:
        low, high = edges.get(name, (1.0, 1.0))
        size = np.asarray(getattr(parts, name), dtype=float)
        sure = wider * (1.0 if name in COUNTED else np.asarray(parts.narrow))
        below = below + ((1 - low**sure) * size) ** 2
        above = above + ((high**sure - 1) * size) ** 2
    return value - np.sqrt(below), value + np.sqrt(above)

"""80 % bands of inference memory: each part as certain as runs show, parts added as independent errors."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np

from rigright.base.record import dataclass
from rigright.base.units import MIB
from rigright.demand import Numbers
from rigright.facts.corrections import corrections
from rigright.facts.engines import Engine

if TYPE_CHECKING:
    from rigright.cost.memory_serving import ServingMemory

SUBJECT = "memory_serving"
SHARES = frozenset({"preallocated"})  # of a card: as sure on one that was not measured
LOADING_BYTES = (
    100 * MIB
)  # logs of vLLM show that much more than is counted in every fourth start, of any size


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


SIZES = tuple(one.name for one in fields(Parts) if one.name != "narrow")
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


def band(kind: str, value: Numbers, *, parts: Parts, wider: float = 1.0) -> tuple[Numbers, Numbers]:
    """Low and high of a value that is the sum of its parts; `wider`: where its like was not measured."""
    terms = corrections(SUBJECT)["bands"][kind]
    wider = 1.0 if kind in SHARES else wider
    below = above = np.asarray(parts.mixed, dtype=float) ** 2
    for name in SIZES:
        low, high = terms.get(name, (1.0, 1.0))
        size = np.asarray(getattr(parts, name), dtype=float)
        sure = wider * (1.0 if name in COUNTED else np.asarray(parts.narrow))
        below = below + ((1 - low**sure) * size) ** 2
        above = above + ((high**sure - 1) * size) ** 2
    return value - np.sqrt(below), value + np.sqrt(above)


def pool_band(memory: ServingMemory, *, wider: float = 1.0, mixed: float = 0.0) -> tuple[Numbers, Numbers]:
    """Of what the engine gives to caches: what the parts beside it take more, it has less."""
    parts = replace(
        parts_of(memory, mixed=mixed),
        counted=memory.weights_bytes,
        graphs=0.0,
        beside=0.0,
        loading=LOADING_BYTES,
    )
    low, high = band("start", memory.pool_bytes, parts=parts, wider=wider)
    return 2 * memory.pool_bytes - high, 2 * memory.pool_bytes - low


def away(engine: Engine, chip: str) -> tuple[str, ...]:
    """What of this was not measured: the "engine"; or its "version", the "chip"."""
    known = corrections(SUBJECT)["known"].get(engine.id)
    if known is None:
        return ("engine",)
    minor = ".".join(engine.version.split(".")[:2])
    new = {
        "version": bool(known["versions"]) and minor not in known["versions"],
        "chip": bool(known["chips"]) and chip not in known["chips"],
    }
    return tuple(name for name, is_new in new.items() if is_new)


def widened(missing: tuple[str, ...]) -> float:
    """How much wider a band is for what was not measured; such doubts add as errors do."""
    terms = corrections(SUBJECT)["wider"]
    return 1 + float(np.hypot.reduce([terms[name] - 1 for name in missing], initial=0.0))

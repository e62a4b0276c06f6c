"""Memory of a started engine, part by part: each figure that logs and drivers show, with its 80 % band.

A row of a table of runs and the laboratory ask here, of the very ranks that `explain` tells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from rigright.arch.record import Cut
from rigright.base.errors import AskError
from rigright.base.record import dataclass, replace
from rigright.base.units import GIB, MIB
from rigright.base.words import say
from rigright.choice.case import Case
from rigright.cost.bands import SIZES, Parts
from rigright.cost.memory.serving import ServingMemory, case_of, parts_of
from rigright.cost.memory.settings import EngineCard
from rigright.cost.own_runs import ALL, BESIDE, GRAPHS, STEP, own_memory
from rigright.demand import Numbers
from rigright.facts.anchors import RunCase
from rigright.facts.formats import GgufMix, find_format
from rigright.predict.ranks import memories
from rigright.terms.memory import (
    LOADING_BYTES,
    away,
    band,
    device_of,
    engine_terms,
    file_band,
    file_bytes,
    pool_band,
    started,
    widened,
)

DYNAMIC_MARK, DYNAMIC_SPREAD = "-ud-", 0.08  # unsloth's files pick each tensor's type by measuring
FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartFigure:
    """A figure with its 80 % band."""

    kind: str  # of its band
    unit: float = GIB  # GiB, or tokens
    value_bytes: float
    parts: Parts
    away: tuple[str, ...] = ()  # what of its like was not measured
    low_bytes: float
    high_bytes: float
    own: str = ""  # the part that a run of one's own moves
    own_bytes: float = 0.0  # not 0: its size, where the figure holds more than that part

    def moved(self, by_bytes: float) -> StartFigure:
        """The same, as unsure as something that nobody said and that moves it so far either way."""
        parts = replace(self.parts, mixed=float(np.hypot(self.parts.mixed, by_bytes)))
        low, high = band(self.kind, self.value_bytes, parts=parts, wider=widened(self.away))
        return replace(self, parts=parts, low_bytes=float(low), high_bytes=float(high))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """A start, and all that its figures are made of."""

    case: Case
    ranks: tuple[ServingMemory, ...]
    device: EngineCard
    on_device: bool  # the memory is as the driver shows it, not the framework
    mixed: float  # by how much files of the format differ
    narrow: Mapping[str, float]  # of bands, what own starts leave

    @property
    def fullest(self) -> ServingMemory:
        return min(self.ranks, key=lambda rank: float(rank.spare_bytes))

    def summed(self) -> Parts:
        """Parts of every rank together."""
        each = [parts_of(rank, mixed=self.mixed) for rank in self.ranks]
        sums = {name: sum(float(getattr(part, name)) for part in each) for name in SIZES}
        return Parts(**sums, narrow=max(float(part.narrow) for part in each))

    @property
    def beside_bytes(self) -> float:
        """What stands beside the weights of the fullest rank."""
        rank = self.fullest
        return float(rank.step_bytes + rank.libraries_bytes + rank.collectives_bytes + rank.context_bytes)

    def figure(self, kind: str, value_bytes: float, *, part: str = "", **parts: Numbers) -> StartFigure:
        """A figure with its band; `part`: what own starts tell of it."""
        made = Parts(**{"narrow": self.narrow.get(part or ALL, 1.0)} | parts)
        missing = away(self.case.engine, self.case.cards[0].chip.id)
        low, high = map(float, band(kind, value_bytes, parts=made, wider=widened(missing)))
        return StartFigure(
            kind=kind, value_bytes=value_bytes, parts=made, away=missing, low_bytes=low, high_bytes=high,
            own=part,
        )  # fmt: skip


def measure_of(what: str) -> str:
    """The figure whose name another begins with, the first that fits."""
    text = next((start for start in _MEASURES if what.startswith(start)), None)
    if text is None:
        raise AskError(
            say('unknown memory metric "{what}"; known: {known}', what=what, known=", ".join(_MEASURES))
        )
    return text


def start_figure(case: Case, measure: str, *, model: str = "", on_device: bool = False) -> StartFigure:
    """One figure of a start; `model`: the name of its very file."""
    form = find_format(case.serving.weights)
    is_dynamic = isinstance(form, GgufMix) and DYNAMIC_MARK in model.lower()
    mixed = max(form.spread, DYNAMIC_SPREAD) if is_dynamic else form.spread
    if measure == WEIGHT_FILES:
        low, high = file_band(case.arch, form.id, least_spread=mixed)
        size = float(file_bytes(case.arch, form.id))
        parts = Parts(counted=size)
        return StartFigure(kind=FILE, value_bytes=size, parts=parts, low_bytes=low, high_bytes=high)
    device = device_of(case.cards[0], case.engine)
    own = own_memory(device.own, model=case.arch.name, case=asked_of(case))
    start = _Start(
        case=case, ranks=memories(case), device=device, on_device=on_device, mixed=mixed, narrow=own.narrow
    )
    return _MEASURES[measure](start)


def asked_of(case: Case) -> RunCase:
    """How it is started, as own starts are told apart."""
    device = device_of(case.cards[0], case.engine)
    return case_of(case.arch, started(case.serving), layout=case.layout, device=device)


def _weights(start: _Start) -> StartFigure:
    rank = start.fullest
    size = float(rank.weights_bytes + rank.tables_bytes) - start.device.base_bytes
    mixed = start.mixed * float(rank.weights_bytes)
    return start.figure("start", size, counted=size, loading=LOADING_BYTES, mixed=mixed)


def _read_per_token(start: _Start) -> StartFigure:
    """Weights one token goes through: not the token table, of experts those it is sent to."""
    arch, weights = start.case.arch, start.case.weights
    routed = [layer.ffn for layer in arch.trunk.layers if layer.ffn is not None and layer.ffn.experts]
    idle = 1 - sum(ffn.per_tok for ffn in routed) / max(sum(ffn.experts for ffn in routed), 1)
    unread = 0.0 if arch.tied else sum(weights.entry.values())
    unread += sum(by_cut.get(Cut.EXPERT, 0.0) for by_cut in weights.layers) * idle if routed else 0.0
    size = weights.total_bytes - unread
    return start.figure("start", size, counted=size, mixed=start.mixed * size)


def _beside_torch(start: _Start) -> StartFigure:
    inside = start.case.engine.inside
    counted = [name for name in inside if name != "graphs"] or ["context", "collectives"]
    sizes = {name: float(getattr(start.fullest, f"{name}_bytes")) for name in counted}
    libraries = sizes.pop("libraries", 0.0)
    beside = sum(sizes.values())
    return start.figure("start", libraries + beside, part=BESIDE, libraries=libraries, beside=beside)


def _step(start: _Start) -> StartFigure:
    size = float(start.fullest.step_bytes)
    return start.figure("start", size, part=STEP, step=size)


def _pool(start: _Start) -> StartFigure:
    """What the parts beside the pool take more, the pool has less."""
    rank = start.fullest
    figure = start.figure("start", float(rank.pool_bytes))
    low, high = pool_band(rank, wider=widened(figure.away), mixed=start.mixed)
    parts = replace(parts_of(rank), counted=rank.weights_bytes, loading=LOADING_BYTES)
    figure = replace(figure, parts=parts, low_bytes=float(low), high_bytes=float(high))
    is_share = start.case.engine.pool == "share"
    return replace(figure, own=ALL, own_bytes=-start.beside_bytes) if is_share else figure


def _counted(start: _Start, *, count: str) -> StartFigure:
    """What the engine counts in its pool; as sure as the bytes it lies in."""
    figure, number = _pool(start), min(float(getattr(rank, count)) for rank in start.ranks)
    each = max(figure.value_bytes, 1.0)
    low, high = (number * side / each for side in (figure.low_bytes, figure.high_bytes))
    own = figure.own_bytes * number / each
    return replace(figure, unit=1.0, value_bytes=number, low_bytes=low, high_bytes=high, own_bytes=own)


def _cache(start: _Start) -> StartFigure:
    size = sum(float(rank.cache_bytes + rank.states_bytes) for rank in start.ranks)
    return start.figure("start", size, counted=size)


def _peak(start: _Start) -> StartFigure:
    """The driver's figure, or the framework's; every card's together."""
    if start.on_device:
        return _device(start)
    case, parts = start.case, start.summed()
    # AWQ models load the head as a tensor of its own before it is tied to the token table
    twice = case.arch.tied and case.serving.weights.startswith("awq")
    used = max(
        sum(float(rank.allocated_bytes) for rank in start.ranks),
        case.weights.total_bytes + (sum(case.weights.entry.values()) if twice else 0.0),
    )
    return start.figure(
        "allocated", used, counted=parts.counted, step=parts.step, mixed=parts.mixed,
        beside=max(used - float(parts.counted + parts.step), start.device.base_bytes * len(start.ranks)),
    )  # fmt: skip


def _used(start: _Start) -> float:
    return sum(float(rank.device_bytes) for rank in start.ranks)


def _device(start: _Start) -> StartFigure:
    parts = start.summed()
    figure = start.figure(
        "device", _used(start), **{name: getattr(parts, name) for name in (*SIZES, "narrow")}
    )
    is_sum = start.case.engine.pool != "share" and len(start.ranks) == 1
    return replace(figure, own=ALL, own_bytes=start.beside_bytes) if is_sum else figure


def _preallocated(start: _Start) -> StartFigure:
    return start.figure("preallocated", _used(start), counted=_used(start))


def _graphs(start: _Start) -> StartFigure:
    """What the device has less of after them: the framework may hand back as much meanwhile."""
    size = float(start.fullest.graphs_bytes)
    freed = start.case.engine.graph_freed_mib * MIB
    return start.figure("start", size, part=GRAPHS, graphs=size, mixed=freed)


def _graphs_estimated(start: _Start) -> StartFigure:
    size = float(start.fullest.graphs_bytes) * start.device.graph_estimate
    return start.figure("start", size, graphs=size)


def _beside_cache(start: _Start) -> StartFigure:
    """All that the engine takes off its share before it makes a cache."""
    weights, step, others = _weights(start), _step(start), _beside_torch(start)
    value = weights.value_bytes + step.value_bytes + others.value_bytes
    return start.figure(
        "start", value, counted=weights.parts.counted, mixed=weights.parts.mixed, step=step.parts.step,
        libraries=others.parts.libraries, beside=others.parts.beside, loading=LOADING_BYTES,
    )  # fmt: skip


def _reserved(start: _Start) -> StartFigure:
    peak, reserve = _peak(replace(start, on_device=False)), engine_terms(start.case.engine)["reserve"]
    low, high = peak.low_bytes * reserve, peak.high_bytes * reserve * reserve
    return replace(peak, value_bytes=peak.value_bytes * reserve, low_bytes=low, high_bytes=high)


WEIGHT_FILES = "weights_file"
_MEASURES: dict[str, Callable[[_Start], StartFigure]] = {  # how a name begins -> what it measures
    WEIGHT_FILES: _weights,
    "weights_read": _read_per_token,
    "weights": _weights,
    "model": _weights,
    "non_torch": _beside_torch,
    "activation": _step,
    "compute": _step,
    "graph": _graphs,
    "cuda_graph_estimated": _graphs_estimated,
    "cuda_graph": _graphs,
    "kv_cache_available": _pool,
    "kv_tokens": partial(_counted, count="pool_tok"),
    "kv_blocks": partial(_counted, count="blocks"),
    "kv": _cache,
    "reserved": _reserved,
    "total_non_kv": _beside_cache,
    "total_gpu_preallocated": _preallocated,
    "total": _peak,
    "allocated": _peak,
    "peak": _peak,
}

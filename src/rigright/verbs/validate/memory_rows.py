"""Rows of memory.csv: what was asked, and the figure our laws give for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rigright.arch.record import Arch, Cut
from rigright.base.errors import AskError
from rigright.base.tables import Row
from rigright.base.units import GIB
from rigright.base.words import Sentence, say
from rigright.cost.memory_bands import band
from rigright.cost.memory_device import device_of, engine_terms
from rigright.cost.memory_serving import ServingMemory, stage_memories
from rigright.cost.memory_settings import Device
from rigright.cost.memory_split import even_bounds
from rigright.cost.memory_step import rope_tables_bytes
from rigright.cost.weights import WeightBytes, file_band, file_bytes, weigh
from rigright.demand import Layout, Serving
from rigright.facts.formats import find_format
from rigright.facts.kv_formats import find_kv_format
from rigright.verbs.validate.memory_notes import Told, read_notes
from rigright.verbs.validate.models import model_of

USUAL_CONTEXT_TOK, USUAL_PROMPT_TOK = 1024, 512  # where a row tells nothing
DYNAMIC_MARK, DYNAMIC_SPREAD = "-ud-", 0.08


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFigure:
    """A predicted figure with its 80 % band, and what was assumed."""

    kind: str  # of its band
    unit: float = GIB  # of the column: GiB, or tokens
    value_bytes: float
    sure_bytes: float
    unsure_bytes: float
    low_bytes: float
    high_bytes: float
    assumed: tuple[Sentence, ...] = ()


def predict_memory_row(row: Row) -> MemoryFigure:
    """The figure of one row; raises a RigError that says what was missing."""
    what = row.get("what") or ""
    arch, notes = model_of(row)
    told = read_notes(row)
    if what.startswith("weights_file"):
        form = find_format(told.weights).id
        # unsloth's dynamic files bear a format's name, and pick a type for each tensor by measuring
        is_dynamic = form.startswith("gguf:") and DYNAMIC_MARK in (row.get("model") or "").lower()
        low, high = file_band(arch, form, least_spread=DYNAMIC_SPREAD if is_dynamic else 0.0)
        size = float(file_bytes(arch, form))
        return replace(_figure("weights", size, sure=size), low_bytes=low, high_bytes=high, assumed=notes)
    measure = next((law for start, law in _MEASURES.items() if what.startswith(start)), None)
    if measure is None:
        raise AskError(
            say(
                '"{what}" is not a figure of memory we know; known: {known}',
                what=what,
                known=", ".join(_MEASURES),
            )
        )
    case, assumed = _case(row, arch, told=told)
    return replace(measure(case), assumed=(*notes, *assumed))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    told: Told
    arch: Arch
    weights: WeightBytes
    device: Device
    ranks: tuple[ServingMemory, ...]  # one a stage, or one a card that layers were dealt out to

    @property
    def fullest(self) -> ServingMemory:
        return min(self.ranks, key=lambda rank: float(rank.spare_bytes))


def _figure(kind: str, value_bytes: float, *, sure: float = 0.0, unsure: float = 0.0) -> MemoryFigure:
    low, high = band(kind, value_bytes, sure_bytes=sure, unsure_bytes=unsure)
    return MemoryFigure(
        kind=kind,
        value_bytes=value_bytes,
        sure_bytes=sure,
        unsure_bytes=unsure,
        low_bytes=low,
        high_bytes=high,
    )


def _case(row: Row, arch: Arch, *, told: Told) -> tuple[_Case, tuple[Sentence, ...]]:
    engine = told.engine
    context = row.get("context") or told.context_tok
    layered = engine.split == "layer"
    if told.engine.pool != "grow":
        prompt = None
    else:
        prompt = told.prompt_tok or (None if context else USUAL_PROMPT_TOK)
    serving = Serving(
        engine=f"{engine.id} {engine.version}",
        weights=find_format(told.weights).id,
        kv=find_kv_format(row.get("kv") or ("fp32" if told.weights == "fp32" else "16bit")).id,
        context_tok=int(context or min(_usual_context(told), arch.max_context_tok or USUAL_CONTEXT_TOK)),
        batch=int(row.get("batch") or 1),
        prompt_tok=prompt,
        budget_tok=told.budget_tok,
        max_seqs=told.max_seqs,
        utilisation=told.share,
        graphs=told.graphs,
        flash=told.flash,
    )
    layout = Layout(pp=told.cards) if layered else Layout(tp=told.tp, pp=told.pp, dp=told.dp)
    weights = weigh(arch, serving.weights)
    device: Device = device_of(told.card, engine)
    bounds = even_bounds(len(arch.trunk.layers), layout.pp, split=engine.split)
    places = [(device, bound) for bound in bounds]
    ranks = stage_memories(arch, weights, serving=serving, layout=layout, places=places)
    notes = []
    if context is None:
        notes.append(say("context is empty: the engine's usual one is taken"))
    if not told.versioned:
        notes.append(say("{engine} version not stated: assuming the newest", engine=told.engine.label))
    return _Case(told=told, arch=arch, weights=weights, device=device, ranks=ranks), tuple(notes)


def _usual_context(told: Told) -> int:
    """Engines that set a cache aside make it as long as the model allows, but for those that grow it."""
    return USUAL_CONTEXT_TOK if told.engine.pool != "exact" else told.engine.usual_context_tok


def _weights(case: _Case) -> MemoryFigure:
    layers = len(case.arch.trunk.layers) / len(case.ranks)
    size = float(case.fullest.weights_bytes) + float(
        rope_tables_bytes(case.arch, case.told.engine, layers=layers)
    )
    return _figure("weights", size, sure=size)


def _read_per_token(case: _Case) -> MemoryFigure:
    """Weights one token goes through: not the token table, of experts those it is sent to."""
    routed = [layer.ffn for layer in case.arch.trunk.layers if layer.ffn is not None and layer.ffn.experts]
    idle = 1 - sum(ffn.per_tok for ffn in routed) / max(sum(ffn.experts for ffn in routed), 1)
    weights = case.weights
    unread = 0.0 if case.arch.tied else sum(weights.entry.values())
    unread += sum(by_cut.get(Cut.EXPERT, 0.0) for by_cut in weights.layers) * idle if routed else 0.0
    size = weights.total_bytes - unread
    return _figure("weights", size, sure=size)


def _beside_torch(case: _Case) -> MemoryFigure:
    rank = case.fullest
    counted = [name for name in case.told.engine.inside if name != "graphs"] or ["context", "collectives"]
    size = sum(float(getattr(rank, f"{name}_bytes")) for name in counted)
    return _figure("device", size, unsure=size)


def _step(case: _Case) -> MemoryFigure:
    size = float(case.fullest.step_bytes)
    return _figure("part", size, unsure=size)


def _pool(case: _Case) -> MemoryFigure:
    """What the parts beside the pool take more, the pool has less."""
    rank = case.fullest
    value = float(rank.pool_bytes)
    beside = float(rank.fixed_bytes - rank.weights_bytes)
    found = _figure("pool", value, sure=float(rank.weights_bytes), unsure=beside)
    return replace(found, low_bytes=2 * value - found.high_bytes, high_bytes=2 * value - found.low_bytes)


def _pool_tokens(case: _Case) -> MemoryFigure:
    """Tokens that the engine says its cache holds; as sure as the bytes they lie in."""
    found = _pool(case)
    rank = case.fullest
    tokens, value = float(rank.pool_tok), max(found.value_bytes, 1.0)
    low, high = (tokens * side / value for side in (found.low_bytes, found.high_bytes))
    return replace(found, unit=1.0, value_bytes=tokens, low_bytes=low, high_bytes=high)


def _cache(case: _Case) -> MemoryFigure:
    size = sum(float(rank.cache_bytes + rank.states_bytes) for rank in case.ranks)
    return _figure("weights", size, sure=size)


def _peak(case: _Case) -> MemoryFigure:
    """The driver's figure, or the framework's; every card's together."""
    sure = sum(float(rank.weights_bytes + rank.cache_bytes + rank.states_bytes) for rank in case.ranks)
    if case.told.on_device:
        used = sum(float(rank.device_bytes) for rank in case.ranks)
        return _figure("device", used, sure=sure, unsure=used - sure)
    # AWQ models load the head as a tensor of its own before it is tied to the token table
    twice = case.arch.tied and case.told.weights.startswith("awq")
    used = max(
        sum(float(rank.allocated_bytes) for rank in case.ranks),
        case.weights.total_bytes + (sum(case.weights.entry.values()) if twice else 0.0),
    )
    return _figure("allocated", used, sure=sure, unsure=max(used - sure, 0.0))


def _preallocated(case: _Case) -> MemoryFigure:
    used = sum(float(rank.device_bytes) for rank in case.ranks)
    return _figure("preallocated", used, sure=used)


def _graphs(case: _Case) -> MemoryFigure:
    size = float(case.fullest.graphs_bytes)
    return _figure("device", size, unsure=size)


def _graphs_estimated(case: _Case) -> MemoryFigure:
    size = float(case.fullest.graphs_bytes) * case.device.graph_estimate
    return _figure("device", size, unsure=size)


def _beside_cache(case: _Case) -> MemoryFigure:
    """All that the engine takes off its share before it makes a cache."""
    weights, step, others = _weights(case), _step(case), _beside_torch(case)
    value = weights.value_bytes + step.value_bytes + others.value_bytes
    return _figure("part", value, sure=weights.value_bytes, unsure=value - weights.value_bytes)


def _reserved(case: _Case) -> MemoryFigure:
    peak = _peak(replace(case, told=replace(case.told, on_device=False)))
    reserve = engine_terms(case.told.engine)["reserve"]
    return _figure(
        "device", peak.value_bytes * reserve, sure=peak.sure_bytes, unsure=peak.unsure_bytes * reserve
    )


_MEASURES: dict[
    str, Callable[[_Case], MemoryFigure]
] = {  # how a name begins -> what it measures, the first that fits
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
    "kv_tokens": _pool_tokens,
    "kv": _cache,
    "reserved": _reserved,
    "total_non_kv": _beside_cache,
    "total_gpu_preallocated": _preallocated,
    "total": _peak,
    "allocated": _peak,
    "peak": _peak,
}

"""Rows of memory.csv: what was asked, and the figure our laws give for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rigright.arch.record import Arch, Cut
from rigright.base.errors import AskError
from rigright.base.tables import Row
from rigright.base.units import GIB, MIB
from rigright.base.words import Sentence, say
from rigright.cost.memory_anchors import ALL, BESIDE, GRAPHS, SERVING, STEP, OwnMemory, own_memory
from rigright.cost.memory_bands import SIZES, Parts, parts_of
from rigright.cost.memory_serving import ServingMemory, case_of, stage_memories
from rigright.cost.memory_settings import Device
from rigright.cost.memory_split import even_bounds
from rigright.cost.weights import WeightBytes, has_experts
from rigright.demand import Layout, Numbers, Serving
from rigright.facts.anchors import RunCase
from rigright.facts.formats import Format, GgufMix, find_format, find_kv_format
from rigright.terms.memory import (
    LOADING_BYTES,
    away,
    band,
    device_of,
    engine_terms,
    pool_band,
    started,
    widened,
)
from rigright.terms.stored import file_band, file_bytes, weigh
from rigright.terms.unsaid import priors
from rigright.verbs.validate.memory_told import MemoryRow, told_of
from rigright.verbs.validate.models import model_of
from rigright.verbs.validate.validation import Basis

USUAL_CONTEXT_TOK, USUAL_PROMPT_TOK = 1024, 512  # where a row tells nothing
USUAL_MOST_SHARE = 0.95  # of a card, that people give an engine which finds no room
DYNAMIC_MARK, DYNAMIC_SPREAD = "-ud-", 0.08


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFigure:
    """A predicted figure with its 80 % band, and what was assumed."""

    kind: str  # of its band
    unit: float = GIB  # of the column: GiB, or tokens
    value_bytes: float
    parts: Parts
    away: tuple[str, ...] = ()  # what of its like was not measured
    low_bytes: float
    high_bytes: float
    assumed: tuple[Sentence, ...] = ()
    own: tuple[str, float] | None = None  # the part that a run of one's own moves; as `Basis.of` has it
    basis: Basis | None = None


def predict_memory_row(row: Row) -> MemoryFigure:
    """The figure of one row; raises a RigError that says what was missing."""
    what = row.get("what") or ""
    arch, notes = model_of(row)
    told = told_of(row)
    if what.startswith("weights_file"):
        form = find_format(told.weights)
        low, high = file_band(arch, form.id, least_spread=mixed_share(form, row.get("model") or ""))
        size = float(file_bytes(arch, form.id))
        return MemoryFigure(
            kind="file", value_bytes=size, parts=Parts(counted=size),
            low_bytes=low, high_bytes=high, assumed=notes,
        )  # fmt: skip
    measure = next((law for start, law in _MEASURES.items() if what.startswith(start)), None)
    if measure is None:
        raise AskError(
            say(
                'unknown memory metric "{what}"; known: {known}',
                what=what,
                known=", ".join(_MEASURES),
            )
        )
    case, assumed = _case(row, arch, told=told)
    found = measure(case)
    if found.value_bytes <= 0 and what.startswith("kv") and told.engine.pool == "share":
        # it ran, so it was given more than the row says
        found = measure(_case(row, arch, told=replace(told, share=USUAL_MOST_SHARE))[0])
        assumed = (
            *assumed,
            say(
                "no room for a KV cache at the stated memory share: assuming {share}", share=USUAL_MOST_SHARE
            ),
        )
    if _hangs_on_context(row, told):
        lengths = priors("memory")["context_tok"].values
        ends = [
            measure(_case({**row, "context": tok}, arch, told=told)[0]) for tok in (lengths[0], lengths[-1])
        ]
        moved = (ends[1].value_bytes - ends[0].value_bytes) / 2
        parts = replace(found.parts, mixed=float(np.hypot(found.parts.mixed, moved)))
        low, high = band(found.kind, found.value_bytes, parts=parts, wider=widened(found.away))
        found = replace(found, parts=parts, low_bytes=float(low), high_bytes=float(high))
    if found.own is not None:
        part, of = found.own
        basis = Basis(
            subject=SERVING, figure=part, chip=told.card.chip.id, engine=told.engine.id, model=arch.name,
            case=case.case, of=of / found.unit,
        )  # fmt: skip
        found = replace(found, basis=basis)
    return replace(found, assumed=(*notes, *assumed))


def _hangs_on_context(row: Row, told: MemoryRow) -> bool:
    """Whether a row leaves unsaid how long its sequences grew."""
    return told.engine.pool == "grow" and not row.get("context") and told.context_tok is None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    told: MemoryRow
    model: str
    arch: Arch
    weights: WeightBytes
    device: Device
    ranks: tuple[ServingMemory, ...]  # one a stage, or one a card that layers were dealt out to
    case: RunCase  # how it was started, as own starts are told apart

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

    @property
    def wider(self) -> float:
        return widened(away(self.told.engine, self.told.card.chip.id))

    @property
    def mixed(self) -> float:
        """By how much files of the format differ."""
        return mixed_share(find_format(self.told.weights), self.model)

    @property
    def own(self) -> OwnMemory:
        """Starts of this engine that the user measured."""
        return own_memory(self.device.own, model=self.arch.name, case=self.case)

    def figure(self, kind: str, value_bytes: float, *, part: str = ALL, **parts: Numbers) -> MemoryFigure:
        """A figure with its band."""
        made = Parts(**{"narrow": self.own.narrow.get(part, 1.0)} | parts)
        missing = away(self.told.engine, self.told.card.chip.id)
        low, high = map(float, band(kind, value_bytes, parts=made, wider=widened(missing)))
        return MemoryFigure(
            kind=kind, value_bytes=value_bytes, parts=made, away=missing, low_bytes=low, high_bytes=high
        )


def mixed_share(form: Format | GgufMix, model: str) -> float:
    """By how much files of a format differ; unsloth's dynamic ones pick each tensor's type by measuring."""
    is_dynamic = isinstance(form, GgufMix) and DYNAMIC_MARK in model.lower()
    return max(form.spread, DYNAMIC_SPREAD) if is_dynamic else form.spread


def _case(row: Row, arch: Arch, *, told: MemoryRow) -> tuple[_Case, tuple[Sentence, ...]]:
    engine = told.engine
    context = row.get("context") or told.context_tok
    layered = engine.split == "layer"
    if engine.budget_tok is not None:
        prompt = None
    else:
        prompt = told.prompt_tok or (None if context else min(USUAL_PROMPT_TOK, _usual_context(told)))
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
    layout = (
        Layout(pp=told.cards)
        if layered
        else Layout(tp=told.tp, pp=told.pp, dp=told.dp, ep=_spread(arch, told))
    )
    weights = weigh(arch, serving.weights)
    device: Device = device_of(told.card, engine)
    bounds = even_bounds(len(arch.trunk.layers), layout.pp, split=engine.split)
    places = [(device, bound) for bound in bounds]
    start = started(serving)
    ranks = stage_memories(arch, weights, start=start, layout=layout, places=places)
    notes = []
    if context is None:
        notes.append(say("no context given: using the engine's default"))
    if not told.versioned:
        notes.append(say("{engine} version not stated: assuming the newest", engine=told.engine.label))
    case = _Case(
        told=told, model=row.get("model") or "", arch=arch, weights=weights, device=device, ranks=ranks,
        case=case_of(arch, start, layout=layout, device=device),
    )  # fmt: skip
    return case, tuple(notes)


def _spread(arch: Arch, told: MemoryRow) -> int:
    """Ranks that experts are cut over: replicas of attention share them."""
    return told.tp * told.dp if told.dp > 1 and has_experts(arch) else 1


def _usual_context(told: MemoryRow) -> int:
    """Engines that set a cache aside make it as long as the model allows, but for those that grow it."""
    return USUAL_CONTEXT_TOK if told.engine.pool != "exact" else told.engine.usual_context_tok


def _weights(case: _Case) -> MemoryFigure:
    rank = case.fullest
    size = float(rank.weights_bytes + rank.tables_bytes) - case.device.base_bytes
    mixed = case.mixed * float(rank.weights_bytes)
    return case.figure("start", size, counted=size, loading=LOADING_BYTES, mixed=mixed)


def _read_per_token(case: _Case) -> MemoryFigure:
    """Weights one token goes through: not the token table, of experts those it is sent to."""
    routed = [layer.ffn for layer in case.arch.trunk.layers if layer.ffn is not None and layer.ffn.experts]
    idle = 1 - sum(ffn.per_tok for ffn in routed) / max(sum(ffn.experts for ffn in routed), 1)
    weights = case.weights
    unread = 0.0 if case.arch.tied else sum(weights.entry.values())
    unread += sum(by_cut.get(Cut.EXPERT, 0.0) for by_cut in weights.layers) * idle if routed else 0.0
    size = weights.total_bytes - unread
    return case.figure("start", size, counted=size, mixed=case.mixed * size)


def _beside_torch(case: _Case) -> MemoryFigure:
    rank = case.fullest
    counted = [name for name in case.told.engine.inside if name != "graphs"] or ["context", "collectives"]
    sizes = {name: float(getattr(rank, f"{name}_bytes")) for name in counted}
    libraries = sizes.pop("libraries", 0.0)
    beside = sum(sizes.values())
    found = case.figure("start", libraries + beside, part=BESIDE, libraries=libraries, beside=beside)
    return replace(found, own=(BESIDE, 0.0))


def _step(case: _Case) -> MemoryFigure:
    size = float(case.fullest.step_bytes)
    return replace(case.figure("start", size, part=STEP, step=size), own=(STEP, 0.0))


def _pool(case: _Case) -> MemoryFigure:
    """What the parts beside the pool take more, the pool has less."""
    value = float(case.fullest.pool_bytes)
    low, high = pool_band(case.fullest, wider=case.wider, mixed=case.mixed)
    found = case.figure("start", value)
    parts = replace(parts_of(case.fullest), counted=case.fullest.weights_bytes, loading=LOADING_BYTES)
    own = (ALL, -case.beside_bytes) if case.told.engine.pool == "share" else None
    return replace(found, parts=parts, low_bytes=float(low), high_bytes=float(high), own=own)


def _pool_tokens(case: _Case) -> MemoryFigure:
    return _pool_count(case, min(float(rank.pool_tok) for rank in case.ranks))


def _pool_blocks(case: _Case) -> MemoryFigure:
    return _pool_count(case, min(float(rank.blocks) for rank in case.ranks))


def _pool_count(case: _Case, number: float) -> MemoryFigure:
    """What the engine counts in its pool; as sure as the bytes it lies in."""
    found = _pool(case)
    value = max(found.value_bytes, 1.0)
    low, high = (number * side / value for side in (found.low_bytes, found.high_bytes))
    own = found.own and (found.own[0], found.own[1] * number / value)
    return replace(found, unit=1.0, value_bytes=number, low_bytes=low, high_bytes=high, own=own)


def _cache(case: _Case) -> MemoryFigure:
    size = sum(float(rank.cache_bytes + rank.states_bytes) for rank in case.ranks)
    return case.figure("start", size, counted=size)


def _peak(case: _Case) -> MemoryFigure:
    """The driver's figure, or the framework's; every card's together."""
    if case.told.on_device:
        return _device(case, "device")
    parts = case.summed()
    # AWQ models load the head as a tensor of its own before it is tied to the token table
    twice = case.arch.tied and case.told.weights.startswith("awq")
    used = max(
        sum(float(rank.allocated_bytes) for rank in case.ranks),
        case.weights.total_bytes + (sum(case.weights.entry.values()) if twice else 0.0),
    )
    return case.figure(
        "allocated", used, counted=parts.counted, step=parts.step, mixed=parts.mixed,
        beside=max(used - float(parts.counted + parts.step), case.device.base_bytes * len(case.ranks)),
    )  # fmt: skip


def _device(case: _Case, kind: str) -> MemoryFigure:
    used = sum(float(rank.device_bytes) for rank in case.ranks)
    if kind == "preallocated":
        return case.figure(kind, used, counted=used)
    parts = case.summed()
    found = case.figure(kind, used, **{name: getattr(parts, name) for name in (*SIZES, "narrow")})
    is_sum = case.told.engine.pool != "share" and len(case.ranks) == 1
    return replace(found, own=(ALL, case.beside_bytes)) if is_sum else found


def _preallocated(case: _Case) -> MemoryFigure:
    return _device(case, "preallocated")


def _graphs(case: _Case) -> MemoryFigure:
    """What the device has less of after them: the framework may hand back as much meanwhile."""
    size = float(case.fullest.graphs_bytes)
    found = case.figure("start", size, part=GRAPHS, graphs=size, mixed=case.told.engine.graph_freed_mib * MIB)
    return replace(found, own=(GRAPHS, 0.0))


def _graphs_estimated(case: _Case) -> MemoryFigure:
    size = float(case.fullest.graphs_bytes) * case.device.graph_estimate
    return case.figure("start", size, graphs=size)


def _beside_cache(case: _Case) -> MemoryFigure:
    """All that the engine takes off its share before it makes a cache."""
    weights, step, others = _weights(case), _step(case), _beside_torch(case)
    value = weights.value_bytes + step.value_bytes + others.value_bytes
    return case.figure(
        "start", value, counted=weights.parts.counted, mixed=weights.parts.mixed, step=step.parts.step,
        libraries=others.parts.libraries, beside=others.parts.beside, loading=LOADING_BYTES,
    )  # fmt: skip


def _reserved(case: _Case) -> MemoryFigure:
    peak = _peak(replace(case, told=replace(case.told, on_device=False)))
    reserve = engine_terms(case.told.engine)["reserve"]
    low, high = (peak.low_bytes * reserve, peak.high_bytes * reserve * reserve)
    return replace(peak, value_bytes=peak.value_bytes * reserve, low_bytes=low, high_bytes=high)


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
    "kv_blocks": _pool_blocks,
    "kv": _cache,
    "reserved": _reserved,
    "total_non_kv": _beside_cache,
    "total_gpu_preallocated": _preallocated,
    "total": _peak,
    "allocated": _peak,
    "peak": _peak,
}

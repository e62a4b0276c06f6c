"""Rows of memory.csv: what was asked, and the figure our laws give for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rigright.arch.record import Cut
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
from rigright.demand import Layout, Numbers, Serving, Traffic
from rigright.facts.anchors import RunCase
from rigright.facts.engines import find_engine
from rigright.facts.formats import Format, GgufMix, find_format, find_kv_format
from rigright.facts.nodes import find_node
from rigright.terms.fitted import priors
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
    weigh,
    widened,
)
from rigright.verbs.validate.ask import RunAsk
from rigright.verbs.validate.models import model_of
from rigright.verbs.validate.validation import Basis

USUAL_CONTEXT_TOK, USUAL_PROMPT_TOK = 1024, 512  # where a row tells nothing
USUAL_ENGINE, USUAL_CARD = "transformers", "a100 sxm4 80gb"
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


def read_memory(row: Row) -> RunAsk:
    """Read one row; what it leaves open is as the engine does it."""
    arch, notes = model_of(row)
    version = row.get("engine_version")
    engine = find_engine(f"{row.get('engine') or USUAL_ENGINE} {version or ''}".strip())
    card = find_node(row.get("chip") or USUAL_CARD).cards[0]
    if row.get("total_memory_gib") is not None:
        withheld = card.chip.mem_usable_bytes - card.chip.mem_program_bytes
        card = replace(card, total_bytes=row["total_memory_gib"] * GIB + withheld)
    form = (row.get("format") or "").strip()
    weights = find_format(engine.says.get(form.lower(), form)).id
    prompt, output = row.get("prompt_tok"), row.get("output_tok")
    context = (
        row.get("context") or row.get("max_model_len") or (prompt + output if prompt and output else None)
    )
    usual = USUAL_CONTEXT_TOK if engine.pool != "exact" else engine.usual_context_tok
    if context is None:
        notes += (say("no context given: using the engine's default"),)
    if not version:
        notes += (say("{engine} version not stated: assuming the newest", engine=engine.label),)
    serving = Serving(
        engine=f"{engine.id} {engine.version}",
        weights=weights,
        kv=find_kv_format(row.get("kv") or ("fp32" if weights == "fp32" else "16bit")).id,
        context_tok=int(context or min(usual, arch.max_context_tok or USUAL_CONTEXT_TOK)),
        batch=int(row.get("batch") or 1),
        prompt_tok=None
        if engine.budget_tok is not None
        else prompt or (None if context else min(USUAL_PROMPT_TOK, usual)),
        budget_tok=row.get("max_num_batched_tokens"),
        max_seqs=row.get("max_num_seqs"),
        utilisation=row.get("gpu_memory_utilization"),
        graphs=(row.get("enforce_eager") or "").lower() != "true",
        flash=row.get("fa"),
    )
    tp, pp, dp = (row.get(name) or 1 for name in ("tp", "pp", "dp"))
    # replicas of attention share the experts
    spread = tp * dp if dp > 1 and has_experts(arch) else 1
    dealt = Layout(pp=max(row.get("n_chips") or 1, tp * pp))
    return RunAsk(
        arch=arch, engine=engine, card=card, serving=serving, chips=dealt.pp, metric=row.get("what") or "",
        traffic=Traffic(prompt_tok=prompt, output_tok=output),
        # how long sequences grew decides what an engine took that makes room as they do
        unsaid=(priors("memory")["context_tok"],) if engine.pool == "grow" and context is None else (),
        layout=dealt if engine.split == "layer" else Layout(tp=tp, pp=pp, dp=dp, ep=spread),
        on_device=bool(row.get("on_device")), assumed=notes,
    )  # fmt: skip


def predict_memory_row(row: Row) -> MemoryFigure:
    """The figure of one row; raises a RigError that says what was missing."""
    ask = read_memory(row)
    what = ask.metric
    arch, engine, model = ask.arch, ask.engine, row.get("model") or ""
    if what.startswith("weights_file"):
        form = find_format(ask.serving.weights)
        low, high = file_band(arch, form.id, least_spread=mixed_share(form, model))
        size = float(file_bytes(arch, form.id))
        return MemoryFigure(
            kind="file", value_bytes=size, parts=Parts(counted=size),
            low_bytes=low, high_bytes=high, assumed=model_of(row)[1],
        )  # fmt: skip
    measure = next((law for start, law in _MEASURES.items() if what.startswith(start)), None)
    if measure is None:
        known = ", ".join(_MEASURES)
        raise AskError(say('unknown memory metric "{what}"; known: {known}', what=what, known=known))
    case, assumed = _case(ask, model=model), ask.assumed
    found = measure(case)
    if found.value_bytes <= 0 and what.startswith("kv") and engine.pool == "share":
        # it ran, so it was given more than the row says
        most = replace(ask, serving=replace(ask.serving, utilisation=USUAL_MOST_SHARE))
        found = measure(_case(most, model=model))
        why = say(
            "no room for a KV cache at the stated memory share: assuming {share}", share=USUAL_MOST_SHARE
        )
        assumed = (*assumed, why)
    for prior in ask.unsaid:
        asks = [read_memory({**row, "context": tok}) for tok in (prior.values[0], prior.values[-1])]
        ends = [measure(_case(one, model=model)) for one in asks]
        moved = (ends[1].value_bytes - ends[0].value_bytes) / 2
        parts = replace(found.parts, mixed=float(np.hypot(found.parts.mixed, moved)))
        low, high = band(found.kind, found.value_bytes, parts=parts, wider=widened(found.away))
        found = replace(found, parts=parts, low_bytes=float(low), high_bytes=float(high))
    if found.own is not None:
        part, of = found.own
        basis = Basis(
            subject=SERVING, figure=part, chip=ask.card.chip.id, engine=engine.id, model=arch.name,
            case=case.case, of=of / found.unit,
        )  # fmt: skip
        found = replace(found, basis=basis)
    return replace(found, assumed=assumed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    ask: RunAsk
    model: str
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
        return widened(away(self.ask.engine, self.ask.card.chip.id))

    @property
    def mixed(self) -> float:
        """By how much files of the format differ."""
        return mixed_share(find_format(self.ask.serving.weights), self.model)

    @property
    def own(self) -> OwnMemory:
        """Starts of this engine that the user measured."""
        return own_memory(self.device.own, model=self.ask.arch.name, case=self.case)

    def figure(self, kind: str, value_bytes: float, *, part: str = ALL, **parts: Numbers) -> MemoryFigure:
        """A figure with its band."""
        made = Parts(**{"narrow": self.own.narrow.get(part, 1.0)} | parts)
        missing = away(self.ask.engine, self.ask.card.chip.id)
        low, high = map(float, band(kind, value_bytes, parts=made, wider=widened(missing)))
        return MemoryFigure(
            kind=kind, value_bytes=value_bytes, parts=made, away=missing, low_bytes=low, high_bytes=high
        )


def mixed_share(form: Format | GgufMix, model: str) -> float:
    """By how much files of a format differ; unsloth's dynamic ones pick each tensor's type by measuring."""
    is_dynamic = isinstance(form, GgufMix) and DYNAMIC_MARK in model.lower()
    return max(form.spread, DYNAMIC_SPREAD) if is_dynamic else form.spread


def _case(ask: RunAsk, *, model: str) -> _Case:
    """What each rank of a run holds."""
    arch, engine, serving, layout = ask.arch, ask.engine, ask.serving, ask.told_layout
    weights, device = weigh(arch, serving.weights), device_of(ask.card, engine)
    bounds = even_bounds(len(arch.trunk.layers), layout.pp, split=engine.split)
    places, start = [(device, bound) for bound in bounds], started(serving)
    return _Case(
        ask=ask, model=model, weights=weights, device=device,
        ranks=stage_memories(arch, weights, start=start, layout=layout, places=places),
        case=case_of(arch, start, layout=layout, device=device),
    )  # fmt: skip


def _weights(case: _Case) -> MemoryFigure:
    rank = case.fullest
    size = float(rank.weights_bytes + rank.tables_bytes) - case.device.base_bytes
    mixed = case.mixed * float(rank.weights_bytes)
    return case.figure("start", size, counted=size, loading=LOADING_BYTES, mixed=mixed)


def _read_per_token(case: _Case) -> MemoryFigure:
    """Weights one token goes through: not the token table, of experts those it is sent to."""
    arch = case.ask.arch
    routed = [layer.ffn for layer in arch.trunk.layers if layer.ffn is not None and layer.ffn.experts]
    idle = 1 - sum(ffn.per_tok for ffn in routed) / max(sum(ffn.experts for ffn in routed), 1)
    weights = case.weights
    unread = 0.0 if arch.tied else sum(weights.entry.values())
    unread += sum(by_cut.get(Cut.EXPERT, 0.0) for by_cut in weights.layers) * idle if routed else 0.0
    size = weights.total_bytes - unread
    return case.figure("start", size, counted=size, mixed=case.mixed * size)


def _beside_torch(case: _Case) -> MemoryFigure:
    rank = case.fullest
    counted = [name for name in case.ask.engine.inside if name != "graphs"] or ["context", "collectives"]
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
    own = (ALL, -case.beside_bytes) if case.ask.engine.pool == "share" else None
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
    if case.ask.on_device:
        return _device(case, "device")
    parts = case.summed()
    # AWQ models load the head as a tensor of its own before it is tied to the token table
    twice = case.ask.arch.tied and case.ask.serving.weights.startswith("awq")
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
    is_sum = case.ask.engine.pool != "share" and len(case.ranks) == 1
    return replace(found, own=(ALL, case.beside_bytes)) if is_sum else found


def _preallocated(case: _Case) -> MemoryFigure:
    return _device(case, "preallocated")


def _graphs(case: _Case) -> MemoryFigure:
    """What the device has less of after them: the framework may hand back as much meanwhile."""
    size = float(case.fullest.graphs_bytes)
    found = case.figure("start", size, part=GRAPHS, graphs=size, mixed=case.ask.engine.graph_freed_mib * MIB)
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
    peak = _peak(replace(case, ask=replace(case.ask, on_device=False)))
    reserve = engine_terms(case.ask.engine)["reserve"]
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

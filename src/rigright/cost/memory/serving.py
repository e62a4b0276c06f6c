"""Inference memory of one rank: weights, KV cache, states, step, CUDA graphs, context, and what is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import reduce

import numpy as np

from rigright.arch.record import Arch, Cut
from rigright.base.record import dataclass, kept, replace
from rigright.base.units import MIB
from rigright.cost.bands import Parts
from rigright.cost.layers import lanes, mixers_of, unlike_layers
from rigright.cost.memory.kv import Ask, CacheNeed, cache_need, rounded
from rigright.cost.memory.settings import EngineCard, Settings, Start, settle
from rigright.cost.memory.stages import Stage, rank_stages, stages
from rigright.cost.memory.step import (
    FP32_BYTES,
    absorbed_bytes,
    expert_buffers_bytes,
    forward_bytes,
    logits_bytes,
    rope_tables_bytes,
    samples_bytes,
    seen_bytes,
    tower_bytes,
    unpacked_bytes,
)
from rigright.cost.own_runs import ALL, BESIDE, GRAPHS, STEP, OwnMemory, largest, own_memory
from rigright.cost.shards import share
from rigright.cost.weights import WeightBytes, on_cards
from rigright.demand import Layout, Numbers, Serving
from rigright.facts.anchors import RunCase
from rigright.facts.engines import Engine

Bound = tuple[int, int]  # first and past-last layer
PARTS = (
    "weights",
    "cache",
    "states",
    "step",
    "tables",
    "libraries",
    "graphs",
    "collectives",
    "context",
    "slack",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingMemory:
    """Bytes on the fullest rank, part by part; arrays where anything asked was an array."""

    weights_bytes: Numbers
    cache_bytes: Numbers  # what was asked: context and batch
    states_bytes: Numbers
    step_bytes: Numbers  # activations and logits at their peak
    tables_bytes: Numbers  # rotary tables and workspaces
    libraries_bytes: Numbers  # kernels, workspaces and links outside the framework's tensors
    graphs_bytes: Numbers
    collectives_bytes: Numbers
    context_bytes: Numbers
    slack_bytes: Numbers  # on the device and in none of the above: fragments, libraries
    pool_bytes: Numbers  # what the engine gives to caches and states
    unit_bytes: Numbers  # in blocks of this size (0: nothing grows)
    unit_tok: Numbers  # each of so many tokens
    device_bytes: Numbers  # what the driver shows as used
    spare_bytes: Numbers  # of the pool, or of the device, after all that was asked; negative: does not fit
    narrow: Numbers = 1.0  # of its band, what own starts leave

    @property
    def unused_bytes(self) -> Numbers:
        """What the engine sets aside for caches beyond what is asked."""
        return np.maximum(self.pool_bytes - self.cache_bytes - self.states_bytes, 0.0)

    @property
    def parts(self) -> dict[str, float]:
        """Bytes by part, with what the engine sets aside beyond what is asked: `unused`."""
        return {name: float(getattr(self, f"{name}_bytes")) for name in (*PARTS, "unused")}

    @property
    def need_bytes(self) -> Numbers:
        """Everything that was asked, and nothing set aside."""
        return self.fixed_bytes + self.cache_bytes + self.states_bytes

    @property
    def fixed_bytes(self) -> Numbers:
        """All but caches and states."""
        beside = self.graphs_bytes + self.libraries_bytes + self.collectives_bytes + self.context_bytes
        return self.allocated_fixed_bytes + beside

    @property
    def allocated_fixed_bytes(self) -> Numbers:
        """Tensors of the framework, caches and states apart."""
        return self.weights_bytes + self.step_bytes + self.tables_bytes

    @property
    def allocated_bytes(self) -> Numbers:
        """Tensors of the framework at their peak."""
        return self.allocated_fixed_bytes + self.cache_bytes + self.states_bytes

    @property
    def blocks(self) -> Numbers:
        """Blocks the engine makes of its pool."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.unit_bytes > 0, np.floor(self.pool_bytes / self.unit_bytes), np.nan)

    @property
    def pool_tok(self) -> Numbers:
        """Tokens the engine counts in its pool."""
        return np.maximum(self.blocks, 0) * self.unit_tok

    @property
    def fits(self) -> Numbers:
        """Whether all that was asked fits."""
        return self.spare_bytes >= 0


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


def pool_tok(memory: ServingMemory, tokens: Numbers) -> Numbers:
    """Tokens that a rank has room for, by its memory with one sequence of so many."""
    seq = memory.cache_bytes + memory.states_bytes
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(seq > 0, (seq + memory.spare_bytes) / seq * tokens, np.inf)


def serving_memory(
    arch: Arch,
    weights: WeightBytes,
    *,
    start: Start,
    layout: Layout,
    device: EngineCard,
    on_card: bool = False,
) -> ServingMemory:
    """Memory of the rank that has least to spare; whatever was asked may be an array of choices.

    `on_card`: without what the engine leaves on the host; else all weights, as its log counts them.
    """
    stages = rank_stages(arch, weights, start=start, layout=layout, on_card=on_card)
    ranks = rank_memories(arch, start=start, layout=layout, device=device, stages=stages)
    return reduce(less_spare, ranks)


def rank_memories(
    arch: Arch,
    *,
    start: Start,
    layout: Layout,
    device: EngineCard,
    stages: Sequence[Stage],
) -> list[ServingMemory]:
    """Memory of a rank of each stage that differs: what has least to spare holds not always fewest tokens."""
    work = _work(arch, start, layout=layout, device=device)
    return [_rank(work, stage) for stage in stages]


def stage_memories(
    arch: Arch,
    weights: WeightBytes,
    *,
    start: Start,
    layout: Layout,
    places: Sequence[tuple[EngineCard, Bound]],
    works: Mapping[EngineCard, CardWork] | None = None,
) -> tuple[ServingMemory, ...]:
    """Memory of a rank of each stage: its card, and the layers it was given.

    `works`: what `works_of` says of these cards, for who asks for several ways to deal layers out to them.
    """
    host_embed = start.engine.host_embed
    weights = on_cards(weights, start.serving.offload)
    result = stages(arch, weights, bounds=tuple(bound for _, bound in places), host_embed=host_embed)
    works = works or works_of(arch, start=start, layout=layout, devices=[device for device, _ in places])
    return tuple(_rank(works[device], stage) for (device, _), stage in zip(places, result, strict=True))


def works_of(
    arch: Arch, *, start: Start, layout: Layout, devices: Sequence[EngineCard]
) -> dict[EngineCard, CardWork]:
    """What each card has to do, whatever layers it holds."""
    return {device: _work(arch, start, layout=layout, device=device) for device in dict.fromkeys(devices)}


def layer_bytes(arch: Arch, weights: WeightBytes, *, work: CardWork) -> list[float]:
    """What each layer costs where layers are dealt out to cards; the head comes last, as one more."""
    kinds = list(lanes(arch))
    alone = [np.array([float(kind is item) for kind in kinds]) for item in kinds]
    cost = dict(zip(kinds, (float(_cache_need(work, counts).need_bytes) for counts in alone), strict=True))
    weights = on_cards(weights, work.serving.offload)
    return [
        sum(by_cut.values()) + sum(cost[mixer] for mixer in mixers_of(layer)) * (place >= weights.in_ram)
        for place, (layer, by_cut) in enumerate(zip(arch.trunk.layers, weights.layers, strict=True))
    ] + [sum(weights.exit.values()) + (weights.entry.get(Cut.VOCAB, 0.0) if arch.tied else 0.0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CardWork:
    """What a card has to do, whatever layers it holds."""

    arch: Arch
    engine: Engine
    serving: Serving
    layout: Layout
    device: EngineCard
    settings: Settings
    ask: Ask
    shares: dict[Cut, Numbers]  # of each way of cutting, one rank's
    forward_bytes: Numbers
    sampler_bytes: Numbers
    unpacked_bytes: Numbers
    case: RunCase  # how it is started
    own: OwnMemory  # starts that the user measured


def _work(arch: Arch, start: Start, *, layout: Layout, device: EngineCard) -> CardWork:
    serving, engine = start.serving, start.engine
    if serving.weights == "fp32":
        engine = replace(engine, element_bytes=FP32_BYTES)
    if serving.flash is not None:
        engine = replace(engine, scores=not serving.flash)
    own_tok = arch.trunk.sample_tok
    if own_tok is not None and not lanes(arch):
        serving = replace(serving, context_tok=own_tok)
    settings = settle(engine, serving, layout=layout, device=device)
    replicas = np.asarray(layout.dp) * (np.asarray(layout.tp) if layout.attention_dp else 1)
    ask = Ask(
        context_tok=serving.context_tok,
        batch=np.ceil(np.asarray(serving.batch, dtype=float) / replicas),
        budget_tok=settings.budget_tok,
        element_bytes=start.kv_elem_bytes,
    )
    case = _start(serving, layout, settings=settings)
    kv_heads = max((mixer.kv_heads for mixer in lanes(arch)), default=1)
    forward, sampler = _moments(arch, engine, settings=settings, serving=serving, layout=layout, ask=ask)
    return CardWork(
        arch=arch,
        engine=engine,
        serving=serving,
        layout=layout,
        device=device,
        settings=settings,
        ask=ask,
        shares=_shares(
            layout,
            arch,
            kv_heads=kv_heads,
            multiples=_multiples(engine, serving, capability=device.capability),
        ),
        forward_bytes=forward,
        sampler_bytes=sampler,
        unpacked_bytes=unpacked_bytes(arch, layout, element_bytes=start.unpack_bytes),
        case=case,
        own=own_memory(device.own, model=arch.name, case=case),
    )


@kept
def _shares(layout: Layout, arch: Arch, *, kv_heads: int, multiples: tuple[int, int]) -> dict[Cut, Numbers]:
    """The part of a weight that a rank holds, by each way to cut it."""
    fields = {cut: share(cut, layout, kv_heads=kv_heads) for cut in Cut}
    return fields | {Cut.EXPERT: fields[Cut.EXPERT] * _padding(arch, layout, multiples=multiples)}


def _multiples(engine: Engine, serving: Serving, *, capability: str) -> tuple[int, int]:
    """What an expert's hidden and inner width are rounded up to."""
    kernels = engine.padded.get(serving.weights)
    hidden, inner = (1, 1) if kernels is None else kernels.get(capability, kernels["other"])
    return hidden, inner


def _padding(arch: Arch, layout: Layout, *, multiples: tuple[int, int]) -> Numbers:
    """What experts take whose widths are rounded up, over what they hold."""
    layers = unlike_layers(arch)
    width = max((layer.ffn.width for layer in layers if layer.ffn and layer.ffn.experts), default=1)
    own = width / np.where(np.asarray(layout.ep) > 1, 1, np.asarray(layout.tp, dtype=float))
    hidden = arch.trunk.hidden
    return rounded(hidden, multiples[0]) / hidden * rounded(own, multiples[1]) / own


def _moments(
    arch: Arch, engine: Engine, *, settings: Settings, serving: Serving, layout: Layout, ask: Ask
) -> tuple[Numbers, Numbers]:
    """Peaks of one step: of the layers, and of the sampler after them."""
    if any(layer.map_elems for layer in unlike_layers(arch)):
        return samples_bytes(arch.trunk, ask.batch, element_bytes=engine.element_bytes), 0.0
    tokens = np.asarray(settings.budget_tok, dtype=float)
    rows = {"seqs": settings.max_seqs, "budget": tokens, "prompt": tokens, "last": ask.batch}
    seen = np.asarray(serving.context_tok, dtype=float) * ask.batch
    forward = forward_bytes(arch, engine, tokens=tokens, layout=layout, seen_tok=seen)
    sampler = logits_bytes(arch, engine, rows=rows[engine.logit_rows], tokens=tokens)
    if engine.expert_buffers:
        own = serving.weights in engine.padded
        sampler = sampler + expert_buffers_bytes(arch, tokens=tokens, layout=layout, own_kernels=own)
    pictures = seen_bytes(arch, tokens=tokens, element_bytes=engine.element_bytes)
    tower = tower_bytes(arch, element_bytes=engine.element_bytes)
    return np.maximum(forward, tower) + pictures, sampler + pictures


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What a rank holds beside caches and states."""

    weights: Numbers
    step: Numbers
    tables: Numbers
    libraries: Numbers
    graphs: Numbers
    collectives: Numbers
    context: Numbers

    @property
    def tensors(self) -> Numbers:
        return self.weights + self.step + self.tables

    @property
    def beside_weights(self) -> Numbers:
        return self.step + self.libraries + self.collectives + self.context

    def moved(self, own: OwnMemory) -> _Parts:
        """Each part that was measured, where it was."""
        beside = own.shift.get(BESIDE, 1.0)
        return replace(
            self,
            step=self.step * own.shift.get(STEP, 1.0),
            libraries=self.libraries * beside,
            collectives=self.collectives * beside,
            context=self.context * beside,
            graphs=self.graphs * own.shift.get(GRAPHS, 1.0),
        )

    @property
    def others(self) -> Numbers:
        return self.libraries + self.graphs + self.collectives + self.context


def _rank(work: CardWork, stage: Stage) -> ServingMemory:
    layout, device = work.layout, work.device
    cards = np.asarray(layout.tp) * np.asarray(layout.pp) * np.asarray(layout.ep) * np.asarray(layout.cp)
    together = (cards > 1) & (work.engine.split == "tensor")
    caches = _cache_need(work, stage.counts)
    parts = _Parts(
        weights=stage.weights_bytes(work.shares),
        step=_step_bytes(work, stage, caches=caches),
        tables=device.base_bytes
        + rope_tables_bytes(work.arch, work.engine, layers=stage.layers)
        + absorbed_bytes(work.arch, work.engine, layout=layout) * stage.layers,
        libraries=np.where(together, device.joined_bytes, device.libraries_bytes),
        graphs=_graphs_bytes(work, stage),
        collectives=np.where(together, device.collectives_bytes, 0.0),
        context=device.context_bytes,
    )
    parts, (pool, used, spare) = _anchored(work, parts, caches=caches)
    return ServingMemory(
        weights_bytes=parts.weights,
        cache_bytes=caches.cache_bytes,
        states_bytes=caches.states_bytes,
        step_bytes=parts.step,
        tables_bytes=parts.tables,
        libraries_bytes=parts.libraries,
        graphs_bytes=parts.graphs,
        collectives_bytes=parts.collectives,
        context_bytes=parts.context,
        slack_bytes=np.maximum(used - parts.tensors - parts.others - np.maximum(pool, 0.0), 0.0),
        pool_bytes=np.maximum(pool, 0.0),
        unit_bytes=caches.unit_bytes,
        unit_tok=caches.unit_tok,
        device_bytes=np.maximum(used, parts.tensors + parts.others),
        spare_bytes=spare,
        narrow=work.own.narrow.get(ALL, 1.0),
    )


def _start(serving: Serving, layout: Layout, *, settings: Settings) -> RunCase:
    """What tells one start from another: a choice among several counts as its largest."""
    return RunCase(
        weights=serving.weights,
        chips=largest(np.asarray(layout.tp) * np.asarray(layout.pp)),
        load=largest(settings.budget_tok),
        prompt_tok=largest(serving.context_tok),
        output_tok=largest(settings.max_seqs),
    )


def case_of(arch: Arch, start: Start, *, layout: Layout, device: EngineCard) -> RunCase:
    """How an engine is started, as own starts are told apart."""
    return _work(arch, start, layout=layout, device=device).case


def _anchored(
    work: CardWork, bare: _Parts, *, caches: CacheNeed
) -> tuple[_Parts, tuple[Numbers, Numbers, Numbers]]:
    """Parts, and where they leave the cache, by own starts; what no part explains stands with the context."""
    own = work.own
    if not own.shift:
        return bare, _placed(work, bare, caches=caches)
    parts = bare.moved(own)
    pool, used, spare = _placed(work, parts, caches=caches)
    if ALL not in own.shift:
        return parts, (pool, used, spare)
    more = bare.beside_weights * (own.shift[ALL] - 1)
    if work.engine.pool == "share":
        more = pool - (_placed(work, bare, caches=caches)[0] - more)
        pool = pool - more
    else:
        more = more - (parts.beside_weights - bare.beside_weights)
        used = used + more
    return replace(parts, context=parts.context + more), (pool, used, spare - more)


def _graphs_bytes(work: CardWork, stage: Stage) -> Numbers:
    """Captured graphs: each size of each layer, more where it has experts, and what all share."""
    device, routed = work.device, _routed_share(work.arch)
    sizes = np.asarray(work.settings.graph_sizes, dtype=float)
    each = device.graph_bytes + routed * device.expert_graph_bytes
    return sizes * stage.layers * each + (sizes > 0) * device.graph_base_bytes


@kept
def _routed_share(arch: Arch) -> float:
    layers = arch.trunk.layers
    return sum(layer.ffn is not None and layer.ffn.experts > 0 for layer in layers) / max(len(layers), 1)


def _cache_need(work: CardWork, counts: Numbers) -> CacheNeed:
    return cache_need(work.arch, work.engine, ask=work.ask, layout=work.layout, counts=counts)


def _step_bytes(work: CardWork, stage: Stage, *, caches: CacheNeed) -> Numbers:
    """Peak of one step: a forward pass, or the sampler after it on the stage that has the head."""
    engine, serving = work.engine, work.serving
    step = np.maximum(work.forward_bytes, stage.head * work.sampler_bytes) + work.unpacked_bytes
    if engine.pool != "grow" or serving.prompt_tok is None:
        return step
    # while the prompt runs, the tokens that will be generated are not cached yet
    ask = replace(work.ask, context_tok=serving.prompt_tok)
    prompt = cache_need(work.arch, engine, ask=ask, layout=work.layout, counts=stage.counts)
    last = stage.head * logits_bytes(work.arch, engine, rows=work.ask.batch, tokens=work.ask.batch)
    return np.maximum(step - (caches.need_bytes - prompt.need_bytes), last)


def _placed(work: CardWork, parts: _Parts, *, caches: CacheNeed) -> tuple[Numbers, Numbers, Numbers]:
    """The pool for caches, what the device shows as used, and what is left after all that was asked."""
    if work.engine.pool == "share":
        pool, used = _SHARES[work.engine.share_of](work, parts)
        return pool, used, pool - caches.need_bytes
    reserve = work.device.reserve if work.engine.pool == "grow" else 1.0
    tensors = parts.weights + reserve * (parts.step + parts.tables + caches.need_bytes)
    used = tensors + parts.others + work.device.slack_bytes
    return caches.need_bytes, used, work.device.free_bytes - work.engine.margin_mib * MIB - used


def _share_of_total(work: CardWork, parts: _Parts) -> tuple[Numbers, Numbers]:
    """A share of the whole device for everything the engine counts; the rest stands beside it."""
    # graphs are captured later: what counts is the engine's estimate
    counted = {"graphs": work.device.graph_estimate}
    inside = sum(getattr(parts, name) * counted.get(name, 1.0) for name in work.engine.inside)
    outside = parts.others - inside
    limit = np.minimum(
        work.settings.share * np.asarray(work.device.total_bytes, dtype=float),
        work.device.free_bytes - outside,
    )
    return limit - parts.tensors - inside, limit + outside


def _share_of_free(work: CardWork, parts: _Parts) -> tuple[Numbers, Numbers]:
    """A share of what is free at the start for weights and caches; the step takes from the rest."""
    start = work.device.free_bytes - parts.collectives - parts.context
    pool = np.minimum(
        work.settings.share * start - parts.weights - parts.tables, start - parts.tensors - parts.graphs
    )
    return pool, parts.tensors + parts.others + np.maximum(pool, 0.0)


def _share_of_rest(work: CardWork, parts: _Parts) -> tuple[Numbers, Numbers]:
    """A share of what weights and step leave, for caches."""
    left = work.device.free_bytes - parts.tensors - parts.others
    pool = np.minimum(work.settings.share * left, left)
    slack = np.clip(left - pool, 0.0, work.device.slack_bytes)  # taken after the pool
    return pool, parts.tensors + parts.others + slack + np.maximum(pool, 0.0)


_SHARES = {"total": _share_of_total, "free": _share_of_free, "after": _share_of_rest}


def less_spare(memory: ServingMemory, other: ServingMemory) -> ServingMemory:
    """At each layout the stage with less to spare."""
    takes = other.spare_bytes < memory.spare_bytes
    pairs = {
        name.name: (getattr(memory, name.name), getattr(other, name.name)) for name in fields(ServingMemory)
    }
    return ServingMemory(
        **{
            name: mine if mine is theirs else np.where(takes, theirs, mine)
            for name, (mine, theirs) in pairs.items()
        }
    )

"""Inference memory of one rank: weights, caches, states, step, graphs, context, and what is left."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import reduce

import numpy as np

from rigright.arch.record import Arch
from rigright.base.units import KIB, MIB
from rigright.cost.memory_kv import lanes
from rigright.cost.memory_pages import Ask, Held, held
from rigright.cost.memory_stages import CUTS, Stages, stages
from rigright.cost.memory_step import forward_bytes, logits_bytes, rope_tables_bytes
from rigright.cost.shards import share
from rigright.cost.weights import WeightBytes
from rigright.demand import Layout, Numbers, Serving
from rigright.facts.engines import Engine, find_engine
from rigright.facts.kv_formats import find_kv_format


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One card as an engine meets it, with the terms that were fitted for its kind."""

    total_bytes: Numbers  # what a program is handed
    free_bytes: Numbers  # of it, what others left free
    context_bytes: float
    collectives_bytes: float  # where several cards work together
    graph_bytes: float  # one captured size of one layer
    base_bytes: float  # workspaces of the engine
    reserve: float  # reserved over allocated
    chip: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The engine's settings after its defaults were filled in: numbers or arrays."""

    budget_tok: Numbers
    max_seqs: Numbers
    share: Numbers  # of the device, where the engine takes one
    graph_sizes: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingMemory:
    """Bytes on the fullest rank, part by part; arrays where anything asked was an array."""

    weights_bytes: Numbers
    cache_bytes: Numbers  # what was asked: context and batch
    states_bytes: Numbers
    step_bytes: Numbers  # activations and logits at their peak
    tables_bytes: Numbers  # rotary tables and workspaces
    graphs_bytes: Numbers
    collectives_bytes: Numbers
    context_bytes: Numbers
    pool_bytes: Numbers  # what the engine gives to caches and states
    unit_bytes: Numbers  # in blocks of this size (0: nothing grows)
    unit_tok: Numbers  # each of so many tokens
    device_bytes: Numbers  # what the driver shows as used
    spare_bytes: Numbers  # of the pool, or of the device, after all that was asked; negative: does not fit

    @property
    def need_bytes(self) -> Numbers:
        """Everything that was asked, and nothing set aside."""
        return self.fixed_bytes + self.cache_bytes + self.states_bytes

    @property
    def fixed_bytes(self) -> Numbers:
        """All but caches and states."""
        return self.allocated_fixed_bytes + self.graphs_bytes + self.collectives_bytes + self.context_bytes

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


def settle(engine: Engine, serving: Serving, layout: Layout, device: Device) -> Settings:
    """Fill what was not said with the engine's defaults on this device."""
    total = float(np.max(device.total_bytes))
    budget = engine.default(engine.budget_tok, total, device.chip)
    seqs = engine.default(engine.max_seqs, total, device.chip)
    told_budget = serving.budget_tok if serving.budget_tok is not None else budget
    settings = Settings(
        budget_tok=_prompt_tok(serving) * serving.batch if told_budget is None else told_budget,
        max_seqs=serving.max_seqs if serving.max_seqs is not None else np.maximum(seqs or 0, serving.batch),
        share=serving.utilisation if serving.utilisation is not None else engine.share,
        graph_sizes=(engine.default(engine.graph_sizes, total, device.chip) or 0) if serving.graphs else 0,
    )
    if settings.share is None and engine.share_rule == "sglang":
        return replace(settings, share=_sglang_share(settings, layout, device))
    return settings


def _sglang_share(settings: Settings, layout: Layout, device: Device) -> Numbers:
    """SGLang's own rule, in MiB: metadata, a chunk's tokens, captured sizes, ranks; large cards 10 GiB."""
    total_mib = np.asarray(device.total_bytes, dtype=float) / MIB
    ranks = np.asarray(layout.tp) * np.asarray(layout.pp)
    reserve = (
        512
        + np.maximum(settings.budget_tok, 2048) * 1.5
        + np.asarray(settings.max_seqs) * 2
        + ranks / 8 * KIB
    )
    reserve = np.where(total_mib > 60 * KIB, np.maximum(reserve, 10 * KIB), reserve)
    return np.round((total_mib - reserve) / total_mib, 3)


def _prompt_tok(serving: Serving) -> Numbers:
    return serving.context_tok if serving.prompt_tok is None else serving.prompt_tok


def serving_memory(
    arch: Arch, weights: WeightBytes, serving: Serving, layout: Layout, device: Device
) -> ServingMemory:
    """Memory of the rank that has least to spare."""
    engine = find_engine(serving.engine)
    settings = settle(engine, serving, layout, device)
    ask = Ask(
        context_tok=serving.context_tok,
        batch=_own_batch(serving, layout),
        budget_tok=settings.budget_tok,
        element_bytes=find_kv_format(serving.kv).element_bytes,
    )
    table = stages(arch, weights, layout.pp)
    case = _Case(settings, ask, device)
    ranks = [_rank(arch, engine, serving, layout, _Row(table, row), case) for row in range(table.rows)]
    return reduce(_less_spare, ranks)


def _own_batch(serving: Serving, layout: Layout) -> Numbers:
    """Sequences of one replica; attention replicas each hold their own."""
    replicas = np.asarray(layout.dp) * (np.asarray(layout.tp) if layout.attention_dp else 1)
    return np.ceil(np.asarray(serving.batch, dtype=float) / replicas)


@dataclass(frozen=True, slots=True)
class _Row:
    """One stage of each layout's pipeline."""

    table: Stages
    row: int

    @property
    def counts(self) -> Numbers:
        return self.table.counts[self.table.index, self.row]

    @property
    def head(self) -> Numbers:
        return self.table.head[self.table.index, self.row]

    def weights_bytes(self, layout: Layout, kv_heads: int) -> Numbers:
        held_bytes = self.table.cut_bytes[:, self.row]
        return sum(
            held_bytes[self.table.index, place] * share(cut, layout, kv_heads=kv_heads)
            for place, cut in enumerate(CUTS)
            if held_bytes[:, place].any()
        )


@dataclass(frozen=True, slots=True)
class _Case:
    settings: Settings
    ask: Ask
    device: Device


def _rank(
    arch: Arch, engine: Engine, serving: Serving, layout: Layout, row: _Row, case: _Case
) -> ServingMemory:
    kv_heads = max((mixer.kv_heads for mixer in lanes(arch)), default=1)
    caches = held(arch, engine, case.ask, layout, row.counts)
    device, settings = case.device, case.settings
    cards = np.asarray(layout.tp) * np.asarray(layout.pp) * np.asarray(layout.ep) * np.asarray(layout.cp)
    layers = len(arch.trunk.layers) / np.asarray(layout.pp)
    parts = _Parts(
        weights=row.weights_bytes(layout, kv_heads),
        step=_step_bytes(arch, engine, serving, layout, row, case),
        tables=device.base_bytes + rope_tables_bytes(arch, engine),
        graphs=np.asarray(settings.graph_sizes) * layers * device.graph_bytes,
        collectives=np.where(cards > 1, device.collectives_bytes, 0.0),
        context=device.context_bytes,
    )
    return _filled(engine, device, settings, parts, caches)


@dataclass(frozen=True, slots=True)
class _Parts:
    weights: Numbers
    step: Numbers
    tables: Numbers
    graphs: Numbers
    collectives: Numbers
    context: Numbers


def _step_bytes(
    arch: Arch, engine: Engine, serving: Serving, layout: Layout, row: _Row, case: _Case
) -> Numbers:
    """Peak of one step: a forward pass, or the sampler after it on the stage that has the head."""
    settings = case.settings
    tokens = np.asarray(settings.budget_tok, dtype=float)
    rows = {"seqs": settings.max_seqs, "budget": tokens, "prompt": tokens, "last": serving.batch}[
        engine.logit_rows
    ]
    seen = np.asarray(serving.context_tok, dtype=float) * serving.batch
    forward = forward_bytes(arch, engine, tokens, layout, seen_tok=seen)
    step = np.maximum(forward, row.head * logits_bytes(arch, engine, rows, tokens))
    if engine.pool != "grow":
        return step
    left = _left_over(arch, engine, serving, case, layout, row)
    return np.maximum(step - left, row.head * np.asarray(serving.batch) * arch.vocab * engine.logit_bytes)


def _left_over(
    arch: Arch, engine: Engine, serving: Serving, case: _Case, layout: Layout, row: _Row
) -> Numbers:
    """Cache that is not there yet when the prompt runs: the tokens that will be generated."""
    if serving.prompt_tok is None:
        return 0.0
    ask = case.ask
    before = Ask(
        context_tok=serving.prompt_tok,
        batch=ask.batch,
        budget_tok=ask.budget_tok,
        element_bytes=ask.element_bytes,
    )
    later = held(arch, engine, ask, layout, row.counts)
    return later.need_bytes - held(arch, engine, before, layout, row.counts).need_bytes


def _filled(engine: Engine, device: Device, settings: Settings, parts: _Parts, caches: Held) -> ServingMemory:
    """Put the parts on the device the way the engine does."""
    tensors = parts.weights + parts.step + parts.tables
    named = {"graphs": parts.graphs, "collectives": parts.collectives, "context": parts.context}
    outside = sum(size for name, size in named.items() if name not in engine.inside)
    others = parts.graphs + parts.collectives + parts.context
    if engine.pool == "share":
        pool, used = _shared_pool(engine, device, settings, parts, outside)
        spare = pool - caches.need_bytes
    else:
        reserve = device.reserve if engine.pool == "grow" else 1.0
        pool = caches.need_bytes
        used = parts.weights + reserve * (parts.step + parts.tables + caches.need_bytes) + others
        spare = device.free_bytes - engine.margin_mib * MIB - used
    return ServingMemory(
        weights_bytes=parts.weights,
        cache_bytes=caches.cache_bytes,
        states_bytes=caches.states_bytes,
        step_bytes=parts.step,
        tables_bytes=parts.tables,
        graphs_bytes=parts.graphs,
        collectives_bytes=parts.collectives,
        context_bytes=parts.context,
        pool_bytes=np.maximum(pool, 0.0),
        unit_bytes=caches.unit_bytes,
        unit_tok=caches.unit_tok,
        device_bytes=np.maximum(used, tensors + others),
        spare_bytes=spare,
    )


def _shared_pool(
    engine: Engine, device: Device, settings: Settings, parts: _Parts, outside: Numbers
) -> tuple[Numbers, Numbers]:
    """What is left of the engine's share for caches, and what the device shows."""
    at_start = device.free_bytes - parts.collectives - parts.context
    tensors = parts.weights + parts.step + parts.tables
    if engine.share_of == "after":
        pool = settings.share * np.maximum(at_start - tensors - parts.graphs, 0.0)
        return np.where(at_start > tensors + parts.graphs, pool, at_start - tensors - parts.graphs), (
            tensors + parts.graphs + parts.collectives + parts.context + pool
        )
    if engine.share_of == "free":
        pool = settings.share * at_start - parts.weights - parts.tables
        pool = np.minimum(pool, at_start - tensors - parts.graphs)
        return pool, tensors + parts.graphs + parts.collectives + parts.context + np.maximum(pool, 0.0)
    inside = sum(getattr(parts, name) for name in engine.inside)
    limit = np.minimum(
        settings.share * np.asarray(device.total_bytes, dtype=float), device.free_bytes - outside
    )
    pool = limit - tensors - inside
    return pool, limit + outside


def _less_spare(one: ServingMemory, other: ServingMemory) -> ServingMemory:
    """At each layout the stage with less to spare."""
    takes = other.spare_bytes < one.spare_bytes
    return ServingMemory(
        **{
            name.name: np.where(takes, getattr(other, name.name), getattr(one, name.name))
            for name in fields(ServingMemory)
        }
    )

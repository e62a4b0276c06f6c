"""Serving under a load: the rates that cards reach, what a replica admits at once, and what both come to.

`explain`, every row of `plan`, and a row of a table of runs are predicted here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass, replace
from rigright.choice.case import Case
from rigright.cost.memory.stages import even_bounds
from rigright.cost.speed.pipeline import pipeline_gain
from rigright.cost.speed.rates import FULL_LANES, SUBJECT, USUAL_GEN, Rates
from rigright.cost.speed.service import Limits, Service, admitted, serve
from rigright.cost.speed.step import Pass, StepTime, step
from rigright.cost.speed.work import PassWork
from rigright.demand import Layout, Numbers, Traffic
from rigright.facts.chips import Chip
from rigright.facts.engines import Engine, find_engine
from rigright.facts.fabrics import pcie_bytes_per_s
from rigright.facts.formats import find_kv_format
from rigright.predict.columns import at, blended
from rigright.terms.fitted import fitted
from rigright.terms.speed import rates_of, stream_table

if TYPE_CHECKING:
    from rigright.cost.speed.apart import Apart
    from rigright.cost.speed.prefix import KvTiers

DEFAULT_SEQS = 256  # of engines that set no number themselves
SPARE_SEQS = 2.33  # standard deviations of those at work, that arrive by themselves: slots for 99 of 100
MANY = 512  # kinds of engine, chip and format
LEAST_TOK = 1.0  # of a cache, and of a pass
NO_STREAMS: Mapping[str, Any] = {"engines": {}, "eras": {}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicas:
    """Replicas of one engine under a load: numbers, or arrays of one shape."""

    engine: Engine
    layout: Layout
    traffic: Traffic
    pool_tok: Numbers  # that the cache of a replica holds
    slots: Numbers  # whole contexts that a rank has room for; endless where they share a cache
    seqs: Numbers  # of a rank that the engine admits where nobody says
    budget_tok: Numbers  # of a pass
    max_seqs: Numbers = np.nan  # of a rank that somebody said; nan: nobody
    prefill: Layout | None = None  # workers of prompts alone
    tiers: KvTiers | None = None  # for caches beside its GPUs

    @property
    def ranks(self) -> Numbers:
        """Of a replica, that have sequences of their own."""
        return self.layout.tp if self.layout.attention_dp else 1

    @property
    def limits(self) -> Limits:
        """What a replica admits."""
        load = np.nan if self.traffic.concurrency is None else self.traffic.concurrency
        own = most_seqs(
            self.engine, seqs=self.seqs, slots=self.slots, load=load / self.layout.dp / self.ranks
        )
        return Limits(
            pool_tok=np.maximum(self.pool_tok, LEAST_TOK),
            max_seqs=np.where(np.isnan(self.max_seqs), own, self.max_seqs) * self.ranks,
            budget_tok=np.maximum(self.budget_tok, LEAST_TOK),
        )


def tiers_of(of: Any, *, layout: Layout, chips: Sequence[Chip]) -> KvTiers | None:
    """Room for caches beside the cards: each rank loads its part over its own slot, replicas share drives.

    `of`: a case or a deployment; `chips`: one, or one an entry of the layout's arrays.
    """
    arch, serving, engine = of.arch, of.serving, of.engine
    store = serving.kv_store
    if store is None:
        return None
    from rigright.cost.memory.kv import token_bytes
    from rigright.cost.speed.prefix import KvTiers
    from rigright.facts.abilities import NVME, RAM, ability

    slots = [(chip.pcie_gen or USUAL_GEN, min(chip.pcie_lanes or FULL_LANES, FULL_LANES)) for chip in chips]
    bus, kv = np.array([pcie_bytes_per_s(*slot) for slot in slots]), find_kv_format(serving.kv)
    each = np.maximum(token_bytes(arch, layout, element_bytes=kv.element_bytes) * layout.tp, 1.0)
    ram, disk = ability(engine, RAM), ability(engine, NVME)
    return KvTiers(
        ram_tok=store.ram_bytes / layout.dp / each * (ram is not None),
        ram_tok_per_s=bus * (ram.share if ram else 1.0) * layout.tp * layout.pp / each,
        disk_tok=store.nvme_bytes / layout.dp / each * (disk is not None),
        disk_tok_per_s=(disk.bytes_per_s or np.inf if disk else np.inf) / layout.dp / each,
    )


def served(replicas: Replicas, *, work: PassWork, rates: Rates) -> tuple[Service | Apart, Numbers]:
    """What users see, and the sequences that a replica is set up for.

    Where requests arrive by themselves, an engine that sets its cache aside is set up for those that come.
    """
    by_rate = replicas.traffic.rate_per_s is not None
    service = _served(replicas, work=work, rates=rates)
    value = set_up(service.running, ranks=replicas.ranks, slots=replicas.slots, by_rate=by_rate)
    if by_rate and np.isfinite(replicas.slots).all():
        service = _served(replace(replicas, slots=value), work=work, rates=rates)
    return service, value * replicas.ranks


def _served(replicas: Replicas, *, work: PassWork, rates: Rates) -> Service | Apart:
    """The same of engines set up as they are."""
    asked: Any = {"layout": replicas.layout, "traffic": replicas.traffic, "limits": replicas.limits}
    if replicas.prefill is None and replicas.traffic.think_s is not None:
        from rigright.cost.speed.prefix import KvTiers, with_sessions  # which most questions need not

        limits, traffic = replicas.limits, replicas.traffic
        service: Service = with_sessions(
            lambda sent: serve(work, rates, **asked | {"traffic": sent}), traffic,
            tiers=replicas.tiers or KvTiers(), layout=replicas.layout, pool_tok=limits.pool_tok,
            most=admitted(rates, traffic=traffic, limits=limits),
        )  # fmt: skip
        return service
    if replicas.prefill is None:
        return serve(work, rates, **asked)
    from rigright.cost.speed.apart import serve_apart

    return serve_apart(work, rates, prefill=replicas.prefill, **asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTime:
    """A prompt that goes through alone, in equal passes."""

    step: StepTime  # a pass, in the middle of it
    times: Numbers  # such passes one after another that it takes, as far as cards do not work at once

    @property
    def total_s(self) -> Numbers:
        """All of them."""
        return self.step.total_s * self.times


def prompt_alone(
    work: PassWork, rates: Rates, *, layout: Layout, prompt: Pass, budget_tok: Numbers
) -> PromptTime:
    """A prompt, or several of a length together, in passes of `budget_tok` of each at most.

    `prompt`: all of it in one pass, and the keys that are there before.
    """
    each = prompt.prefill_tok / prompt.prefill_seqs
    chunks = np.ceil(each / budget_tok) if np.all(np.isfinite(budget_tok)) else 1.0
    seen = prompt.prefill_seen_tok + each / 2
    content = replace(prompt, prefill_tok=prompt.prefill_tok / chunks, prefill_seen_tok=seen)
    gain = pipeline_gain(work, rates, cards=layout.pp, passes=chunks)
    return PromptTime(step=step(work, rates, layout=layout, content=content), times=chunks / gain)


def token_pass(
    work: PassWork,
    rates: Rates,
    *,
    layout: Layout,
    seqs: Numbers,
    context_tok: Numbers,
    drafted_tok: Numbers = 0,
) -> StepTime:
    """A pass that makes the next token of so many sequences."""
    content = Pass(decode_seqs=seqs, decode_context_tok=context_tok, decode_each_tok=1 + drafted_tok)
    return step(work, rates, layout=layout, content=content)


def server_rates(
    chips: Sequence[Chip],
    engine: Engine,
    *,
    weights: str,
    manner: str = "",
    tables: Mapping[str, Any] | None = None,
) -> Rates:
    """The rates of chips under an engine, whatever a lone stream of its early days took.

    `manner`: how such runs are tuned; `tables`: other terms than those of the table.
    """
    if tables is None:
        return _usual_rates(tuple(chips), engine, weights=weights, manner=manner)
    if stream_table(find_engine(engine.id), chips[0]) is None:
        tables = {**tables, "streams": NO_STREAMS}
    return rates_of(chips, engine, weights=weights, tables=tables, manner=manner)


@lru_cache(maxsize=MANY)
def _usual_rates(chips: tuple[Chip, ...], engine: Engine, *, weights: str, manner: str) -> Rates:
    return server_rates(chips, engine, weights=weights, manner=manner, tables=fitted(SUBJECT))


def prompts_per_s(
    work: PassWork, rates: Rates, *, layout: Layout, traffic: Traffic, budget_tok: Numbers
) -> Numbers:
    """Prompts of a worker that does nothing else, one after another on each of its ranks."""
    from rigright.cost.speed.apart import prompt_alone_s

    each = prompt_alone_s(work, rates, layout=layout, traffic=traffic, budget_tok=budget_tok)
    return (layout.tp if layout.attention_dp else 1) / each


def answers_per_s(
    work: PassWork, rates: Rates, *, layout: Layout, traffic: Traffic, seqs: Numbers
) -> Numbers:
    """Answers of a worker that does nothing else, with so many sequences at work."""
    from rigright.cost.speed import apart

    token_s = apart.token_pass(work, rates, layout=layout, traffic=traffic, seqs=seqs).total_s
    return seqs / (np.maximum(traffic.output_tok - 1, 1) * token_s / (1 + traffic.accepted_tok))


def piped(arch: Arch, engine: Engine, *, work: PassWork, stages: Numbers) -> Numbers:
    """What is left of a pipeline's gain where an engine deals whole layers out to cards alike."""
    stages = np.asarray(stages, dtype=int)
    gain = np.ones(int(stages.max(initial=1)) + 1)
    if engine.split == "layer":
        from rigright.cost.speed.dealt import evenness

        for pp in {*stages.ravel().tolist()} - {1}:
            gain[pp] = evenness(work, even_bounds(len(arch.trunk.layers), pp, split=engine.split))
    return gain[stages]


def most_seqs(engine: Engine, *, seqs: Numbers, slots: Numbers, load: Numbers) -> Numbers:
    """Sequences that an engine is started for where nobody says how many; all of one rank.

    One that sets its cache aside has `slots`, of whole contexts; another is started for the `load` (nan: not
    known), and for no less than `seqs`, its own default.
    """
    if engine.pool != "share":
        return np.minimum(DEFAULT_SEQS, slots)
    return np.fmax(seqs, np.ceil(np.asarray(load, dtype=float)))


def started_for(case: Case, *, users: float | None) -> float:
    """The same of a case: what was said of it, else by its load; `users` are those of all its ranks."""
    layout, own = case.layout, float(case.settings.max_seqs)
    if case.serving.max_seqs is not None:
        return own
    ranks = layout.dp * (layout.tp if layout.attention_dp else 1)
    load = np.nan if users is None else users / ranks
    return float(most_seqs(case.engine, seqs=own, slots=own, load=load))


def set_up(running: Numbers, *, ranks: Numbers, slots: Numbers, by_rate: bool) -> Numbers:
    """Sequences that each rank is set up for, where so many are at work on average.

    Where requests arrive by themselves, an engine that sets its cache aside has slots for most moments, and
    not for all that would fit.
    """
    value = np.maximum(np.ceil(running / ranks), 1)
    if not by_rate or not np.isfinite(slots).all():
        return value
    return np.minimum(np.ceil(value + SPARE_SEQS * np.sqrt(value)), slots)


def at_kinds(rates: Rates, kind: Numbers, *, piped: Numbers = 1.0) -> Rates:
    """Rates of kinds of cards as rates of cases."""
    value = at(rates, kind)
    return replace(value, piped=value.piped * piped)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What a machine reaches with a model."""

    work: PassWork
    rates: Rates  # one entry a kind of card
    chips: tuple[Chip, ...]
    shares: Numbers = None  # of a pass, that each card does which layers are dealt to; None: all do the same
    takes_turns: bool = False  # all stages with one processor

    @property
    def whole(self) -> Rates:
        """The same as one: each kind of card weighs by its part of a pass."""
        return self.rates if self.shares is None else blended(self.rates, self.shares)

"""A case of serving, or a plan that a search has found, as replicas that can be played."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rigright.arch.record import Arch
from rigright.base.errors import AskError, unknown
from rigright.base.words import say
from rigright.choice.case import Case
from rigright.cost.memory.kv import token_bytes
from rigright.cost.speed.parts import ranks_of
from rigright.cost.speed.service import Limits
from rigright.demand import Serving, Traffic
from rigright.facts.engines import Engine
from rigright.facts.formats import find_kv_format
from rigright.predict.cases import group_of, limits_of
from rigright.predict.passes import pass_law, reached
from rigright.predict.ranks import worst
from rigright.predict.speed import speed
from rigright.search.record import Plan, case_of
from rigright.sim.fleet import Handover, Played, ReplicaFleet
from rigright.sim.fleet import play as play_fleet
from rigright.sim.load import CLOSED, Arrivals, Load, made_load
from rigright.sim.pace import pace_of
from rigright.sim.room import policies
from rigright.sim.server import Replica
from rigright.sim.tally import Tally, Targets, tally
from rigright.verbs.simulate.setup import ROUNDS, PlayWish

ENDLESS_BLOCKS = 2**42  # where nothing grows with the tokens
LEAST_CONTEXT_TOK = 1024


def policy_of(engine: Engine, asked: str | None) -> str:
    """The policy asked for, or the engine's own."""
    if asked is None:
        return engine.batching
    names, name = policies(), asked.strip().lower().replace("-", "_")
    if name not in names:
        raise unknown(say("policy"), asked, known=(text.replace("_", "-") for text in names))
    return name


def _tiers(case: Case) -> tuple[tuple[float, float], ...]:
    """Room for caches beside the GPUs of a replica."""
    known = group_of(case).replicas.tiers
    if known is None:
        return ()
    pairs = ((known.ram_tok, known.ram_tok_per_s), (known.disk_tok, known.disk_tok_per_s))
    return tuple((float(np.min(tok)), float(np.min(rate))) for tok, rate in pairs)


def _usual(load: Load, *, machines: int) -> Traffic:
    """A load as one machine's traffic of requests of its usual lengths."""
    return Traffic(
        prompt_tok=max(round(float(load.prompt_tok.mean())), 1),
        output_tok=max(round(float(load.output_tok.mean())), 1),
        concurrency=None if load.users is None else -(-load.users // machines),
    )


def _seats(case: Case, limits: Limits) -> int:
    """Sequences at once: as the engine is set up, and as many as there is room for states that each keeps."""
    seats, memory, ranks = max(int(limits.max_seqs), 1), worst(case), int(ranks_of(case.layout))
    states = float(memory.states_bytes) / -(-case.serving.batch // (case.layout.dp * ranks))
    if case.engine.pool != "share" or states <= 0:
        return seats
    return max(min(seats, int(float(memory.pool_bytes) / states) * ranks), 1)


def _blocks(case: Case, limits: Limits) -> tuple[int, int]:
    """Blocks of the cache and tokens of one."""
    memory, shares = worst(case), case.engine.pool == "share"
    if not float(memory.cache_bytes if shares else memory.unit_bytes) > 0:
        return ENDLESS_BLOCKS, 1
    block_tok = max(int(memory.unit_tok), 1)
    ranks = int(ranks_of(case.layout))  # of others than those that share, each slot has a cache of its own
    pool_tok = limits.pool_tok if shares else float(memory.blocks) * block_tok * ranks
    if not min(float(memory.pool_bytes), pool_tok // block_tok) >= 1:
        raise AskError(
            say(
                "no memory is left for the KV cache of {model}; `rigright explain` shows why",
                model=case.arch.name,
            )
        )
    return int(pool_tok) // block_tok, block_tok


def _fleet_of(case: Case, shop: Replica, *, wish: PlayWish) -> ReplicaFleet:
    """Replicas of the case, and workers for prompts alone where they were asked for."""
    replicas = int(case.layout.dp) * wish.replicas
    if not wish.prefill_workers:
        return ReplicaFleet(shop=shop, replicas=replicas, router=wish.router)
    return ReplicaFleet(
        shop=replace(shop, policy=policies()["handed_over"], request_s=0.0),
        replicas=replicas,
        router=wish.router,
        prefill=shop,
        prefill_replicas=int(case.layout.dp) * wish.prefill_workers,
        handover=_handover_of(case),
    )


def _handover_of(case: Case) -> Handover:
    """Each rank sends its part of a cache to its like, between boxes."""
    wire = reached(case, chunk_tok=1).rates.wire
    element_bytes = find_kv_format(case.serving.kv).element_bytes
    size = np.max(token_bytes(case.arch, case.layout, element_bytes=element_bytes)) / case.layout.pp
    return Handover(
        token_bytes=float(size),
        bytes_per_s=float(np.min(wire.outer_bytes_per_s)),
        start_s=float(np.max(wire.outer_start_s)),
    )


SAMPLE = 400  # requests that show what a plan does


def play_case(case: Case, load: Load, *, wish: PlayWish) -> tuple[ReplicaFleet, Played]:
    """Play a load on a case."""
    policy = policies()[policy_of(case.engine, wish.policy)]
    usual = _usual(load, machines=wish.replicas)
    limits = limits_of(case, usual)
    budget = int(limits.budget_tok) * int(ranks_of(case.layout))  # of a pass of all ranks
    blocks, block_tok = _blocks(case, limits)
    max_seqs = _seats(case, limits)
    each = float((load.prompt_tok + load.output_tok).mean())
    spread = each / (each - (load.sessions.shared_tok if load.sessions else 0))
    law = pass_law(case, budget_tok=budget)
    longest = int(np.max(load.prompt_tok + load.output_tok, initial=LEAST_CONTEXT_TOK))
    shop = Replica(
        pace=pace_of(
            law.seconds, max_seqs=max_seqs, budget_tok=budget, context_tok=longest, rounds=law.rounds,
            overlap=law.overlap,
        ),
        policy=policy,
        blocks=int(blocks * spread),
        block_tok=block_tok,
        max_seqs=max_seqs,
        budget_tok=budget,
        spread=spread,
        chunks=policy.chunks if wish.chunks is None else wish.chunks,
        most_context_tok=case.arch.max_context_tok,
        tiers=_tiers(replace(case, traffic=usual)),
        request_s=law.request_s,
    )  # fmt: skip
    fleet = _fleet_of(case, shop, wish=wish)
    return fleet, play_fleet(load, fleet)


def life_s(case: Case, traffic: Traffic) -> float:
    """How long a request lives once it is let in, as far as its tokens go."""
    given = speed(case, traffic=traffic)
    return float(given.tpot_s.value * traffic.output_tok)


def play(
    arch: Arch, plan: Plan, *, traffic: Traffic, targets: Targets | None = None, seed: int = 0,
    requests: int = SAMPLE,
) -> Tally:  # fmt: skip
    """Play a plan for serving under a traffic, request by request."""
    if not isinstance(plan.work, Serving):
        raise AskError(say("only serving plans can be simulated"))
    case = case_of(arch, plan)
    if traffic.rate_per_s is None:
        process = Arrivals(kind=CLOSED, life_s=life_s(case, traffic), think_s=traffic.think_s or 0.0)
        requests = max(requests, ROUNDS * int(traffic.concurrency))
    else:
        process = Arrivals(kind="poisson")
    load = made_load(traffic, count=requests, process=process, seed=seed)
    _, played = play_case(case, load, wish=PlayWish(requests=requests))
    return tally(load, played, targets=targets or Targets())

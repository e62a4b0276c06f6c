"""Play a load on a case, or on a plan that a search has found."""

from __future__ import annotations

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.choice.case import Case
from rigright.demand import Serving, Traffic
from rigright.predict.speed import speed
from rigright.search.planned_case import case_of
from rigright.search.record import Plan
from rigright.sim.fleet import Played, ReplicaFleet
from rigright.sim.fleet import play as play_fleet
from rigright.sim.load import CLOSED, Arrivals, Load, made_load
from rigright.sim.tally import Tally, Targets, tally
from rigright.verbs.simulate.replicas import fleet_of, replica_of
from rigright.verbs.simulate.wish import ROUNDS, PlayWish

SAMPLE = 400  # requests that show what a plan does


def play_case(case: Case, load: Load, *, wish: PlayWish) -> tuple[ReplicaFleet, Played]:
    """Play a load on a case."""
    shop = replica_of(case, load, wish=wish)
    fleet = fleet_of(case, shop, wish=wish)
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

"""One question of a sweep to one answer: the best plan as flat cells, or why there is none."""

from __future__ import annotations

from functools import cache

from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError, RigError
from rigright.base.record import replace
from rigright.base.units import parse_count
from rigright.base.words import ENGLISH, say, tell
from rigright.demand import Serving
from rigright.options.read import read_wish
from rigright.options.rows import options_of
from rigright.search.planned_case import traffic_of
from rigright.search.record import Plan
from rigright.sim.tally import Targets
from rigright.verbs.plan import plans
from rigright.verbs.planning.planned import Planned, row_of
from rigright.verbs.simulate.play import play
from rigright.verbs.sweep.sheet import Answered, SweepQuestion
from rigright.verbs.wished import wish_of

MODEL, PLAY, SEED = "model", "play", "seed"
MOST_REQUESTS = 100_000
OPTIONS = frozenset(name for option in options_of("plan") for name in (option.name, *option.aliases))
WORDS = OPTIONS | {MODEL, PLAY, SEED}


def answer(question: SweepQuestion) -> Answered:
    """The first plan, or what comes nearest; a question that is wrong is answered with its error."""
    words = dict(question.words)
    cells = {"fits": ""}
    try:
        requests, seed = _requests(words)
        model, wish = words.pop(MODEL, ""), replace(wish_of(words), most_plans=1)
        plan = plans(model, wish=wish, beside=tuple(filter(None, map(_users_of, question.beside))))
        cells = {"fits": "yes" if plan.fits else "no"}
        why = "" if plan.fits else "; ".join(tell(rejection.reason, ENGLISH) for rejection in plan.broken)
        if plan.first is not None:
            cells |= row_of(plan.first)
            if requests:
                cells |= _played(plan, plan.first, requests=requests, seed=seed)
    except RigError as error:
        why = tell(error.whole, ENGLISH)
    return Answered(index=question.index, cells=cells, why=why)


def _requests(words: dict[str, str]) -> tuple[int, int]:
    """How many requests a question wants played (none: 0), and the seed; both leave the words."""
    asked, seed = words.pop(PLAY, ""), words.pop(SEED, "")
    requests = parse_count(asked) if asked else 0
    if requests > MOST_REQUESTS:
        raise AskError(
            say("at most {most} requests can be simulated, got {asked}", most=MOST_REQUESTS, asked=asked)
        )
    return requests, parse_count(seed) if seed else 0


def _played(result: Planned, plan: Plan, *, requests: int, seed: int) -> dict[str, str]:
    """Percentiles and goodput of the plan under its own load, one random arrival after another."""
    wish, work = result.wish, plan.work
    if plan.prefill is not None or not isinstance(work, Serving) or wish.output_tok is None:
        raise AskError(
            say("plans with separate prefill and decode workers cannot be simulated request by request")
        )
    arch = open_model(result.model_asked)
    tally = play(
        arch,
        plan,
        traffic=traffic_of(plan, wish, arch=arch),
        targets=Targets(ttft_s=wish.ttft_s, tpot_s=wish.tpot_s),
        seed=seed,
        requests=requests,
    )
    figures = {
        "played_ttft_s": tally.ttft_s.mean,
        "played_ttft_p95_s": tally.ttft_s.p95,
        "played_tpot_s": tally.tpot_s.mean,
        "played_tpot_p95_s": tally.tpot_s.p95,
        "played_tok_per_s": tally.output_tok_per_s,
        "played_good_share": tally.good_share,
    }
    return {name: f"{value:.6g}" for name, value in figures.items()}


@cache
def _users_of(text: str) -> float | None:
    """What a cell of users says; what cannot be read is stated where it is asked."""
    try:
        return read_wish({"users": text}).users
    except RigError:
        return None

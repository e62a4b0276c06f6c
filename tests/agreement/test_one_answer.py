"""One question, one answer: `plan --on`, `explain`, `fit`, `compare` and `simulate` decide the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest
from questions import Asked, arch_of, bounded, market, node_of, plain

from rigright.arch.count import params
from rigright.base.errors import AskError
from rigright.demand import PlanWish
from rigright.facts.engines import find_engine
from rigright.report.explained import Explained
from rigright.search.find import find
from rigright.search.record import Plan
from rigright.search.single import single
from rigright.verbs.compare import compare
from rigright.verbs.explain import explain, explain_case
from rigright.verbs.fit import FitWish, fit
from rigright.verbs.simulate.frame import simulate
from rigright.verbs.simulate.wish import PlayWish

ALL = os.environ.get("RIGRIGHT_HYPOTHESIS") == "thorough"
COUNT = 25 if ALL else 8
EQUAL = 1e-6
UNLIKE = 0.03  # cards that are not alike are dealt layers for one sequence in a search, for all in `explain`
SPEEDS = ("ttft_s", "tpot_s", "output_tok_per_s")
SERVE = {"work": "serve", "prompt_tok": 1024, "output_tok": 256, "context_tok": 1280}


def differences(plan: Plan, told: Explained, *, timed: bool) -> Iterator[str]:
    """What the two say otherwise; batches over replicas are whole ones."""
    work, serving = plan.work, told.serving
    pairs = {
        "engine": (work.engine, serving.engine),
        "weights": (work.weights, serving.weights),
        "cache": (work.kv, serving.kv),
        "context": (work.context_tok, serving.context_tok),
        "layout": (plan.layout, told.layout),
        "cards": (plan.n_chips, len(told.cards)),
        "batch": (work.batch, serving.batch),
    }
    yield from (f"{name} {one} / {other}" for name, (one, other) in pairs.items() if one != other)
    numbers = {"bytes": (plan.rank_bytes.value - float(plan.memory[0].slack_bytes), need_of(told))}
    if told.speed is not None and timed:  # a plan's figures are those of the share asked for
        for name in SPEEDS:
            one, other = plan.figures[name], getattr(told.speed, name)
            numbers |= {name: (one.value, other.value), f"{name} low": (one.low, other.low)}
    for name, (one, other) in numbers.items():
        near = UNLIKE if len({card.chip_id for card in told.cards}) > 1 else EQUAL
        if abs(one / other - 1) > near:
            yield f"{name} {one:.6g} / {other:.6g}"


def need_of(told: Explained) -> float:
    parts = dict(told.fullest.parts_bytes)
    return sum(size for name, size in parts.items() if name != "slack")


def broken(plan: Plan, asked: Asked, *, ticked: bool) -> Iterator[str]:
    """Laws of a plan alone: room, rate, money, limits under a tick."""
    figures = {name: one.value for name, one in plan.figures.items()}
    wish = asked.wish
    if plan.rank_bytes.value > plan.room_bytes * (1 + EQUAL):
        yield f"overfull: {plan.rank_bytes.value:.6g} of {plan.room_bytes:.6g} bytes"
    if plan.concurrency is not None and wish.percentile is None:
        most = plan.concurrency / figures["tpot_s"] * (1 + EQUAL)
        if figures["output_tok_per_s"] > most:
            yield f"{figures['output_tok_per_s']:.6g} tok/s, and {most:.6g} at most"
    if "usd_per_h" in figures:
        token = figures["usd_per_h"] / 3600 / figures["output_tok_per_s"] * 1e6
        if abs(figures["usd_per_mtok"] / token - 1) > EQUAL:
            yield f"{figures['usd_per_mtok']:.6g} $ per 1M tokens, not {token:.6g}"
    if not all(0 <= share <= 1 for share in plan.held.values()):
        yield f"shares {plan.held}"
    if ticked:
        late = {name: getattr(wish, name) for name in ("ttft_s", "tpot_s") if getattr(wish, name) is not None}
        yield from (
            f"{name} over {most}" for name, most in late.items() if figures[name] > most * (1 + EQUAL)
        )
        if wish.tok_per_s is not None and figures["output_tok_per_s"] < wish.tok_per_s * (1 - EQUAL):
            yield "too few tokens"
        if wish.rate_per_s is not None and figures["requests_per_s"] < wish.rate_per_s * (1 - 1e-3):
            yield f"serves {figures['requests_per_s']:.6g} of {wish.rate_per_s} requests/s"


def otherwise(asked: Asked) -> str | None:
    """Laws that the plan breaks, and what the case of the other verbs says otherwise; None: all is well."""
    arch, node = arch_of(asked.model), node_of(asked.machine)
    try:
        found = find(arch, asked.wish, market=market())
    except AskError:
        return None  # said in a sentence; `explain` says it in its notes
    told = explain_case(single(arch, node, wish=asked.serving, work=asked.wish).case, machine=node.shown)
    plan = found.plans[0] if found.plans else found.nearest
    if plan is None or not told.fits:
        return None if (plan is None) == (not told.fits) else f"plan {plan is not None}, explain {told.fits}"
    laws = list(broken(plan, asked, ticked=bool(found.plans)))
    if plan.prefill is None and asked.wish.rate_per_s is None:
        # a plan's figures are those of the share asked for; slots that were cut are not timed anew
        cut = find_engine(plan.work.engine).pool == "exact" and plan.work.batch < (asked.wish.users or 0)
        laws += differences(plan, told, timed=asked.wish.percentile is None and not cut)
    return "; ".join(laws) or None


@pytest.mark.parametrize("seed", range(10 if ALL else 2))
def test_a_plan_on_a_machine_keeps_its_laws_and_is_what_explain_explains(seed):
    asked = [*plain(COUNT, seed=seed), *bounded(COUNT, seed=100 + seed)]
    failed = {str(one): said for one in asked if (said := otherwise(one)) is not None}
    assert not failed, "\n".join(f"{one}: {said}" for one, said in failed.items())


@pytest.mark.parametrize("machine", ["rtx 4090", "2x rtx 3090", "4x h100"])
def test_every_verb_decides_alike(machine):
    model = "qwen3-8b" if "rtx" in machine else "llama-3.3-70b"
    arch, failed = arch_of(model), {}
    size = params(arch)
    alone = explain(model, machine)
    rows = fit(machine, wish=FitWish(min_params=size, max_params=size, limit=None)).rows
    row = next((row for row in rows if row.model == arch.name), None)
    if row is not None:
        one = (row.weights_format, row.engine, row.used_bytes, row.user_tok_per_s.value)
        other = (
            alone.weights_format, find_engine(alone.serving.engine).id, need_of(alone),
            alone.speed.user_tok_per_s.value,
        )  # fmt: skip
        if one[:2] != other[:2] or one[2:] != pytest.approx(other[2:], rel=EQUAL):
            failed["fit"] = (one, other)
    wish = PlanWish(users=4, **SERVE)
    plan = find(arch, replace(wish, on=machine), market=market()).plans[0]
    beside = compare((machine, "8x h200"), model=model, wish=wish).contenders[0].plan
    if (beside.work, beside.layout, beside.figures["tpot_s"]) != (
        plan.work, plan.layout, plan.figures["tpot_s"],
    ):  # fmt: skip
        failed["compare"] = (beside.work, plan.work)
    played = simulate(model, machine, load=PlayWish(concurrency=4, requests=60))
    if (played.weights_format, played.kv, played.layout) != (plan.work.weights, plan.work.kv, plan.layout):
        failed["simulate"] = (played.weights_format, played.layout, plan.work, plan.layout)
    tpot = plan.figures["tpot_s"]
    if not tpot.low <= played.tally.tpot_s.p50 <= tpot.high:
        failed["played"] = (tpot, played.tally.tpot_s.p50)
    assert not failed

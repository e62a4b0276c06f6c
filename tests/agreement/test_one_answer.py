"""One question, one answer: `plan --on`, `explain`, `fit` and `compare` decide the same, and say it alike."""

from __future__ import annotations

import random
import shlex
from collections.abc import Iterator
from dataclasses import replace
from math import inf

import pytest
from drawn_questions import THOROUGH, Asked, bounded, market, plain, seeds

from rigright.arch.sources import zoo
from rigright.base.errors import AskError
from rigright.choice.work import is_home
from rigright.cost.layers import generates
from rigright.demand import ServingWish
from rigright.faces.cli.main import verb_parser
from rigright.faces.cli.options import typed_options
from rigright.facts.chips import by_id
from rigright.facts.nodes import find_node
from rigright.options.read import fill, values_of
from rigright.options.row import ALL, TRAINS
from rigright.predict.ranks import worst
from rigright.report.pages.plan_next import next_commands
from rigright.search.record import Plan
from rigright.search.single import single
from rigright.verbs.compare import compare
from rigright.verbs.explain import explain, explain_case
from rigright.verbs.fit import FitWish, _fitting, fit
from rigright.verbs.plan import plan as plan_of
from rigright.verbs.planning.planned import Planned
from rigright.verbs.serving.explained import Explained

pytestmark = pytest.mark.hypothesis
COUNT = 25 if THOROUGH else 4
COMPARED = 4  # one question of so many is asked of `compare` too
EQUAL = 1e-6
SPEEDS = ("ttft_s", "tpot_s", "output_tok_per_s")
FITTED = ("rtx 4090", "2x rtx 3090", "8x h100", "m4 max 128gb", "a100 40gb", "rtx 4090 + rtx 3060 12gb")


def differences(plan: Plan, told: Explained, *, timed: tuple[str, ...]) -> Iterator[str]:
    """What the two say otherwise."""
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
    need = told.fullest.need_bytes - dict(told.fullest.parts_bytes)["slack"]
    numbers = {"bytes": (plan.rank_bytes.value - float(plan.ranks[0].slack_bytes), need)}
    for name in timed:
        one, other = plan.figures.get(name), getattr(told.speed, name)  # a plan leaves out what never ends
        ends = (inf, inf, inf) if one is None else (one.low, one.value, one.high)
        edges = zip(("low", "value", "high"), ends, (other.low, other.value, other.high), strict=True)
        numbers |= {f"{name} {edge}": (mine, theirs) for edge, mine, theirs in edges}
    for name, (one, other) in numbers.items():
        if one != other and not abs(one / other - 1) <= EQUAL:
            yield f"{name} {one:.6g} / {other:.6g}"


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
    yield from unpaid(plan, figures)
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


def unpaid(plan: Plan, figures: dict[str, float]) -> Iterator[str]:
    """Cost is price times count, of cards, hours and tokens."""
    supply, price = plan.supply, market().cards.get(plan.chip.id)
    numbers = {}
    if "usd_per_h" in figures:
        token = figures["usd_per_h"] / 3600 / figures["output_tok_per_s"] * 1e6
        numbers["usd_per_mtok"] = (figures["usd_per_mtok"], token)
    if supply.usd_per_h is not None:
        numbers["rent"] = (figures["usd_per_h"], supply.usd_per_h.value)
    if supply.usd is not None:
        host = 0.0 if supply.host_usd is None else supply.host_usd.value
        numbers["usd"] = (figures["usd"], supply.usd.value + host)
        if price is not None and " + " not in plan.chip.name:
            cards = -(-supply.n_chips // by_id()[plan.chip.id].devices)
            numbers["cards"] = (supply.usd.value, price.usd * cards)
    for name, (one, other) in numbers.items():
        if abs(one / other - 1) > EQUAL:
            yield f"{name}: {one:.6g}, not {other:.6g}"


def typed(planned: Planned, first: Plan) -> Explained:
    """What the `explain` command says that is printed below a plan."""
    command = shlex.split(next(iter(next_commands(planned, first))))
    options = verb_parser("explain", "en").read(command[2:])
    values = values_of("explain", typed_options(options, "explain"), kinds=ALL - TRAINS)
    return explain(options.model, options.on, wish=fill(ServingWish, "explain", values=values))


def compared(asked: Asked, first: Plan) -> Iterator[str]:
    """What `compare` says otherwise beside a machine of the same sort, so that the work is the same.

    Of a card alone it asks how few will do, so their number is said.
    """
    machine = asked.wish.on or ""
    counted = machine if machine[0].isdigit() else f"1x {machine}"
    home = is_home([card.chip for card in asked.node.cards])
    things = (counted, "7x rtx 3050 8gb" if home else "7x h200")
    beside = compare(things, model=asked.model, wish=replace(asked.wish, on=None)).contenders[0].plan
    if beside is None or (beside.work, beside.layout) != (first.work, first.layout):
        yield f"compare: {None if beside is None else beside.work} / {first.work}"
        return
    for name in SPEEDS:
        pair = [one.figures[name].value if name in one.figures else inf for one in (first, beside)]
        if pair[0] != pair[1] and not abs(pair[0] / pair[1] - 1) <= EQUAL:
            yield f"compare {name}: {pair}"


def otherwise(asked: Asked, *, comparing: bool) -> str | None:
    """Laws that the plan breaks, and what other verbs say otherwise; None: all is well."""
    try:
        planned: Planned | str = plan_of(asked.model, wish=asked.wish, asked="rigright plan")
    except AskError as refused:
        planned = str(refused)
    try:
        case = single(asked.arch, asked.node, wish=asked.serving, work=asked.beside).case
    except AskError as refused:
        return None if str(refused) == planned else f"explain: {refused}; plan: {planned}"
    if isinstance(planned, str):
        return f"explain answers; plan: {planned}"
    told = explain_case(case, machine=asked.wish.on or "")
    found = planned.result
    first = found.plans[0] if found.plans else found.nearest
    if first is None or not told.fits:
        return None if (first is None) == (not told.fits) else f"plan {first is not None}, fits {told.fits}"
    said = list(broken(first, asked, ticked=bool(found.plans)))
    # `explain` says means, and knows no workers apart: these are explained pool by pool
    timed = SPEEDS if asked.wish.percentile is None else SPEEDS[2:]
    again = typed(planned, first)
    if first.prefill is None:
        said += differences(first, told, timed=timed)
        said += [f"typed: {one}" for one in differences(first, again, timed=timed)]
    elif (again.layout, again.serving.batch) != (first.layout, first.work.batch):
        said.append(f"typed: {again.layout}")
    if comparing:
        said += compared(asked, first)
    return "; ".join(said) or None


@pytest.mark.parametrize("seed", seeds(10))
def test_a_plan_on_a_machine_keeps_its_laws_and_every_verb_says_the_same(seed):
    drawn = [*plain(COUNT, seed=seed), *bounded(COUNT, seed=100 + seed)]
    failed = {
        str(one): said
        for place, one in enumerate(drawn)
        if (said := otherwise(one, comparing=place % COMPARED == 0)) is not None
    }
    assert not failed, "\n".join(f"{one}: {said}" for one, said in failed.items())


@pytest.mark.parametrize("machine", FITTED if THOROUGH else FITTED[:1])
def test_fit_lists_a_model_where_explain_says_that_it_fits(machine):
    dice, node = random.Random(machine), find_node(machine)  # noqa: S311 - a draw of models
    failed = []
    for name in dice.sample(zoo.names(), 20 if THOROUGH else 5):
        arch = zoo.arch(name)
        if not generates(arch):
            continue
        listed = any(_fitting(arch, node, wish=FitWish()))
        if listed != (float(worst(single(arch, node, wish=ServingWish()).case).spare_bytes) >= 0):
            failed.append((name, listed))
    assert not failed


@pytest.mark.parametrize("machine", FITTED if THOROUGH else FITTED[:1])
def test_what_fit_lists_explain_says_too(machine):
    told = fit(machine, wish=FitWish(limit=8 if THOROUGH else 2, max_params=None if THOROUGH else 4e9))
    assert told.models
    for row in told.models:
        alone = explain(row.model, machine)
        if alone.limits is None:
            continue  # makes no text
        need = alone.fullest.need_bytes - dict(alone.fullest.parts_bytes)["slack"]
        assert alone.fits, row
        assert (row.weights_format, row.sized_tok) == (alone.weights, alone.serving.context_tok), row
        assert (row.used_bytes, row.spare_bytes) == pytest.approx((need, alone.fullest.spare_bytes)), row
        assert row.user_tok_per_s == alone.speed.user_tok_per_s, row
        assert row.concurrency == alone.speed.concurrency, row

"""Laws of the search: whatever is asked, its answers hold together."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import few
from rigright.choice.layout import STAGED
from rigright.cost.memory.serving import serving_memory
from rigright.demand import PlanWish, ServingWish
from rigright.facts.engines import find_engine
from rigright.facts.formats import find_format
from rigright.search.choose import choose, field_of
from rigright.search.figures import headroom, limits_on
from rigright.search.first import doubts_of, staged_at
from rigright.search.question import ask
from rigright.search.score import SERVED, _deployment, _served, score
from rigright.search.serving import filled, find, find_serving, searched, tabled, wider
from rigright.search.why import excess_of
from rigright.terms.memory import device_of, started, weigh
from rigright.verbs.explain import explain

CHIPS = ("rtx 4090", "rtx 3090", "h100", "a100 80gb", "l40s", "mi300x", "rtx 5090")
FEW = st.sampled_from(CHIPS)
BOARDS, BOARD = ("mi300x",), 7  # sold eight at a time: fewer of these alone are refused by name
LOADS = st.sampled_from([1, 4, 16, 64, 200])


def wishes():
    return st.builds(
        PlanWish,
        chips=st.lists(FEW, min_size=1, max_size=3, unique=True).map(tuple),
        prompt_tok=st.sampled_from([128, 1024, 8000]),
        output_tok=st.sampled_from([32, 256, 1024]),
        users=LOADS,
        ttft_s=st.sampled_from([None, 0.5, 2.0, 10.0]),
        tpot_s=st.sampled_from([None, 0.02, 0.1]),
        most_chips=st.sampled_from([2, 8]),
        engines=st.sampled_from([("vllm",), ("llama.cpp",), ()]),  # all of them cost as much as many chips
    ).filter(lambda wish: wish.most_chips > BOARD or wish.chips != BOARDS)


class World:
    """A model and a market, in few words where a law fails: they would be printed whole."""

    def __init__(self, llama8, market):
        self.llama8, self.market = llama8, market

    def __repr__(self):
        return "World()"


@pytest.fixture(scope="module")
def world(llama8, market):
    return World(llama8, market)


def cost(found):
    known = [plan.figures["usd_per_h"].value for plan in found.plans if "usd_per_h" in plan.figures]
    return min(known, default=np.inf)


def least_cost(found, world):
    """An hour of the cheapest of all that keeps the limits, whatever else is worth its price."""
    table, limits, comfort = searched(ask(world.llama8, found.wish, market=world.market))
    keeps = excess_of((*limits, *comfort), len(table.options.index)) <= 0
    return np.nanmin(table.figures["usd_per_h"][keeps], initial=np.inf)


@given(wish=wishes(), budgets=st.tuples(st.floats(1e3, 1e6), st.floats(1.0, 20.0)))
@few
def test_a_larger_budget_never_gives_a_worse_best(world, wish, budgets):
    llama8, market = world.llama8, world.market
    small, more = budgets
    found = [
        find_serving(llama8, replace(wish, budget_usd=usd), market=market) for usd in (small, small * more)
    ]
    assert cost(found[1]) <= cost(found[0]) * 1.03001, "within what counts as equal in price"
    assert len(found[0].plans) == 0 or len(found[1].plans) > 0


@given(wish=wishes())
@few
def test_plans_keep_every_limit_and_nothing_beats_them(world, wish):
    llama8, market = world.llama8, world.market
    asked = filled(llama8, wish, market=market)
    question = ask(llama8, asked, market=market)
    table, limits, comfort = searched(question)
    found = find(question)
    usual = (*limits, *comfort)
    size = len(table.options.index)
    limits = usual if (excess_of(usual, size) <= 0).any() else limits
    keeps = excess_of(limits, size) <= 0
    figures = {name: column[keeps] for name, column in table.figures.items()}
    if not found.plans:
        assert not keeps.any()
        return
    doubts = doubts_of(table, limits, index=np.flatnonzero(keeps), cost="usd_per_h")
    staged = staged_at(table, table.options.index[keeps])
    field = field_of(
        figures, alike=np.arange(keeps.sum()), load_given=True, weight=doubts.weight, staged=staged,
        doubt=doubts.unsure,
    )  # fmt: skip
    for plan in found.plans:
        own = [plan.figures[name].value if name in plan.figures else np.inf for name in ("ttft_s", "tpot_s")]
        assert wish.ttft_s is None or own[0] <= wish.ttft_s
        assert wish.tpot_s is None or own[1] <= wish.tpot_s
        here = np.flatnonzero(
            (figures["tpot_s"] == own[1])
            & (figures["ttft_s"] == own[0])
            & (figures["n_chips"] == plan.n_chips)
        )
        assert len(here), "every plan is one of the options"
        rows = field.table[here]
        beaten = [
            np.any(np.all(field.table <= row, axis=1) & np.any(field.table < row, axis=1)) for row in rows
        ]
        assert not all(beaten), f"{plan.supply.label} is beaten"


@given(users=LOADS, more=st.floats(1.01, 3.0), flip=st.booleans())
def test_stages_are_taken_only_where_they_serve_clearly_more(users, more, flip):
    """Two layouts of one machine at one price; the pipeline serves so many times what the other does."""
    output = np.array([1000.0, 1000.0 * more])
    figures = {"output_tok_per_s": output, "tpot_s": users / output, "usd_per_h": np.full(2, 10.0)}
    staged = np.array([False, True])
    if flip:
        figures, staged = {name: column[::-1] for name, column in figures.items()}, staged[::-1]
    field = field_of(figures, alike=np.zeros(2), load_given=True, weight=np.ones(2), staged=staged)
    first = choose(field, PlanWish())[0].place
    assert bool(staged[first]) == (more > STAGED)
    even = field_of(figures, alike=np.zeros(2), load_given=True, weight=np.ones(2))
    assert bool(staged[choose(even, PlanWish())[0].place]), "else the one that serves more"


@given(wish=wishes(), dice=st.lists(st.integers(0, 2**31), min_size=4, max_size=4))
@few
@pytest.mark.parametrize("model", ["llama8", "mixtral"])
def test_a_single_layout_is_a_search_of_length_one_to_the_bit(request, world, model, wish, dice):
    market = world.market
    arch = request.getfixturevalue(model)
    asked = filled(arch, replace(wish, most_chips=8), market=market)
    question = ask(arch, asked, market=market)
    scored = score(question)
    if not len(scored.points):
        return
    for place in {one % len(scored.points) for one in dice}:
        one = scored.take(np.array([place]))
        way = question.ways[int(one.points.way[0])]
        alone = replace(one, points=replace(one.points, row=np.array([0])))
        way = replace(way, kinds=(int(one.points.kind[0]),))
        one_kind = SimpleNamespace(question=question, way=way, deployment=_deployment(question, way))
        again = _served(one_kind, alone)
        assert set(again) > set(SERVED)
        for name, column in again.items():
            assert column[0] == scored.served[name][place] or np.isnan(column[0]), name


@given(wish=wishes(), beside=st.lists(LOADS, min_size=1, max_size=3).map(tuple))
@few
@pytest.mark.parametrize("more", [False, True])
def test_users_of_many_questions_are_scored_together_to_the_bit(world, wish, beside, more):
    whole = filled(world.llama8, replace(wish, most_chips=8), market=world.market)
    asked = ask(world.llama8, whole, market=world.market)
    alone = wider(asked) if more else asked
    one, many = score(alone), score(replace(alone, beside=beside))
    for part in ("points", "room", "misfits"):
        own, other = getattr(one, part), getattr(many, part)
        for name in (it.name for it in fields(own)):
            np.testing.assert_array_equal(getattr(own, name), getattr(other, name), name)
    for name, column in one.served.items():
        np.testing.assert_array_equal(column, many.served[name], name)


@given(wish=wishes())
@few
def test_memory_of_a_plan_is_that_of_the_law(world, wish):
    llama8, market = world.llama8, world.market
    found = find_serving(llama8, wish, market=market)
    for plan in found.plans:
        engine = find_engine(plan.work.engine)
        if engine.split != "tensor":
            continue
        kinds = ask(llama8, filled(llama8, wish, market=market), market=market).kinds
        card = next(kind.card for kind in kinds if kind.chip.id == plan.chip.id)
        memory = serving_memory(
            llama8,
            weigh(llama8, plan.work.weights),
            start=started(plan.work),
            layout=plan.layout,
            device=device_of(card, engine),
        )
        assert memory.fits
        for field in fields(memory):
            assert np.array_equal(getattr(memory, field.name), getattr(plan.ranks[0], field.name)), field.name
        pools = [one for one in (plan.layout, plan.prefill) if one is not None]
        assert plan.n_chips == sum(one.tp * one.pp * one.dp for one in pools)


@given(wish=wishes())
@few
def test_rejections_are_true(world, wish):
    """What is told of a rejection holds: it costs less, and no layout of it keeps the limit it breaks."""
    llama8, market = world.llama8, world.market
    asked = filled(llama8, wish, market=market)
    question = ask(llama8, asked, market=market)
    found, table = find(question), tabled(question)
    if not found.plans:
        return
    first = found.plans[0].figures.get("usd_per_h")
    points = table.scored.points
    names = np.array([kind.chip.name for kind in question.kinds])[points.kind]
    for rejection in found.rejections:
        count, _, name = rejection.label.partition(",")[0].partition("x ")
        if first is not None and rejection.usd_per_h is not None:
            assert rejection.usd_per_h <= first.value * (1 + 1e-9)
        if rejection.limit == "memory":
            assert not np.any((names == name) & (points.n_chips <= int(count))), rejection.label
        elif rejection.limit in {"ttft_s", "tpot_s"}:
            bound = getattr(wish, rejection.limit) or {"ttft_s": 10, "tpot_s": 0.2}[rejection.limit]
            assert rejection.nearest is None or rejection.nearest > bound


@given(wish=wishes())
@few
def test_quality_never_falls_below_the_floor(world, wish):
    llama8, market = world.llama8, world.market
    floor = replace(wish, quality="fp8")
    worst = find_format("fp8").loss_rank
    for plan in find_serving(llama8, floor, market=market).plans:
        assert find_format(plan.work.weights).loss_rank <= worst


@given(wish=wishes())
@few
def test_a_question_travels_and_gives_the_same_answer(world, wish):
    """What a cluster sends: arch, wish and market; the answer comes back equal."""
    llama8, market = world.llama8, world.market
    sent = pickle.loads(pickle.dumps((llama8, wish, market)))  # noqa: S301 - our own
    here = find_serving(llama8, wish, market=market)
    there = find_serving(sent[0], sent[1], market=sent[2])
    told = [
        [(plan.supply, plan.layout, plan.work, dict(plan.figures)) for plan in one.plans]
        for one in (here, there)
    ]
    assert told[0] == told[1]
    assert here.rejections == there.rejections
    assert pickle.loads(pickle.dumps(here)).rejections == here.rejections  # noqa: S301 - our own


@given(wish=wishes(), growth=st.sampled_from([1.5, 2.0, 4.0]))
@few
def test_room_for_growth_never_costs_less(world, wish, growth):
    llama8, market = world.llama8, world.market
    now = find_serving(llama8, wish, market=market)
    later = find_serving(llama8, replace(wish, growth=growth), market=market)
    if now.plans and later.plans:
        assert least_cost(later, world) >= least_cost(now, world) / 1.03001


def test_limits_are_those_of_the_load_to_come():
    (limit,) = limits_on(PlanWish(rate_per_s=3.0, growth=2.0), {"busy": np.array([0.5])})
    assert (limit.name, limit.bound, limit.reached.tolist()) == ("requests_per_s", 6.0, [12.0])


def test_headroom_is_of_one_rank():
    points = SimpleNamespace(attention_dp=np.array([False, True, True]), tp=np.array([4, 4, 4]))
    room = SimpleNamespace(fixed_bytes=40.0, seq_bytes=1.0, room_bytes=100.0)
    served = {"running": np.array([8.0, 8.0, 9.0])}
    found = headroom(SimpleNamespace(points=points, room=room, served=served))
    assert found.tolist() == pytest.approx([0.52, 0.58, 0.57])


@given(wish=wishes())
@few
def test_bands_hold_their_figures(world, wish):
    llama8, market = world.llama8, world.market
    for plan in find_serving(llama8, wish, market=market).plans:
        for name, one in plan.figures.items():
            assert one.low <= one.value <= one.high, name
            if name.startswith("usd"):
                assert one.value > 0 or plan.supply.how == "own" or name == "usd_total"


@pytest.mark.parametrize(
    ("machine", "work"),
    [("8x h100", "serve"), ("1x rtx 4090", "chat"), ("2x rtx 3090", "chat"), ("rtx 3090 + rtx 4090", "chat")],
)
def test_a_plan_has_the_memory_that_explain_tells(world, machine, work):
    """The same question asked reverse the order: explain the plan on its machine, byte for byte."""
    llama8, market = world.llama8, world.market
    plan = find_serving(llama8, PlanWish(on=machine, work=work), market=market).plans[0]
    layout, serving = plan.layout, plan.work
    wish = ServingWish(
        engine=serving.engine,
        weights=serving.weights,
        kv=serving.kv,
        context_tok=serving.context_tok,
        batch=int(serving.batch),
        prompt_tok=serving.prompt_tok,
        tp=layout.tp,
        pp=layout.pp,
        dp=layout.dp,
    )
    name = "llama-3.1-8b"
    count = plan.n_chips
    on = machine if " + " in machine and count > 1 else f"{count}x {plan.chip.name}"
    told = explain(name, on, wish=wish)
    fullest = min(told.cards, key=lambda card: card.spare_bytes)
    parts = dict(fullest.parts_bytes)
    for part in ("weights", "cache", "step", "graphs", "context"):
        assert parts.get(part, 0.0) == float(getattr(plan.ranks[0], f"{part}_bytes")), part
    assert fullest.spare_bytes == float(plan.ranks[0].spare_bytes)

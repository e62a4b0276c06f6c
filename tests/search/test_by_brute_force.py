"""The search against plain loops: every layout written out, every price looked up, every pair compared."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import product
from math import ceil, inf, isnan, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import few
from rigright.choice.layout import STAGES
from rigright.cost.links import Wire
from rigright.cost.memory.serving import serving_memory
from rigright.demand import Layout, PlanWish, Serving
from rigright.facts.chips import by_id
from rigright.facts.units import sold_count
from rigright.predict.columns import CHUNK, at, blended, each_chunk, joined, stacked
from rigright.search.choose import FRONT, LESS, MORE, NEAR, choose, field_of, unbeaten
from rigright.search.figures import Limit, figures_of
from rigright.search.question import ask
from rigright.search.score import Misfits, score
from rigright.search.serving import filled, find_serving, tabled
from rigright.search.space import LOADS
from rigright.search.supply import BUY, OWN, RENT, options
from rigright.terms.memory import device_of, started, weigh

WORK = {"prompt_tok": 1024, "output_tok": 256}
costs = st.one_of(st.floats(0.01, 100), st.sampled_from([1.0, 2.0, 3.0]), st.just(float("nan")))


@st.composite
def figures(draw):
    """A handful of options with a few aims, many of them equal, some unknown."""
    size = draw(st.integers(1, 9))
    names = (
        "usd_per_h",
        "usd_per_mtok",
        "ttft_s",
        "tpot_s",
        "power_w",
        "loss",
        "output_tok_per_s",
        "headroom",
    )
    table = {name: draw(st.lists(costs, min_size=size, max_size=size)) for name in names}
    table["loss"] = [1.0 if isnan(one) else round(one) for one in table["loss"]]
    alike = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    return {name: np.array(column) for name, column in table.items()}, np.array(alike)


def worse(name, value):
    """As something to have less of; what nobody knows is the worst."""
    if isnan(value):
        return inf
    return value if name in LESS else -value


def beats(table, one, other):
    """One is as good in everything that plans are held against each other by, and better in something.

    Where a price is unknown, the power stands for it, too.
    """
    unpriced = any(np.isnan(table[name]).any() for name in table if name.startswith("usd"))
    names = [
        name
        for name in (*LESS, *MORE)
        if name in table and (name in FRONT or (unpriced and name == "power_w"))
    ]
    pairs = [(worse(name, table[name][one]), worse(name, table[name][other])) for name in names]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


@given(made=figures(), told=st.booleans())
def test_what_beats_is_beaten_by_none(made, told):
    table, alike = made
    field = field_of(table, alike=alike, load_given=told)
    for start in range(len(alike)):
        end = unbeaten(field, start)
        assert not any(beats(table, other, end) for other in range(len(alike)))
        near = field.table[end] <= field.table[start] * field.slack ** len(alike)
        assert near.all(), "no worse in anything, prices that are near each other aside"


@given(made=figures(), told=st.booleans(), most=st.integers(1, 5))
def test_the_plans_shown_are_a_front_of_unlike_things(made, told, most):
    table, alike = made
    field = field_of(table, alike=alike, load_given=told)
    chosen = choose(field, PlanWish(most_plans=most))
    places = [one.place for one in chosen]
    assert len(set(places)) == len(places) <= most
    for place in places:
        assert not any(beats(table, other, place) for other in range(len(alike)))
    main = [worse(field.main, value) for value in table[field.main]]
    if chosen and np.isfinite(main[places[0]]):
        assert main[places[0]] <= min(main) * NEAR * (1 + 1e-12)
    for one in chosen:
        for name in one.best_at:
            shown = [worse(name, table[name][place]) for place in places]
            assert worse(name, table[name][one.place]) == min(shown) < max(shown), name


def written_out(arch, question):
    """Every layout of a question by loops over engines, chips, cuts, copies and loads."""
    wish, found = question.wish, set()
    for place, way in enumerate(question.ways):
        weights = weigh(arch, way.weights)
        for kind_at in way.kinds:
            kind = question.kinds[kind_at]
            device = device_of(kind.card, way.engine)
            most = max(max(question.kinds[one].counts) for one in way.kinds)
            cuts = product(range(1, min(most, 16) + 1), STAGES)
            if way.engine.split == "layer":
                cuts = [
                    (1, pp)
                    for pp in {count for one in way.kinds for count in question.kinds[one].counts} | {1}
                ]
            for tp, pp in cuts:
                heads = arch.trunk.layers[0].mixer
                divides = heads.heads % tp == 0 and (heads.kv_heads % tp == 0 or tp % heads.kv_heads == 0)
                if not divides or tp * pp > kind.per_node or pp > len(arch.trunk.layers):
                    continue
                serving = Serving(engine=way.engine.asked, weights=way.weights, kv=way.kv,
                                  context_tok=wish.prompt_tok + wish.output_tok)  # fmt: skip
                memory = serving_memory(
                    arch,
                    weights,
                    start=started(serving),
                    layout=Layout(tp=tp, pp=pp),
                    device=device,
                    on_card=True,
                )
                if not memory.fits:
                    continue
                for count in kind.counts:
                    dp, rest = divmod(count, tp * pp)
                    if rest == 0 and 1 <= dp <= max(wish.users, 1):
                        found.add((place, kind_at, tp, pp, dp))
    return found


@pytest.mark.parametrize(
    "wish",
    [
        PlanWish(chips=("rtx 4090", "l40s"), most_chips=4, users=8, engines=("vllm",), **WORK),
        PlanWish(on="4x rtx 3090", users=3, engines=("vllm",), weights=("bf16", "awq4"), **WORK),
        PlanWish(chips=("h100 sxm",), most_chips=8, users=100, engines=("sglang",), weights=("fp8",), **WORK),
    ],
    ids=["two chips", "a machine", "a server"],
)
def test_every_layout_is_looked_at_once_and_counted(llama8, market, wish):
    question = ask(llama8, filled(llama8, wish, market=market), market=market)
    points = score(question).points
    names = [one.name for one in fields(points) if one.name not in {"row", "load"}]
    seen = list(zip(*(getattr(points, name).tolist() for name in names), strict=True))
    assert len(set(seen)) == len(seen), "nothing is looked at twice"
    whole = points.take(points.prefill_dp == 0)
    cuts = [getattr(whole, name).tolist() for name in ("way", "kind", "tp", "pp", "dp")]
    assert set(zip(*cuts, strict=True)) == written_out(llama8, question)
    assert (points.n_chips <= max(max(kind.counts) for kind in question.kinds)).all()
    found = find_serving(llama8, wish, market=market)
    assert len(whole) <= found.looked_at <= len(seen)
    assert found.chips == len(question.kinds)


def test_loads_that_nobody_told_are_tried_up_to_what_fits(llama8, market):
    wish = PlanWish(
        work="batch", on="1x rtx 4090", engines=("vllm",), weights=("fp8",), kv=("16bit",), **WORK
    )
    scored = score(ask(llama8, filled(llama8, wish, market=market), market=market))
    pool_tok = scored.room.pool_tok[0]
    most = int(pool_tok / (WORK["prompt_tok"] + WORK["output_tok"]))
    half = int(pool_tok / (WORK["prompt_tok"] + WORK["output_tok"] / 2))  # written so far, on average
    expected = [*(load for load in LOADS if load < most), most, half]
    assert sorted(set(scored.points.load[scored.points.prefill_dp == 0].tolist())) == expected


def cheapest(market, question, *, kind, n_chips, replica):
    """Dollars an hour of the cheapest instances that hold so many chips, looked up one by one."""
    wish, best = question.wish, None
    for offer in market.offers.get(kind.chip.id, ()):
        price = offer.spot_usd_per_h if wish.spot else offer.usd_per_h
        held = offer.n_chips * by_id()[kind.chip.id].devices
        joined_ = (offer.network_bytes_per_s or 0) >= 12.5e9 and held >= 8
        clouds = {cloud.casefold() for cloud in wish.clouds}
        if (
            not price
            or (clouds and offer.provider.casefold() not in clouds)
            or (not clouds and offer.currency != "USD")
            or ((offer.most_chips or held) < replica and not joined_)
        ):
            continue
        machine = offer.most_chips or held
        if n_chips % (held if n_chips <= machine else machine):
            continue  # instances are rented whole
        total = ceil(n_chips / held) * price
        best = total if best is None else min(best, total)
    return best


@few
@given(
    chips=st.lists(st.sampled_from(["h100 sxm", "a100 80gb", "l4", "rtx 4090", "t4"]), min_size=1, max_size=2,
                   unique=True),
    spot=st.booleans(), clouds=st.sampled_from([(), ("aws",), ("gcp", "azure")]),
    buy=st.sampled_from([None, True, False]),
)  # fmt: skip
def test_prices_of_layouts_are_those_somebody_would_look_up(llama8, market, chips, spot, clouds, buy):
    wish = PlanWish(chips=tuple(chips), users=8, spot=spot, clouds=clouds, buy=buy, most_chips=8, **WORK)
    question = ask(llama8, filled(llama8, wish, market=market), market=market)
    counts, replicas, kinds = (
        np.array(column)
        for column in zip(*product((1, 2, 3, 5, 8), (1, 2, 4, 8), range(len(question.kinds))), strict=True)
    )
    found = options(question, kind=kinds, n_chips=counts, replica=replicas)
    for index, how, usd, rent in zip(found.index, found.how, found.usd, found.rent_usd_per_h, strict=True):
        kind = question.kinds[kinds[index]]
        looked = cheapest(market, question, kind=kind, n_chips=counts[index], replica=replicas[index])
        if how == RENT:
            assert rent == pytest.approx(looked)
            assert usd == 0
            assert buy is not True
        else:
            assert how == BUY
            assert not clouds
            assert buy is not False
            assert sold_count(kind.chip, int(counts[index])) == counts[index]
            price = market.cards.get(kind.chip.id)
            assert (
                isnan(usd)
                if price is None
                else usd >= price.usd * counts[index] / by_id()[kind.chip.id].devices
            )
    rented = set(found.index[found.how == RENT].tolist())
    for index in range(len(counts)):
        kind = question.kinds[kinds[index]]
        looked = cheapest(market, question, kind=kind, n_chips=counts[index], replica=replicas[index])
        assert (index in rented) == (looked is not None and buy is not True)


def test_what_is_there_is_bought_by_nobody(llama8, market):
    wish = PlanWish(owned="2x rtx 3090", users=4, **WORK)
    table = tabled(ask(llama8, filled(llama8, wish, market=market), market=market))
    kinds, counts = (
        table.scored.points.kind[table.options.index],
        table.scored.points.n_chips[table.options.index],
    )
    own = np.array([kind.owned for kind in table.question.kinds])[kinds]
    assert ((table.options.how == OWN) == (counts <= own)).all()
    assert (table.figures["usd"][table.options.how == OWN] == 0).all()
    assert (table.figures["usd_per_h"][table.options.how == OWN] > 0).all(), "power is not free"


@few
@given(
    users=st.sampled_from([1, 8, 40]),
    chips=st.sampled_from([("rtx 4090",), ("h100 sxm", "l40s"), ("mi300x",)]),
)
def test_figures_of_options_hang_together(llama8, market, users, chips):
    wish = PlanWish(chips=chips, users=users, most_chips=8, **WORK)
    question = ask(llama8, filled(llama8, wish, market=market), market=market)
    table = tabled(question)
    found = figures_of(question, table.scored, options=table.options)
    per_tok = found["usd_per_h"] / (found["output_tok_per_s"] * 3600) * 1e6
    assert np.allclose(found["usd_per_mtok"], per_tok, equal_nan=True)
    assert np.allclose(found["requests_per_s"] * WORK["output_tok"], found["output_tok_per_s"])
    rented = table.options.how == RENT
    hours = 3 * 365.25 * 24
    assert np.allclose(found["usd_total"][rented], found["usd_per_h"][rented] * hours)
    assert (found["headroom"] <= 1).all()
    assert (found["headroom"] > -1e-9).all(), "nothing that fits is fuller than full"
    tdp = np.array([kind.chip.tdp_w for kind in question.kinds])[
        table.scored.points.kind[table.options.index]
    ]
    assert (found["power_w"] > 0).all()
    assert (found["power_w"] < found["n_chips"] * tdp * 2 + 3000 * np.ceil(found["n_chips"] / 8)).all()


RELAXED = {"ttft_s": (0.1, 8.0), "tpot_s": (0.004, 0.2), "power_w": (300.0, 8000.0), "usd_per_h": (0.2, 30.0)}


@pytest.mark.parametrize("name", sorted(RELAXED))
@given(shares=st.tuples(st.floats(0, 1), st.floats(0, 1)), users=st.sampled_from([2, 16]))
@few
def test_a_looser_limit_never_makes_the_best_dearer(llama8, market, name, shares, users):
    low, high = RELAXED[name]
    tight, loose = (low * (high / low) ** share for share in sorted(shares))
    best = []
    for bound in (tight, loose):
        wish = PlanWish(
            chips=("rtx 4090", "h100 sxm"),
            most_chips=2,
            users=users,
            engines=("vllm",),
            **WORK,
            **{name: bound},
        )
        if name not in {"ttft_s", "tpot_s"}:
            wish = replace(wish, ttft_s=60.0)  # else what people usually want is asked for them
        found = find_serving(llama8, wish, market=market)
        best.append(min((plan.figures["usd_per_h"].value for plan in found.plans), default=inf))
    assert best[1] <= best[0] * NEAR


@given(
    reached=st.lists(st.one_of(st.floats(1e-6, 1e6), st.sampled_from([float("nan"), inf])), min_size=1),
    bound=st.floats(1e-3, 1e3),
    at_least=st.booleans(),
)
def test_a_limit_is_kept_or_broken_as_anybody_would_say(reached, bound, at_least):
    limit = Limit(name="x", reached=np.array(reached), bound=bound, at_least=at_least)
    for value, excess in zip(reached, limit.excess, strict=True):
        if isnan(value):
            assert excess == inf, "what nobody knows keeps no limit"
        else:
            assert (excess <= 0) == (value >= bound if at_least else value <= bound)
            if 0 < value < inf:
                assert abs(excess) == pytest.approx(abs(log(value / bound)), abs=1e-9)


@given(size=st.integers(0, 9 * CHUNK))
@few
def test_chunks_cover_everything_once(size):
    touched = np.zeros(size, dtype=int)

    def task(chunk):
        touched[chunk] += 1

    each_chunk(size, task)
    assert (touched == 1).all()


def test_what_goes_wrong_in_a_thread_is_heard():
    def task(chunk):
        if chunk.start >= 5 * CHUNK:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        each_chunk(9 * CHUNK, task)


@given(st.lists(st.lists(st.floats(-10, 10), min_size=1, max_size=5), min_size=1, max_size=4), st.data())
def test_arrays_put_together_and_taken_apart_are_what_they_were(columns, data):
    names = [one.name for one in fields(Misfits)]
    records = [Misfits(**dict.fromkeys(names, np.array(column))) for column in columns]
    whole = joined(records)
    places = data.draw(st.permutations(range(sum(map(len, columns)))))
    flat = [one for column in columns for one in column]
    assert at(whole, np.array(places)).chips.tolist() == [flat[place] for place in places]
    start = 0
    for column, record in zip(columns, records, strict=True):
        assert at(whole, slice(start, start + len(column))).way.tolist() == record.way.tolist()
        start += len(column)


def test_numbers_of_records_become_columns_and_words_stay():
    limits = [Limit(name="a", reached=1.0, bound=2.0), Limit(name="a", reached=3.0, bound=4.0)]
    found = stacked(limits)
    assert found.name == "a"
    assert found.reached.tolist() == [1.0, 3.0]
    assert found.bound.tolist() == [2.0, 4.0]


@given(rates=st.lists(st.floats(1, 1e6), min_size=2, max_size=4), data=st.data())
def test_parts_that_work_one_after_another_take_the_sum_of_their_times(rates, data):
    """Rates weigh by their inverse: half the layers at 10 a second and half at 30 are 15, not 20."""
    weights = np.array(data.draw(st.lists(st.floats(0.1, 1), min_size=len(rates), max_size=len(rates))))
    shares = weights / weights.sum()
    wire = Wire(bytes_per_s=np.array(rates), start_s=np.array(rates), domain=8,
                outer_bytes_per_s=1.0, outer_start_s=0.0)  # fmt: skip
    found = blended(wire, shares)
    seconds = sum(share / rate for share, rate in zip(shares, rates, strict=True))
    assert found.bytes_per_s[0] == pytest.approx(1 / seconds)
    assert found.start_s[0] == pytest.approx(
        sum(share * rate for share, rate in zip(shares, rates, strict=True))
    )
    assert min(rates) * (1 - 1e-9) <= found.bytes_per_s[0] <= max(rates) * (1 + 1e-9)

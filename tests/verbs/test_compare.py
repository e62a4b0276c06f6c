"""Things side by side for one work: chips, machines, clouds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError
from rigright.demand import PlanWish
from rigright.facts.find import find_chip
from rigright.verbs.compare import _stated_flops_per_s, _touched
from rigright.verbs.compare import compare as compare_verb
from rigright.verbs.comparing.sheets import APART, HALF, LESS, leads_of

USERS = PlanWish(prompt_tok=1024, output_tok=256, users=8)


@pytest.fixture(scope="module")
def machines():
    return compare_verb(("8x h100", "8x a100 80gb"), model="llama-3.1-70b", wish=USERS)


def test_the_newer_machine_writes_faster(machines):
    new, old = machines.contenders
    assert new.figures["tpot_s"].value < old.figures["tpot_s"].value
    assert machines.wins["tpot_s"] == ("8x h100",)


def test_tokens_a_joule_are_rate_over_power(machines):
    for one in machines.contenders:
        figures = one.figures
        assert figures["tok_per_joule"].value == pytest.approx(
            figures["output_tok_per_s"].value / figures["power_w"].value
        )


def test_no_pass_lies_above_its_roof(machines):
    for one in machines.contenders:
        roof = one.roof
        for part in (roof.token, roof.prompt):
            most = min(roof.peak_flops_per_s, part.flops_per_byte * roof.bytes_per_s)
            assert 0 < part.flops_per_s < 1.05 * most


def test_prompts_compute_more_for_each_byte_than_tokens(machines):
    for one in machines.contenders:
        assert one.roof.prompt.flops_per_byte > one.roof.token.flops_per_byte


def test_a_bare_name_takes_as_few_cards_as_will_do():
    small, large = (
        compare_verb(("3090", "4090"), model="qwen2.5-7b", wish=USERS),
        compare_verb(
            ("3090", "4090"), model="llama-3.1-70b", wish=PlanWish(prompt_tok=1024, output_tok=256, users=1)
        ),
    )
    assert [one.plan.n_chips for one in small.contenders] == [1, 1]
    assert all(one.plan.n_chips > 1 for one in large.contenders)


@pytest.mark.parametrize(
    ("things", "concurrency"),
    [
        (("2x rtx 3090", "rtx 5090", "m4 max 128gb"), 1),  # all at home: a chat
        (("2x rtx 3090", "rtx pro 6000", "aws"), 8),  # of some the number is open: the usual users
    ],
)
def test_all_are_asked_for_the_same_work(things, concurrency):
    found = compare_verb(things, model="qwen3-8b")
    assert {one.plan.concurrency for one in found.contenders} == {concurrency}


def test_a_card_whose_name_a_cloud_rents_out_too_is_a_card():
    from rigright.facts.clouds import offers

    assert any(one.instance.casefold() == "rtx 5090" for one in offers())
    (card, _) = compare_verb(("rtx 5090", "rtx 4090"), model="qwen3-8b").contenders
    assert card.plan.supply.how == "buy"


def test_an_instance_costs_its_own_price():
    found = compare_verb(("aws:p5.48xlarge", "8x h100"), model="llama-3.1-70b", wish=USERS)
    rented = found.contenders[0].plan
    assert rented.supply.label == "aws p5.48xlarge"
    assert rented.chip.id == "h100-sxm5-80gb"
    assert rented.supply.usd_per_h.value == pytest.approx(rented.figures["usd_per_h"].value)


def test_used_and_new_are_prices_of_one_card():
    old, new = compare_verb(("used 3090", "全新 3090"), model="qwen3-8b").contenders
    assert (old.plan.supply.used, new.plan.supply.used) == (True, False)
    assert old.plan.supply.usd.value < new.plan.supply.usd.value


def test_clouds_are_compared_by_their_cheapest():
    found = compare_verb(("aws", "gcp"), model="llama-3.1-8b", wish=USERS)
    assert [one.plan.supply.label.split()[0].removesuffix("x") for one in found.contenders] == ["aws", "gcp"]


def test_what_cannot_do_it_stays_in_the_row_with_its_reason():
    found = compare_verb(("1x 3060", "2x h100"), model="llama-3.1-70b", wish=USERS)
    small, large = found.contenders
    assert small.plan is None
    assert not small.fits
    assert small.broken[0].limit == "memory"
    assert large.fits


@pytest.mark.parametrize(
    ("things", "said"),
    [
        (("4090",), "2 to 8"),
        (("4090", "4090"), "4090.*"),
        (("4090", "aws:nothing.large"), r"nothing\.large"),
        (("4090", "no such chip"), "no such"),
        (tuple(f"{count}x 4090" for count in range(1, 10)), "2 to 8"),
    ],
)
def test_what_cannot_be_compared_says_why(things, said):
    with pytest.raises(AskError, match=said):
        compare_verb(things, model="llama-3.1-8b")


def test_a_shared_card_is_no_thing_to_compare():
    from rigright.facts.clouds import offers

    part = next(one for one in offers() if one.n_chips < 1)
    with pytest.raises(AskError, match=part.instance):
        compare_verb((f"{part.provider}:{part.instance}", "4090"), model="llama-3.1-8b")


def test_a_stated_peak_is_of_the_format():
    h100 = find_chip("h100 sxm")
    assert _stated_flops_per_s(h100, "fp8") == h100.fp8_flops_per_s
    assert _stated_flops_per_s(h100, "bf16") == h100.bf16_flops_per_s
    assert _stated_flops_per_s(find_chip("3090"), "fp8") == find_chip("3090").training_flops_per_s


@given(st.floats(1, 1e6), st.floats(1, 1e6))
def test_more_tokens_touch_no_fewer_experts(one, other):
    arch = open_model("mixtral-8x7b")
    few, many = sorted((one, other))
    assert 0 < _touched(arch, few) <= _touched(arch, many) <= 1
    assert _touched(open_model("llama-3.1-8b"), few) == 1


def test_buying_pays_off_as_cost_has_it():
    """One bought, one rented: the price over what a month of renting costs more than its power."""
    wish = PlanWish(prompt_tok=1024, output_tok=256, users=8, tariff_usd_per_kwh=0.3, duty=0.5)
    found = compare_verb(("1x rtx 4090", "aws:g6e.xlarge"), model="llama-3.1-8b", wish=wish)
    place, paid = found.payback
    own, rent = found.contenders[place].figures, found.contenders[1 - place].figures
    hours = 730.5 * 0.5
    power = own["power_w"].value / 1000 * hours * 0.3
    assert paid.months == pytest.approx(own["usd"].value / (rent["usd_per_h"].value * hours - power))
    assert paid.low < paid.months < paid.high
    assert compare_verb(("1x rtx 4090", "1x rtx 5090"), model="llama-3.1-8b", wish=wish).payback is None


def test_a_cloud_that_bills_in_yuan_has_its_price():
    wish = PlanWish(prompt_tok=1024, output_tok=256, users=4, currency="CNY")
    found = compare_verb(("1x rtx 4090", "autodl:RTX 4090"), model="qwen3-8b", wish=wish)
    rent = found.contenders[1].figures["usd_per_h"]
    assert rent.value == pytest.approx(1.98 / 7.1)
    assert found.payback is not None


PAIRS = (
    ("4090", "a6000", "qwen3-32b"),
    ("4090", "5090", "qwen3-8b"),
    ("h100", "4090", "llama-3.1-70b"),
    ("4090", "m4 max", "qwen3-32b"),
    ("t4", "a10", "qwen3-8b"),
    ("h100", "mi300x", "deepseek-r1"),
    ("3060", "4060", "qwen3-30b-a3b"),
    ("a100", "3090", "llama-2-7b"),
)


@pytest.mark.parametrize(("one", "other", "model"), PAIRS)
def test_like_is_held_against_like_unless_it_is_said(one, other, model):
    """One format, cache and context for all, paid for in one way; where one cannot, a note says so."""
    result = compare_verb((one, other), model=model)
    plans = [contender.plan for contender in result.contenders]
    unlike = [str(note) for note in result.notes if "since" in str(note) or "no weight format" in str(note)]
    for field in ("weights", "kv", "context_tok"):
        assert len({getattr(plan.work, field) for plan in plans}) == 1 or unlike, field
    hows = {plan.supply.how for plan in plans}
    assert len(hows) == 1 or any("bought" in str(note) for note in result.notes)


def test_nobody_is_made_worse_than_it_has_to_be_for_another():
    """Two bits where nothing else fits are no standard for those that hold more."""
    for model in ("deepseek-r1", "llama-3.1-405b"):
        for contender in compare_verb(("h100", "b200"), model=model).contenders:
            assert "Q2" not in contender.plan.work.weights


def test_what_is_asked_for_is_not_changed():
    wish = PlanWish(weights=("bf16",), context_tok=4096, buy=True, kv=("16bit",))
    for contender in compare_verb(("4090", "a6000"), model="qwen3-8b", wish=wish).contenders:
        work, how = contender.plan.work, contender.plan.supply.how
        assert (work.weights, work.context_tok, work.kv, how) == ("bf16", 4096, "16bit", "buy")


def test_trainings_learn_by_one_method():
    wish = PlanWish(work="finetune", samples=50_000)
    for pair in (("4070", "a100"), ("4090", "h100")):
        result = compare_verb(pair, model="llama-3.1-8b", wish=wish)
        methods = {one.plan.work.method for one in result.contenders}
        assert len(methods) == 1


def test_cards_without_a_price_are_laid_out_as_a_plan_for_speed_lays_them_out():
    from rigright.verbs.plan import plan

    named = compare_verb(("ascend 910b", "h20"), model="qwen3-32b")
    for contender in named.contenders:
        wish = PlanWish(on=f"{contender.plan.n_chips}x {contender.plan.chip.id}", users=8, aim="speed")
        best = plan("qwen3-32b", wish=wish).result.plans[0]
        assert contender.figures["output_tok_per_s"].value >= 0.9 * best.figures["output_tok_per_s"].value


ON = PlanWish(on="rtx 4090")


@pytest.mark.parametrize(
    ("things", "model", "wish", "own"),
    [
        (("qwen3-8b", "llama-3.1-8b"), None, ON, lambda item: item.model.rpartition("/")[2].lower()),
        (("vllm", "sglang"), "qwen3-8b", ON, lambda item: item.plan.work.engine.split()[0]),
        (("fp8", "awq4"), "qwen3-8b", ON, lambda item: item.plan.work.weights),
        (("lora", "qlora"), "qwen3-8b", PlanWish(on="h100"), lambda item: item.plan.work.method),
    ],
)
def test_models_engines_formats_and_methods_are_compared_on_one_machine(things, model, wish, own):
    found = compare_verb(things, model=model, wish=wish)
    assert [own(item) for item in found.contenders] == [*things]
    plans = [item.plan for item in found.contenders]
    assert len({(plan.chip.id, plan.n_chips, plan.concurrency) for plan in plans}) == 1
    if things[0] != "fp8":
        assert len({getattr(plan.work, "weights", None) for plan in plans}) == 1


@pytest.mark.parametrize(
    ("things", "model", "wish"),
    [
        (("vllm", "4090"), "qwen3-8b", ON),
        (("vllm", "sglang"), "qwen3-8b", None),
        (("qwen3-8b", "llama-3.1-8b"), None, None),
        (("qwen3-8b", "flux.1-dev"), None, ON),
    ],
)
def test_what_cannot_be_compared_so_is_refused(things, model, wish):
    with pytest.raises(AskError):
        compare_verb(things, model=model, wish=wish)


def test_on_one_card_in_one_engine_every_difference_stands():
    result = compare_verb(("qwen3-14b", "gemma-3-27b-it", "qwen3-8b"), wish=ON)
    rates = [item.figures["output_tok_per_s"].value for item in result.contenders]
    (lead,) = (lead for lead in result.leads if lead.figure == "output_tok_per_s")
    assert lead.places == (2,)
    assert lead.ratio == pytest.approx(rates[2] / max(rates[:2]))


def test_files_of_16_bit_are_one_format():
    ollama, vllm = compare_verb(("ollama", "vllm"), model="qwen3-8b", wish=ON).contenders
    assert {item.plan.work.weights for item in (ollama, vllm)} <= {*HALF}


def test_power_that_nobody_pays_for_is_no_claim():
    rented = compare_verb(("rent 4x 3090", "rent 1x a100 80gb"), model="qwen2.5-14b")
    assert "power_w" not in {lead.figure for lead in rented.claims}
    assert "power_w" in rented.wins


def test_a_slice_is_no_whole_card():
    part, whole = compare_verb(("a100 mig 1g.10gb", "a100 80gb"), model="qwen3-4b").contenders
    assert part.plan.chip.mem_bytes == pytest.approx(whole.plan.chip.mem_bytes / 8)


def test_what_is_rented_and_what_is_bought_may_be_said_of_each():
    found = compare_verb(("rent h100", "buy 4x 4090"), model="qwen3-32b")
    assert [item.plan.supply.how for item in found.contenders] == ["rent", "buy"]
    figures = {lead.figure for lead in found.leads}
    assert "usd_per_mtok" in figures
    assert not {"usd", "usd_per_h"} & figures


@given(st.lists(st.tuples(st.floats(1, 1e6), st.floats(0, 0.4)), min_size=2, max_size=6), st.booleans())
def test_who_is_ahead_is_outside_the_band_of_who_is_behind(values, more):
    bands = {place: (mid, mid * (1 - part), mid * (1 + part)) for place, (mid, part) in enumerate(values)}
    figure = "mem_bytes" if more else LESS[0]
    things = [(str(place), {figure: band}) for place, band in bands.items()]
    lead = next(iter(leads_of(things, [figure], used=())), None)
    best = sorted(bands, key=lambda place: bands[place][0], reverse=more)
    if lead is None:
        return
    assert best[0] in lead.places
    assert set(lead.places) == {*best[: len(lead.places)]}
    low, high = sorted((bands[best[len(lead.places) - 1]], bands[best[len(lead.places)]]))
    assert lead.ratio == pytest.approx(high[0] / low[0])
    assert lead.ratio >= APART - 1e-9
    assert low[0] < high[1] or low[2] < high[0]

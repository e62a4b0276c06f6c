"""A card's power beside a plan's: by the law that the plan's own figure is made of, or why not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from programs import rigright
from rigright.cost.power import draw_w
from rigright.facts.chips import by_id
from rigright.terms.fitted import busy_in, power_terms
from rigright.verbs.measure.saved import beside_plan, hold
from rigright.verbs.measure.ticks import Course, Measured
from rigright.verbs.runs.planned import read_plan

H100 = "NVIDIA H100 80GB HBM3"


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """What `plan --json` prints for a pre-training on eight H100."""
    file = tmp_path_factory.mktemp("plan") / "plan.json"
    done = rigright("plan", "llama-3.1-8b", "--mode", "pretrain", "--on", "8x h100", "--json")
    file.write_text(done.out, encoding="utf-8")
    return read_plan(str(file))


def run(working_w, peak_w=None, chips=(H100,)):
    power = Course(
        name="gpu 0 power", label="", unit="w", peak=peak_w or 0.0, median=1.0, mean=1.0, values=(1.0,)
    )
    return Measured(
        command=("x",), exit_code=0, by_signal=None, at_s=0.0, lasted_s=60.0, samples=300, every_s=0.2,
        courses=(power,) if peak_w else (), gpu_peak_bytes=((0, 1.0),), host_peak_bytes=None, cpu_s=None,
        read_bytes=None, written_bytes=None, energy_j=(), slowed_s=(), chips=chips,
        working_w=tuple(enumerate(working_w)),
    )  # fmt: skip


def held(measured, plan):
    return {one.name: one for one in hold(measured, plan)}


def test_a_card_at_work_is_held_against_the_cards_part_of_the_plans_power(plan):
    """Eight cards and what is around them make the plan's figure at the wall: a card's part is less."""
    found = held(run((600.0, 560.0), peak_w=695.0), plan)["power"]
    assert found.measured == 580.0
    assert found.low < found.planned < found.high <= 700.0
    assert 8 * found.planned < plan.figure("power_w")[0] < 2 * 8 * found.planned
    law = draw_w(power_terms((by_id()[plan.plan["chip"]],)), busy_in("training"))
    assert found.planned == pytest.approx(float(law.value[0]))


@pytest.mark.parametrize(("watts", "inside"), [(150.0, False), (600.0, True), (900.0, False)])
def test_a_card_that_rests_or_burns_is_outside(plan, watts, inside):
    assert held(run((watts,), peak_w=watts), plan)["power"].inside is inside


@pytest.mark.parametrize(("peak", "inside"), [(702.0, True), (760.0, False)])
def test_a_peak_may_pass_the_rating_by_the_meters_own_error(plan, peak, inside):
    assert held(run((600.0,), peak_w=peak), plan)["peak power"].inside is inside


def test_what_is_not_held_says_why(plan):
    whys = []
    for measured in (
        run(()),
        run((), peak_w=300.0),
        run((600.0,), peak_w=650.0, chips=("NVIDIA GeForce RTX 4090",)),
        run((600.0,), peak_w=650.0, chips=("", H100)),
    ):
        assert not {"power", "peak power"} & set(held(measured, plan))
        whys += beside_plan(measured, plan).notes
    assert len(whys) == 4
    assert len({one.text for one in whys}) == 3, "not reported, not long enough, twice of other GPUs"


def test_a_plan_of_an_unknown_chip_holds_no_power(plan):
    strange = replace(plan, plan={**plan.plan, "chip": ["h100"]})
    assert "power" not in held(run((600.0,), peak_w=650.0), strange)
    assert "power" not in held(run((600.0,), peak_w=650.0), replace(plan, wish={"work": {}}))


def test_nothing_is_said_of_power_that_is_held_or_of_no_card_or_of_a_plan_without_it(plan):
    """The first was once called power of different GPUs."""
    assert not beside_plan(run((600.0,), peak_w=650.0), plan).notes
    assert not beside_plan(replace(run(()), chips=()), plan).notes
    none = {**plan.plan, "figures": {}}
    assert not beside_plan(run(()), replace(plan, plan=none)).notes


def test_what_is_kept_of_it_can_be_read_by_scripts():
    from rigright.report.pages.measure import plain

    told = json.loads(json.dumps(plain(run((600.0,), peak_w=650.0), "en")))
    assert told["working_w"] == {"0": 600.0}

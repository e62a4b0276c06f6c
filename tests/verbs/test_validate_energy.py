"""`validate` of runs whose power was read: watts and joules beside speed, by one law."""

from __future__ import annotations

import pytest

from rigright.facts.chips import by_id
from rigright.terms.fitted import power_band
from rigright.verbs.validate.verb import validate

HEAD = (
    "id,source,engine,engine_version,model,arch,chip,n_chips,tp,weights,mode,load,prompt_tok,output_tok,"
    "metric,value,avg_power_w_per_gpu,energy_j_per_token\n"
)
RUN = "{id},s,vllm,0.11.1,m,Qwen/Qwen3-8B,{chip},1,1,bf16,serve,{load},650,650,output_tok_s_total,{told}\n"


def answers(tmp_path, *rows):
    file = tmp_path / "runs.csv"
    file.write_text(HEAD + "".join(rows), encoding="utf-8")
    found = validate(str(file))
    assert found.kind == "serving_energy"
    return [{one.metric: one for one in row.predictions} for row in found.rows]


def row(number=1, *, chip="h100-sxm5-80gb", load=64, told=",,"):
    return RUN.format(id=f"e{number}", chip=chip, load=load, told=told)


def test_a_served_row_tells_speed_watts_and_joules_and_one_follows_from_the_others(tmp_path):
    (found,) = answers(tmp_path, row(told="5147,610,0.12"))
    speed, watts, joules = (
        found[name] for name in ("output_tok_s_total", "avg_power_w_per_gpu", "energy_j_per_token")
    )
    assert joules.predicted == pytest.approx(watts.predicted / speed.predicted)
    assert (watts.measured, joules.measured) == (610, 0.12)
    for one in (watts, joules):
        assert one.low < one.predicted < one.high
    assert joules.high / joules.low > watts.high / watts.low, "with the doubts of the speed"


def test_more_requests_draw_more_and_cost_less_each_token(tmp_path):
    found = answers(tmp_path, *(row(load, load=load) for load in (1, 8, 64, 256)))
    watts = [one["avg_power_w_per_gpu"].predicted for one in found]
    joules = [one["energy_j_per_token"].predicted for one in found]
    assert watts == sorted(watts)
    assert joules == sorted(joules, reverse=True)
    assert max(watts) <= by_id()["h100-sxm5-80gb"].tdp_w


def test_measured_watts_of_an_h100_are_met(tmp_path):
    """ML.ENERGY, Qwen3-8B on one H100: 427 W at 8 requests, 514 at 64, 633 at 256."""
    found = answers(tmp_path, *(row(load, load=load) for load in (8, 64, 256)))
    watts = [one["avg_power_w_per_gpu"].predicted for one in found]
    assert watts == pytest.approx([427, 514, 633], rel=0.2)


def test_a_chip_whose_watts_nobody_measured_has_a_wider_band():
    sure, class_alone = (power_band(by_id()[name]) for name in ("h100-sxm5-80gb", "b200-sxm"))
    assert class_alone[1] / class_alone[0] > sure[1] / sure[0]

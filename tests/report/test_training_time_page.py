"""What `explain --train` tells of time: the line, the table, what limits it, and the same for scripts."""

from __future__ import annotations

import pytest

from rigright.base import telling
from rigright.base.page import Table
from rigright.base.words import CHINESE, tell
from rigright.cost.estimate import Estimate
from rigright.demand import TrainingWish
from rigright.facts.nodes import find_node
from rigright.predict.trained import LINKS, PARTS, StepUse, bound_of
from rigright.report.pages import training as pages
from rigright.report.pages.training import BOUNDS, TIMES, step_rows, time_table
from rigright.verbs.explain_training import explain_training

MODEL = "meta-llama/Llama-3.1-8B"


def step(**changes):
    values = {
        "step_s": Estimate(value=2.0, low=1.6, high=2.5),
        "parts_s": (("forward", 0.6), ("backward", 1.2), ("dp", 0.2)),
        "tok_per_s_per_chip": Estimate(value=4096.0, low=3277.0, high=5120.0),
        "ranks": 8,
        "tok_per_step": 65536.0,
        "samples_per_s": 4.0,
        "mfu": 0.42,
        "hfu": 0.55,
        "bound": "compute",
    }
    return StepUse(**values | changes)


def explain(on="8x h100", model=MODEL, **wish):
    return explain_training(model, on, wish=TrainingWish(**wish), asked="rigright explain")


def test_one_screen_tells_a_step_its_rate_and_mfu_with_low_and_high():
    assert [row[1:] for row in step_rows(step(), details=True)] == [
        ("2.0", "1.6-2.5"), ("4,100", "3,280-5,120"), ("42",), ("55",), ("8.5",),
    ]  # fmt: skip


def test_the_table_has_a_row_a_part_and_the_step_at_the_end():
    table = time_table(step())
    assert isinstance(table, Table)
    assert [row[2] for row in table.rows] == ["30%", "60%", "10%", "100%"]
    assert table.rows[-1][1] == "2.0 s"
    assert len(table.tones) == len(table.rows)


def test_every_part_and_bound_has_words_in_both_languages():
    assert set(TIMES) == set(PARTS)
    for said in (*TIMES.values(), *BOUNDS.values()):
        assert tell(said, CHINESE) != str(said)


@pytest.mark.parametrize(
    ("seconds", "bound"),
    [
        ({"forward": 1, "backward": 2, "dp": 2.5}, "compute"),
        ({"forward": 1, "backward": 1, "dp": 1.5, "tp": 1}, "links"),
        ({"forward": 1, "host": 3}, "host"),
        ({"forward": 1, "bubble": 3}, "bubble"),
        ({"forward": 1, "optimizer": 3}, "optimizer"),
    ],
)
def test_what_limits_is_what_takes_most(seconds, bound):
    assert bound_of(dict.fromkeys(PARTS, 0.0) | seconds) == bound
    assert set(LINKS) < set(PARTS)


def test_scripts_get_the_same_figures():
    plain = telling.RecordPrinter(StepUse)(step(), "en")
    assert plain["step_s"] == {"value": 2.0, "low": 1.6, "high": 2.5, "mark": "fitted"}
    assert plain["tok_per_s"] == 32768
    assert sum(plain["parts_s"].values()) == pytest.approx(2.0)


def test_explaining_a_training_tells_its_time():
    found = explain(trainer="torchtitan", seq_tok=8192, recompute="full")
    assert found.time is not None
    assert found.time.ranks == 8
    assert found.time.step_s.low < found.time.step_s.value < found.time.step_s.high
    named = dict(found.time.parts_s)
    assert named["recompute"] < named["backward"]
    assert sum(named.values()) == pytest.approx(found.time.step_s.value, rel=0.02)
    plain = pages.plain(found, "en")
    assert plain["time"]["tok_per_s"] == pytest.approx(found.time.tok_per_s, rel=1e-4)
    assert time_table(found.time) in pages.page(found, details=True).parts


def test_boxes_of_four_pay_for_the_network_sooner():
    four = explain("2 nodes of 4x h100", trainer="megatron", tp=8, recompute="full")
    eight = explain("8x h100", trainer="megatron", tp=8, recompute="full")
    assert dict(four.time.parts_s)["tp"] > 1.3 * dict(eight.time.parts_s)["tp"]


def test_a_mixed_machine_goes_at_the_pace_of_its_slowest_card():
    assert len(find_node("1x rtx 4090 + 1x rtx 3090").cards) == 2
    mixed = explain("1x rtx 4090 + 1x rtx 3090", method="qlora")
    slow = explain("2x rtx 3090", method="qlora")
    assert mixed.time.step_s.value == pytest.approx(slow.time.step_s.value, rel=0.05)
    fast = explain("2x rtx 4090", method="qlora")
    assert fast.time.step_s.value < mixed.time.step_s.value


def test_models_without_tokens_have_no_time_here():
    assert explain("1x rtx 4090", model="google/vit-base-patch16-224").time is None


def test_a_chip_nobody_trained_on_has_a_wider_band():
    known, unknown = explain("1x h100", method="qlora"), explain("1x rtx 3090", method="qlora")

    def width(found):
        return found.time.step_s.high / found.time.step_s.low

    assert width(unknown) > width(known)


def test_why_tells_where_each_part_of_the_time_comes_from():
    found = explain_training(MODEL, "8x h100", wish=TrainingWish(tp=2, recompute="full"), why=True)
    told = {one.part for one in found.why}
    assert {f"{name}_s" for name, _ in found.time.parts_s} <= told
    tables = [part for part in pages.page(found, why=True).parts if isinstance(part, Table)]
    assert any(
        {TIMES[name] for name, _ in found.time.parts_s} <= {row[0] for row in table.rows} for table in tables
    )

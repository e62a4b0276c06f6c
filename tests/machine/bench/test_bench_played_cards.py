"""The parts that need cards, through the real child, on a PyTorch that plays cards."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from rigright.doctor.examine import case_of
from rigright.doctor.reference import compare_all, wrong_values
from rigright.machine.bench.child import BenchChild
from rigright.machine.bench.record import BenchRequest, Result, Skipped
from rigright.machine.device import Device
from rigright.machine.record import Machine

FAKE = Path(__file__).parents[2] / "fake_torch"
MACHINE = Machine(
    devices=tuple(Device(index=index, vendor="nvidia", name="NVIDIA H100 80GB HBM3") for index in (4, 5, 6))
)


def measured(part, cards, *, fails="", spare_s=1.0, quick=True, **more):
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(FAKE), os.environ.get("PYTHONPATH", "")]),
        "FAKE_TORCH_CARDS": cards,
        "FAKE_TORCH_FAILS": fails,
        **more,
    }
    child = BenchChild(sys.executable, env)
    try:
        ask = BenchRequest(part=part, spare_s=spare_s, quick=quick, names=("gpu 4", "gpu 5", "gpu 6"))
        return list(child.run(ask))
    finally:
        child.close()


def results(found):
    return [one for one in found if isinstance(one, Result)]


def test_every_format_is_multiplied_on_every_card_and_what_cannot_be_is_told():
    found = measured("gemm", "1,1", spare_s=20.0)
    assert {(one.what, one.on) for one in results(found)} == {
        (f"{name} square", on)
        for name in ("bf16", "fp16", "tf32", "fp32", "int8")
        for on in ("gpu 4", "gpu 5")
    }
    assert [str(one.why) for one in found if isinstance(one, Skipped)] == [
        f"fp8 square on {on}: RuntimeError: fp8 is not built in" for on in ("gpu 4", "gpu 5")
    ]
    one = results(found)[0]
    assert one.chip == "NVIDIA H100 80GB HBM3"
    told = dict(one.settings)
    assert told.pop("shape") in {"8192x8192x8192", "4096x4096x4096"}, "smaller where the machine is busy"
    assert told == {"data": "random", "accumulate": "fp32", "torch": "9.9.9+fake"}  # fmt: skip


def test_a_slow_card_is_found_beside_its_fellows():
    found = results(measured("device_memory", "1,1,0.25", spare_s=2.0))
    held = {(one.result.what, one.result.on): one for one in compare_all(found, case_of(MACHINE))}
    for stream in ("copy", "triad", "read", "write"):
        assert held[stream, "gpu 6"].verdict == "slow"
        assert held[stream, "gpu 4"].verdict != "slow"


def test_what_the_processor_sets_is_not_held_against_other_cards():
    found = results(measured("launch", "1,1,0.25"))
    assert {
        one.verdict for one in compare_all(found, case_of(MACHINE)) if one.result.what == "in a graph"
    } == {"unknown"}


def test_copies_go_both_ways_from_both_kinds_of_memory():
    found = results(measured("transfer", "1"))
    assert [one.what for one in found] == [
        *("h2d pinned", "d2h pinned", "h2d pageable", "d2h pageable", "both ways pinned")
    ]
    assert all(one.on == "gpu 4" and one.unit == "bytes_per_s" for one in found)


def test_every_pair_of_cards_is_copied_between():
    found = results(measured("peer", "1,1,1", spare_s=3.0))
    one_way = [one.on for one in found if one.what == "one way"]
    assert one_way == [f"gpu {a} -> gpu {b}" for a in (4, 5, 6) for b in (4, 5, 6) if a != b]
    assert [one.on for one in found if one.what == "both ways"] == [
        *("gpu 4 <-> gpu 5", "gpu 4 <-> gpu 6", "gpu 5 <-> gpu 6")
    ]
    assert {dict(one.settings)["direct"] for one in found} == {"yes"}


def test_starting_a_kernel_is_timed_in_three_ways():
    found = results(measured("launch", "1"))
    assert [one.what for one in found] == ["hand over", "hand over and wait", "in a graph"]
    assert all(one.unit == "s" for one in found)


@pytest.mark.parametrize(("part", "cards", "why"), [
    ("gemm", "", "`rigright doctor`"),
    ("peer", "1", "one GPU"),
    ("collectives", "1", "one GPU: "),
])  # fmt: skip
def test_too_few_cards_are_told(part, cards, why):
    (found,) = measured(part, cards)
    assert why in str(found.why)


def test_a_card_that_dies_on_the_way_keeps_what_was_measured_before():
    found = measured("device_memory", "1", fails="add")
    assert [one.what for one in results(found)] == ["copy"]
    assert "unspecified launch failure" in str(found[-1].why)


def test_cards_that_tire_under_load_are_found():
    found = results(measured("sustained", "1,1@0.5", spare_s=0.1, quick=False))
    kept = {one.on: one.value for one in found if one.what == "kept of the start"}
    assert kept["gpu 4"] > 0.85
    assert kept["gpu 5"] < 0.75
    held = {
        one.result.on: one.verdict
        for one in compare_all(found, case_of(MACHINE))
        if one.result.unit == "ratio"
    }
    assert held["gpu 5"] == "slow"


def test_a_card_that_computes_wrong_values_under_load_is_found():
    found = results(measured("sustained", "1,1", spare_s=0.1, quick=False, FAKE_TORCH_WRONG="1"))
    held = {
        one.result.on: one.verdict
        for one in compare_all(found, case_of(MACHINE))
        if "warm" in one.result.what
    }
    assert (held["gpu 4"] != "wrong", held["gpu 5"]) == (True, "wrong")


def test_memory_that_forgets_is_found():
    found = results(measured("memory_values", "1,1", quick=False, FAKE_TORCH_WRONG="1"))
    assert [(one.on, one.value > 0.8, wrong_values(one) > 0) for one in found] == [
        *(("gpu 4", True, False), ("gpu 5", True, True))
    ]


def test_a_quick_run_warms_no_card():
    (found,) = measured("sustained", "1")
    assert (type(found), found.part) == (Skipped, "sustained")

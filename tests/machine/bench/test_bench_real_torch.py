"""The parts on a real PyTorch, through the real command, held against each other.

Any Python with PyTorch will do: the one that runs the tests, or the one RIGRIGHT_TEST_TORCH names, or one on
the path. Debian's is too old for the parts (1.13), and its 650 MB are too much to install for a test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from rigright.machine.bench.environment import asked, torch_python
from rigright.machine.record import Machine

PARTS = ("transformer", "train_step", "checkpoint", "data_loader", "collectives", "gemm", "launch")
BUDGET = "40s"


@pytest.fixture(scope="module")
def python():
    named = os.environ.get("RIGRIGHT_TEST_TORCH")
    found = named or torch_python(None, Machine(), env=os.environ)
    if found is None:
        pytest.skip("no Python with PyTorch 2.1 or later is here")
    return found


@pytest.fixture(scope="module")
def told(python, tmp_path_factory):
    """One run of all parts that PyTorch can do without a card."""
    folder = tmp_path_factory.mktemp("real")
    env = {**os.environ, "RIGRIGHT_HOME": str(folder / "home"), "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "rigright", "bench", *PARTS, "--python", python, "--time", BUDGET]
    words = ("--json", "--lang", "en", "--disk", str(folder))
    done = subprocess.run(
        [*command, *words], capture_output=True, text=True, env=env, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [one.name for one in folder.iterdir()] == ["home"]  # no file of the benchmark stays
    return json.loads(done.stdout)


def values(told, part):
    return {one["what"]: one["value"] for one in told["results"] if one["part"] == part}


def why(told, part):
    return " ".join(one["why"] for one in told["skipped"] if one["part"] == part)


def needed(told, part, *whats):
    """The figures of a part; where a slow machine ran out of time for them, nothing can be held against."""
    found = values(told, part)
    if not all(what in found for what in whats):
        assert "time ran out" in why(told, part) or "terminated" in why(told, part), why(told, part)
        pytest.skip(f"no time for {part} on this machine")
    return found


def test_no_part_fails_of_itself(told):
    """What is not measured is for want of cards or of time; never because PyTorch refused."""
    for one in told["skipped"]:
        assert not one["why"].startswith(("it failed", "its process died")), one
        assert "Error" not in one["why"], one


def test_every_figure_says_which_pytorch_measured_it(told, python):
    _, version = asked(python)
    assert {one["settings"]["torch"] for one in told["results"]} == {version}


def test_cards_are_missed_by_name(told):
    for part in ("gemm", "launch"):
        assert "PyTorch finds no usable GPU" in why(told, part)


def test_every_figure_lies_between_its_least_and_its_most(told):
    assert told["results"]
    for one in told["results"]:
        assert 0 < one["low"] <= one["value"] <= one["high"], one
        assert one["repeats"] >= 1


def test_a_forward_pass_takes_as_long_as_its_work_at_a_rate_that_processors_have(told):
    """44 million parameters, 512 tokens on each side: about 55 GFLOP of products and attention."""
    forward_s = needed(told, "transformer", "forward")["forward"]
    assert 1e9 < 55e9 / forward_s < 1e13


def test_a_training_step_costs_more_than_the_forward_pass_of_its_pictures(told):
    found = needed(told, "train_step", "resnet50 fp32")
    flops = 3 * 2 * 4.09e9  # a picture forward, and twice that backward
    assert 1e9 < found["resnet50 fp32"] * flops < 1e13
    if "transformer fp32" in found:
        parameters = 2 * 12.6e6 + 32000 * 1024
        assert 1e8 < found["transformer fp32"] * 64 * 6 * parameters < 1e13


def test_the_best_setting_of_a_loader_is_the_best_that_was_tried_but_for_a_hair(told):
    found = dict(needed(told, "data_loader", "0 workers", "best"))
    best = found.pop("best")
    assert best in found.values()
    assert best * 1.03 >= max(found.values())


def test_a_checkpoint_loads_in_every_way_at_a_rate_that_disks_and_memory_have(told):
    found = needed(told, "checkpoint", "torch.load")
    assert set(found) <= {"torch.load", "torch.load, mapped", "like safetensors, mapped"}
    assert all(1e6 < value < 1e12 for value in found.values())


def test_two_ranks_exchange_at_a_rate_that_memory_has(told):
    if "one thread" in why(told, "collectives"):
        pytest.skip("only one thread: nothing to communicate with")
    found = needed(told, "collectives", "all_reduce 16 MiB")
    assert all(1e6 < value < 1e12 for value in found.values())
    (settings,) = {
        tuple(sorted(one["settings"].items())) for one in told["results"] if one["part"] == "collectives"
    }
    assert dict(settings)["ranks"] == "2"
    assert dict(settings)["backend"] == "gloo"

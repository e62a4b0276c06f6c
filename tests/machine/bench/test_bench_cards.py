"""Which cards are measured, what they are called, and which Python measures them."""

from __future__ import annotations

import os
import sys

import pytest

from refusals import refused
from rigright.base.errors import AskError, MissingError
from rigright.base.words import say
from rigright.machine.bench import environment as pythons
from rigright.machine.bench.environment import chosen, environment, names
from rigright.machine.bench.record import BenchRequest
from rigright.machine.bench.table import PartRow
from rigright.machine.device import Device
from rigright.machine.record import Machine
from rigright.machine.system import Framework, Python, Software
from spoken import values

FOUR = Machine(
    devices=tuple(Device(index=index, vendor="nvidia", uuid=f"GPU-{index}abc") for index in (2, 0, 1, 3))
)
AMD = Machine(devices=(Device(index=0, vendor="amd"), Device(index=1, vendor="amd")))


@pytest.mark.parametrize(
    ("text", "cards"),
    [(None, None), ("all", None), ("0,2", (0, 2)), (" gpu 1 ", (1,)), ("2,2,0", (2, 0)), ("GPU3", (3,))],
)
def test_cards_are_named_loosely(text, cards):
    assert chosen(text, FOUR) == cards


@pytest.mark.parametrize("text", ["x", "0,,1", "-1", "1.5", "0;1"])
def test_what_is_no_list_of_cards_is_told(text):
    with refused(AskError, f'"{text}"'):
        chosen(text, FOUR)


def test_a_card_that_is_not_there_is_told_with_those_that_are():
    with refused(AskError, 4, "0, 1, 2, 3"):
        chosen("4", FOUR)
    assert chosen("4", Machine()) == (4,)  # nobody counted them


def test_the_child_counts_as_the_drivers_tool_does():
    env = environment({"OPENBLAS_NUM_THREADS": "1"}, None, machine=FOUR, cpus=16)
    assert env["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert env["OPENBLAS_NUM_THREADS"] == "16"  # the command line sets 1 for itself
    assert "CUDA_VISIBLE_DEVICES" not in env
    assert names(env, FOUR) == ("gpu 0", "gpu 1", "gpu 2", "gpu 3")


def test_only_the_wished_cards_are_seen_and_keep_their_numbers():
    env = environment({}, (3, 1), machine=FOUR, cpus=1)
    assert env["CUDA_VISIBLE_DEVICES"] == "3,1"
    assert names(env, FOUR) == ("gpu 3", "gpu 1")
    assert environment({}, (1,), machine=AMD, cpus=1)["HIP_VISIBLE_DEVICES"] == "1"


def test_a_schedulers_choice_of_cards_stands():
    env = environment({"CUDA_VISIBLE_DEVICES": "2,3"}, None, machine=FOUR, cpus=1)
    assert names(env, FOUR) == ("gpu 2", "gpu 3")
    env = environment({"CUDA_VISIBLE_DEVICES": "GPU-1abc,MIG-77"}, None, machine=FOUR, cpus=1)
    assert names(env, FOUR) == ("gpu 1", "gpu MIG-77")


def part(*needs):
    return PartRow("x", say("done"), "cards", needs, 1.0, "x")


def test_what_is_missing_is_told(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    ask = BenchRequest(part="x")
    for needs, path, named in (
        (("torch",), None, "--python"),
        (("torch", "folder"), "/python", "--disk"),
        (("endpoint",), None, "--endpoint"),
        (("nccl-tests",), None, "nccl-tests"),
        (("nvbandwidth",), None, "nvbandwidth"),
    ):
        assert named in str(part(*needs).missing(ask, torch_python=path))


def test_nothing_is_missing_where_all_is_there():
    full = BenchRequest(part="x", folder="/data", endpoint="http://127.0.0.1/v1")
    assert part("torch", "accelerator", "folder", "endpoint").missing(full, torch_python="/python") is None


def test_cards_are_counted_where_they_can_be():
    assert part("torch").too_few_cards(0) is None
    assert "`rigright doctor`" in str(part("accelerator").too_few_cards(0))
    assert part("accelerator").too_few_cards(1) is None
    assert part("two accelerators").too_few_cards(1) not in (None, part("accelerator").too_few_cards(0))
    assert part("two accelerators").too_few_cards(2) is None


def python(folder, name, says):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{says}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


posix = pytest.mark.skipif(os.name == "nt", reason="the played Pythons are shell scripts")


@posix
def test_a_named_python_must_do(tmp_path):
    env = {}
    good = python(tmp_path, "good", "echo '[[3, 12], \"2.9.1+cu130\"]'")
    assert pythons.torch_python(good, Machine(), env=env) == good
    for says, error, version in (
        ("echo '[[3, 12], null]'", MissingError, None),
        ("echo '[[3, 11], \"1.13.0a0\"]'", AskError, "1.13.0a0"),
        ("echo '[[3, 8], \"2.4.0\"]'", AskError, "3.8"),
        ("echo 'hello'", AskError, None),
        ("exit 3", AskError, None),
    ):
        other = python(tmp_path, "other", says)
        with refused(error, other) as caught:
            pythons.torch_python(other, Machine(), env=env)
        assert values(caught.value.sentence).get("version") == version


@posix
def test_another_python_is_found_where_rigrights_own_has_no_pytorch(tmp_path, monkeypatch):
    monkeypatch.setattr(pythons.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert pythons.torch_python(None, Machine(), env={}) is None
    python(tmp_path, "python3", "echo '[[3, 9], \"2.4.0\"]'")  # too old
    assert pythons.torch_python(None, Machine(), env={}) is None
    (tmp_path / "bin").mkdir()
    inside = python(tmp_path / "bin", "python", "echo '[[3, 13], \"2.10.0\"]'")
    assert pythons.torch_python(None, Machine(), env={"VIRTUAL_ENV": str(tmp_path)}) == inside
    seen = python(tmp_path, "seen", "echo '[[3, 11], \"\"]'")
    machine = Machine(software=Software(pythons=(Python(path=seen, frameworks=(Framework(name="torch"),)),)))
    assert pythons.torch_python(None, machine, env={"VIRTUAL_ENV": str(tmp_path)}) == seen


def test_rigrights_own_python_is_taken_where_it_has_pytorch(monkeypatch):
    monkeypatch.setattr(pythons.importlib.util, "find_spec", lambda _: object())
    assert pythons.torch_python(None, Machine(), env={}) == sys.executable


def test_this_python_answers():
    version, _ = pythons.asked(sys.executable)
    assert version == sys.version_info[:2]

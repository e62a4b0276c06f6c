"""The loop: what `setup` prints is carried out on a grown machine, and `doctor` finds it fine.

Then one thing is changed, doctor finds that one thing, and `setup`, asked again, mends it.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from fake_trees import grow, over
from rigright.base.words import ENGLISH
from rigright.doctor.examine import case_of, examine
from rigright.facts.find import find_chip
from rigright.facts.software import torch_builds, version_of
from rigright.machine.device import Device
from rigright.machine.parts import software, system
from rigright.machine.probe import joined
from rigright.machine.stored import plain
from rigright.machine.world import World
from rigright.report.pages import setup as pages
from rigright.report.setup_files import script
from rigright.verbs.setup.verb import SetupWish, setup

CHECKS = ("torch", "driver", "cuda_toolkit", "pip_index", "packages", "fabric_service")
SETS = [
    (card, name)
    for name in ("torch", "tensorflow", "transformers", "deepspeed", "vllm")
    for card in ("m40", "p100", "titan v", "t4", "a100 pcie 80gb", "4090", "8x h100", "b200", "5090")
    if name == "torch" or card in {"titan v", "8x h100", "5090"}
]
LAST_OF = {"580": "580.95.05"}  # the driver that a branch's package brings


def carried_out(card, name, system_name="ubuntu 24.04"):
    """The machine after somebody did what `setup` said: a host for fake_trees, by the lines alone."""
    result = setup(SetupWish(on=card, system=system_name, framework=name))
    host = {
        "system": {"os": tuple(system_name.split()), "modules": {"nvidia": "nvidia_uvm,", "nvidia_uvm": ""}},
        "driver": {"files": [*(f"nvidia{one}" for one in range(8)), "nvidiactl", "nvidia-uvm"], "dkms": {}},
        "packages": {},
        "pythons": {},
    }
    for line in (line for step in result.steps for line in step.commands):
        _do(host, line, result)
    return result, host


def _do(host, line, result):
    """One line's effect."""
    words = line.replace("'", "").split()
    if "install" in words and {"apt-get", "dnf"} & set(words):
        for package in words[words.index("-y") + 1 :]:
            _package(host, package)
    elif "-m venv" in line or "uv venv" in line:
        place, version = words[-1], result.python if "--python" in words else None
        host["pythons"][_at(place)] = {"version": version or result.python, "packages": {}}
    elif "/bin/pip install" in line:
        place = words[0].removesuffix("/bin/pip")
        _wheels(host["pythons"][_at(place)], words[2:], result)


def _at(place):
    """Where the grown machine keeps an environment: in one of the places that are always read."""
    return "/opt/uv" if place.endswith("/uv") else "/opt/venv"


def _package(host, package):
    branch = re.search(r"nvidia-driver-(\d+)", package)
    kit = re.fullmatch(r"cuda-toolkit-(\d+)-(\d+)", package)
    if branch:
        driver = LAST_OF[branch[1]]
        host["driver"] |= {"loaded": driver, "open": package.endswith("-open")}
        host["packages"][package] = f"{driver}-0ubuntu1"
    elif kit:
        host["driver"]["toolkits"] = {f"{kit[1]}.{kit[2]}.0": True}
    elif package.startswith("nvidia-fabricmanager"):
        host["packages"][package] = f"{LAST_OF['580']}-0ubuntu1"


def _wheels(python, words, result):
    """What pip leaves behind; torch comes as its index builds it, or as the engine pins it."""
    index = words[words.index("--index-url") + 1] if "--index-url" in words else None
    for word in words:
        name, _, version = re.sub(r"\[.*\]", "", word).partition("==")
        if name == "torch":
            python["torch"] = _torch(version.removesuffix(".*"), index.rpartition("/")[2])
        elif version:
            python["packages"][name.replace("-", "_")] = version
    if result.pick.torch and "torch" not in python and result.pick.index is None:
        python["torch"] = _torch(result.pick.torch, result.pick.build)


def _torch(release, build):
    row = next(one for one in torch_builds() if (one.torch, one.build) == (release, build))
    archs = [f"sm_{major}{minor}" for major, minor in row.capabilities]
    if row.ptx:
        archs.append(archs[-1].replace("sm", "compute"))
    return {
        "version": f"{release}.0+{build}",
        "cuda": ".".join(map(str, row.cuda)),
        "archs": " ".join(archs),
    }


def examined(folder, host, card, **changes):
    """What doctor says of it: the machine, {check: severity}."""
    world = World(root=grow(folder, host), env={}, commands=folder / "commands")
    found = joined([system.read(world), software.read(world)])
    count, name = card.partition("x ")[::2] if card[1:3] == "x " else ("1", "", card)[::2]
    chip = find_chip(name)
    devices = tuple(
        Device(
            index=index, vendor="nvidia", name=chip.name, isa=chip.isa, pci_id=(chip.pci_ids or (None,))[0]
        )
        for index in range(int(count))
    )
    driver = host["driver"].get("loaded")
    told = replace(found.software, driver=driver, **changes)
    machine = replace(found, devices=devices, software=told)
    return machine, examine(case_of(machine), CHECKS)


def alarms(examined_):
    return {check: one.severity for check, one in examined_.findings}


@pytest.mark.parametrize(("card", "name"), SETS)
def test_what_setup_prints_doctor_finds_fine(tmp_path, card, name):
    result, host = carried_out(card, name)
    assert result.pick is not None
    _, said = examined(tmp_path, host, card)
    assert alarms(said) == {}, [str(one.title) for _, one in said.findings]
    fine = {one.check for one in said.checks if one.verdicts}
    assert {"driver_chip", "driver_open"} <= fine
    if result.pick.torch:
        assert {"torch_chip", "torch_cpu_only", "torch_driver", "torch_python"} <= fine


def swapped(**torch):
    """Another torch in the environment."""
    return lambda host: host["pythons"]["/opt/venv"].update(
        torch=host["pythons"]["/opt/venv"]["torch"] | torch
    )


def driven(**driver):
    """Another driver."""
    return lambda host: host["driver"].update(driver)


def added(**packages):
    """Other packages in the environment."""
    return lambda host: host["pythons"]["/opt/venv"]["packages"].update(
        {name.replace("__", "-"): version for name, version in packages.items()}
    )


def index_of(url):
    """Another index in pip's settings."""
    return lambda host: host.setdefault("files", {}).update(
        {"/etc/pip.conf": f"[global]\nextra-index-url = {url}\n"}
    )


def python_of(version):
    """Another Python under the same wheels."""
    return lambda host: host["pythons"]["/opt/venv"].update(version=version)


BROKEN = {  # one thing that is changed after setup -> what doctor finds
    "a wheel for the processor": (
        "4090",
        swapped(version="2.15.0+cpu", cuda=None, archs=None),
        {"torch_cpu_only": "warning"},
    ),
    "a wheel without these chips": ("titan v", swapped(**_torch("2.13", "cu130")), {"torch_chip": "fault"}),
    "a wheel from before these chips": ("5090", swapped(**_torch("2.6", "cu126")), {"torch_chip": "fault"}),
    "a driver of the CUDA before": (
        "4090",
        driven(loaded="535.183.01"),
        {"torch_driver": "fault", "driver_ended": "note"},
    ),
    "a driver that is too old for the chip": (
        "5090",
        driven(loaded="550.54.15"),
        {"torch_driver": "fault", "driver_chip": "fault", "driver_ended": "note"},
    ),
    "a driver that forgot the chip": ("titan v", driven(loaded="595.58.03"), {"driver_chip": "fault"}),
    "the closed module": ("5090", driven(open=False), {"driver_open": "fault"}),
    "the open module": ("titan v", driven(open=True), {"driver_open": "fault"}),
    "a library of another driver": (
        "4090",
        driven(libraries=("575.57.08",)),
        {"driver_mismatch": "fault"},
    ),
    "an index that never was": (
        "4090",
        index_of("https://download.pytorch.org/whl/cu122"),
        {"pip_index": "warning"},
    ),
    "a stub": ("4090", added(tensorflow__gpu="2.12.0"), {"packages_outdated": "warning"}),
    "a deprecated shell": ("4090", added(pynvml="12.0.0"), {"packages_outdated": "note"}),
    "a Python without wheels": ("4090", python_of("3.8"), {"torch_python": "warning"}),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_one_thing_that_is_changed_is_found_and_nothing_else_and_setup_asked_again_mends_it(tmp_path, what):
    """A driver that is at fault is replaced, one that is not stays; the rest is as on a new machine."""
    card, change, expected = BROKEN[what]
    first, host = carried_out(card, "torch")
    change(host)
    machine, said = examined(tmp_path, host, card)
    found = alarms(said)
    assert {check: found.get(check) for check in expected} == expected
    assert set(found) <= set(expected) | {"driver_mismatch", "driver_packages", "driver_dkms"}, found
    again = asked_again(tmp_path, machine, framework="torch")
    assert (again.already is None) == bool({"fault", "warning"} & set(expected.values()))
    assert bool(again.steps) == (again.already is None)
    if what not in MENDED:
        return
    lines = [line for step in again.steps for line in step.commands]
    assert any("nvidia-driver-580" in line for line in lines) is MENDED[what], lines
    assert (again.pick.version, again.pick.build) == (first.pick.version, first.pick.build)
    assert again.open_kernel == first.open_kernel
    for line in lines:
        _do(host, line, again)
    whole = over(host, {"driver": {"libraries": (host["driver"]["loaded"],)}})
    mended = tmp_path / "mended"
    mended.mkdir()
    _, said = examined(mended, whole, card)
    assert alarms(said) == {}


MENDED = {  # by asking setup again, with the machine as it is -> whether the driver is what was at fault
    "a driver of the CUDA before": True,
    "a driver that is too old for the chip": True,
    "a driver that forgot the chip": True,
    "the closed module": True,
    "the open module": True,
    "a wheel for the processor": False,
    "a wheel without these chips": False,
}


@pytest.mark.parametrize(("driver", "least"), [("535.183.01", "12"), ("470.256.02", "11")])
def test_the_set_that_keeps_the_driver_keeps_doctor_quiet_too(tmp_path, driver, least):
    """`without_new_driver`: the newest torch that the driver of now runs is told, and doctor agrees."""
    _, host = carried_out("t4", "torch")
    host["driver"]["loaded"] = driver
    machine, _ = examined(tmp_path, host, "t4")
    file = tmp_path / "box.json"
    file.write_text(json.dumps(plain(machine)), encoding="utf-8")
    kept = setup(SetupWish(from_file=str(file), framework="torch")).without_new_driver
    assert kept.cuda.split(".")[0] == least
    host["pythons"]["/opt/venv"] |= {
        "torch": _torch(kept.torch, kept.build),
        "version": kept.pythons.split("-")[-1],
    }
    after = tmp_path / "kept"
    after.mkdir()
    _, said = examined(after, host, "t4")
    assert set(alarms(said)) <= {"driver_ended"}
    assert version_of(kept.least_driver) <= version_of(driver)


# a machine that is right already


def asked_again(folder, machine, **wish):
    """`setup` on a machine that was saved."""
    file = folder / "box.json"
    file.write_text(json.dumps(plain(machine)), encoding="utf-8")
    return setup(SetupWish(from_file=str(file), **wish))


@pytest.mark.parametrize(("card", "name"), [("4090", "torch"), ("titan v", "torch"), ("h100", "vllm")])
def test_a_machine_that_is_right_gets_no_steps(tmp_path, card, name):
    first, host = carried_out(card, name)
    machine, _ = examined(tmp_path, host, card)
    again = asked_again(tmp_path, machine, framework=name)
    assert again.steps == again.docker_steps == again.unknown == again.notes == ()
    assert (again.already.name, again.already.python) == (name, "/opt/venv/bin/python")
    assert f"{again.already.version}.".startswith(f"{first.pick.version}.")
    assert pages.page(again).tone == "good"
    lines = [line for line in script(again, ENGLISH).splitlines() if line and not line.startswith("#")]
    assert lines == ["set -eu"], "a script that does nothing"


def test_an_older_set_that_runs_is_right_too_and_the_newer_one_is_named(tmp_path):
    _, host = carried_out("4090", "torch")
    swapped(**_torch("2.9", "cu128"))(host)
    machine, _ = examined(tmp_path, host, "4090")
    again = asked_again(tmp_path, machine)
    assert again.already.build == "cu128"
    assert again.steps == ()
    assert "torch 2.15" in str(again.notes[0])
    newer = asked_again(tmp_path, machine, framework="torch 2.15")
    assert newer.already is None
    assert any("torch==2.15.*" in line for step in newer.steps for line in step.commands)
    assert asked_again(tmp_path, machine, framework="torch 2.9").already is not None


def test_what_is_not_there_or_has_no_driver_is_not_right(tmp_path):
    _, host = carried_out("4090", "torch")
    machine, _ = examined(tmp_path, host, "4090")
    assert asked_again(tmp_path, machine, framework="vllm").already is None
    assert asked_again(tmp_path, machine, framework="deepspeed").already is None
    ended, _ = examined(tmp_path / "ended", over(host, {"driver": {"loaded": "570.124.06"}}), "4090")
    assert asked_again(tmp_path, ended).already is None, "a branch that gets no more fixes"
    bare, _ = examined(tmp_path / "bare", over(host, {"driver": {"loaded": None}}), "4090")
    assert asked_again(tmp_path, bare).already is None
    assert setup(SetupWish(on="4090", system="ubuntu 24.04")).already is None, "a machine that is named only"


def test_another_environment_that_is_broken_does_not_matter(tmp_path):
    _, host = carried_out("4090", "torch")
    host["pythons"]["/opt/conda"] = {
        "version": "3.12", "packages": {}, "torch": {"version": "2.15.0+cpu", "cuda": None, "archs": None},
    }  # fmt: skip
    machine, said = examined(tmp_path, host, "4090")
    assert "torch_cpu_only" in alarms(said)
    assert asked_again(tmp_path, machine).already.python == "/opt/venv/bin/python"

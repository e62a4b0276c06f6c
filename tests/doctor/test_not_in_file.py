"""What a capture does not hold is said to be not in it, with commands of its system and vendor."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from boxes import eight
from test_one_fault import PLANTED

from rigright.doctor.examine import case_of, examine
from rigright.doctor.record import NotSeen
from rigright.machine.opened import read_machine
from rigright.machine.system import System
from rigright.report.formats.text import render
from rigright.report.pages.doctor import page
from rigright.report.screen import Screen

PICTURE = """
| NVIDIA-SMI 581.29                 Driver Version: 581.29         CUDA Version: 13.0     |
|   0  NVIDIA GeForce RTX 4090      {mode}  |   00000000:01:00.0  On |                  Off |
|  0%   41C    P8             18W /  450W |    1422MiB /  24564MiB |      2%      Default |
"""
AMD = """GPU: 0
    ASIC:
        MARKET_NAME: MI300X
    BUS:
        BDF: 0000:05:00.0
    PCIE:
        WIDTH: 16
        SPEED: 32 GT/s
"""
NOT_THERE = {  # what nobody can type there
    "windows": r"systemctl|dmesg|journalctl|lsmod|/proc|mokutil|chronyc|grep|sudo",
    "amd": r"nvidia",
    "container": r"chronyc|timedatectl",
}


def unseen(text):
    machine = read_machine(text.encode(), name="x")
    found = [one for each in examine(case_of(machine)).checks for one in each.verdicts]
    return [one for one in found if isinstance(one, NotSeen)]


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("windows", PICTURE.format(mode="WDDM")),
        ("amd", AMD),
        ("container", "$ cat /run/systemd/container\ndocker\n$ nvidia-smi\n" + PICTURE.format(mode=" Off")),
    ],
)
def test_commands_are_those_of_the_machine(where, text):
    found = unseen(text)
    assert len(found) > 3
    assert [one.see for one in found if one.see and re.search(NOT_THERE[where], one.see)] == []
    assert len({one.why.text for one in found if not one.idle}) == 1, (
        "that it is not in this file, and no more"
    )


def test_on_linux_they_stay():
    commands = " ".join(one.see or "" for one in unseen(PICTURE.format(mode=" Off")))
    assert "dmesg" in commands
    assert "timedatectl" in commands


@pytest.mark.parametrize("text", [PICTURE.format(mode="WDDM"), PICTURE.format(mode=" Off"), AMD])
def test_a_sound_capture_is_told_in_twelve_lines(text):
    result = examine(case_of(read_machine(text.encode(), name="smi.txt")))
    assert result.exit_code == 0
    shown = render(page(result), Screen())
    assert shown.count("\n") <= 12, shown
    assert not shown.startswith(("✗", "!"))


@pytest.mark.parametrize("planted", PLANTED, ids=lambda one: f"{one[0]} {one[1]}")
def test_findings_on_windows_name_commands_of_windows(planted):
    machine = replace(eight({3: planted[2]}), system=System(os_id="windows", os_name="Windows 11"))
    result = examine(case_of(machine))
    shown = render(page(result, everything=True), Screen(width=200))
    typed = [line.partition("$ ")[2] for line in shown.splitlines() if line.strip().startswith("$ ")]
    typed += [line.split("$ ", 1)[1] for line in shown.splitlines() if " $ " in line]
    wrong = [line for line in typed if re.search(NOT_THERE["windows"] + r"|^apt|modprobe|^echo|^sh ", line)]
    assert wrong == []

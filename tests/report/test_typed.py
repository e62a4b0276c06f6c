"""What a person is told to type does what it says, whoever types it: run with a sudo that takes notes."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace

import pytest

from rigright.machine.record import Machine
from rigright.machine.system import System
from rigright.report.typed import of_host, typed

PAIRS = [
    ("nvidia-smi -pm 1", "sudo nvidia-smi -pm 1"),
    ("rmmod nvidia && modprobe nvidia", "sudo rmmod nvidia && sudo modprobe nvidia"),
    ("apt install chrony || dnf install chrony", "sudo apt install chrony || sudo dnf install chrony"),
    ("dmesg | grep -iE 'iommu|dmar'", "sudo dmesg | grep -iE 'iommu|dmar'"),
    ("tail -50 /var/log/x.log", "sudo tail -50 /var/log/x.log"),
    ("sh -c 'mkswap /s && swapon /s'", "sudo sh -c 'mkswap /s && swapon /s'"),
    ("curl -fsSL u | gpg --dearmor -o /k", "curl -fsSL u | sudo gpg --dearmor -o /k"),
    ("echo 'a = 1' > /etc/a && sysctl --system", "echo 'a = 1' | sudo tee /etc/a && sudo sysctl --system"),
    ("curl u | sed 's#a#b > c#' > /etc/l", "curl u | sed 's#a#b > c#' | sudo tee /etc/l"),
    ("bugs.sh > /tmp/x 2>&1; ls", "sudo bugs.sh > /tmp/x 2>&1; sudo ls"),
    ("umount it's", "sudo umount it's"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "told"), PAIRS)
def test_root_s_programs_stand_behind_sudo_and_the_others_do_not(command, told):
    assert typed(command, needs_root=True) == told
    assert typed(command) == command
    assert "sudo" not in typed(told, by_root=True)
    assert typed(command, needs_root=True, by_root=True) == command


@pytest.fixture
def shell(tmp_path):
    """A shell whose sudo says what it was asked, then does it."""
    if shutil.which("bash") is None:
        pytest.skip("no bash here")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "sudo").write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/asked\nexec "$@"\n')
    (folder / "sudo").chmod(0o755)

    def run(command):
        done = subprocess.run(
            ["bash", "-c", command],
            check=True,
            capture_output=True,
            text=True,
            env={"PATH": f"{folder}:{os.environ['PATH']}"},
            cwd=tmp_path,
        )
        return done.stdout, (tmp_path / "asked").read_text().splitlines()

    return run


def test_a_file_is_written_by_root_and_not_by_the_reader_s_shell(shell, tmp_path):
    """`sudo echo x > file` would be refused: the file is opened before sudo runs."""
    file = tmp_path / "90-swap.conf"
    _, asked = shell(typed(f"echo 'vm.swappiness = 10' > {file} && true", needs_root=True))
    assert file.read_text() == "vm.swappiness = 10\n"
    assert asked == [f"tee {file}", "true"]


def test_a_folder_with_a_space_and_two_lines_arrive_whole(shell, tmp_path):
    file = tmp_path / "my files.conf"
    shell(typed(f"printf 'blacklist nouveau\\noptions x\\n' > '{file}'", needs_root=True))
    assert file.read_text() == "blacklist nouveau\noptions x\n"


LIVE = Machine(origin="live", system=System(as_root=True))


@pytest.mark.parametrize(
    ("machine", "root"),
    [
        (LIVE, True),
        (replace(LIVE, system=System(as_root=False)), False),
        (replace(LIVE, system=System()), False),
        (replace(LIVE, origin="box.json"), False),
    ],
)
def test_only_who_is_root_on_the_very_machine_needs_no_sudo(machine, root):
    assert machine.typed_by_root is root


def test_what_a_container_hides_is_typed_on_its_host():
    pod = replace(LIVE, system=System(as_root=True, container="docker"))
    assert of_host("sudo dmidecode -t memory", pod)
    assert of_host("systemctl list-units", pod)
    assert not of_host("nvidia-smi -q", pod)
    assert not of_host("sudo dmidecode -t memory", LIVE)

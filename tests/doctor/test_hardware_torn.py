"""Trees that are torn: any file empty, cut, of other bytes, or gone. Readers read on, checks never fail."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from boxes import NOW_S, UP_S, broken, rtx4090
from hosts import PARTS, examined, hardware_of, machine_of
from hypothesis import given
from hypothesis import strategies as st

from fake_trees import planted, remembered
from rigright.machine.probe import joined
from rigright.machine.record import Machine
from rigright.machine.stored import plain, restored
from rigright.machine.system import System
from rigright.machine.world import World

NUMBERS = st.sampled_from(
    [b"-1", b"0", b"255", b"4294967295", b"99999999999999999999999", b"0x", b"Unknown", b"nan"]
)
TEARS = st.one_of(st.none(), st.just(b""), NUMBERS, st.binary(max_size=80))


@cache
def grown():
    """A desktop's tree, and every file of it."""
    world = remembered({"like": "desktop"})
    return world, [path for path in sorted(world.tree.files) if "/cpu/cpu" not in path or "/cpu0/" in path]


def read_all(world):
    told = joined([part.read(world) for part in PARTS])
    system = System(virtual="none", container="none", now_s=NOW_S, up_s=UP_S)
    devices = (rtx4090(0), rtx4090(1))
    return Machine(**{name: getattr(told, name) for name in FIELDS}, devices=devices, system=system)


FIELDS = ("pci", "slots", "cpu", "memory", "disks", "mounts", "ports", "sensors", "unseen")


def failed(machine):
    """Checks that broke rather than said something."""
    return broken(examined(machine).checks)


@given(st.data())
def test_any_file_may_hold_anything(data):
    world, every = grown()
    struck = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=12, unique=True))
    files = dict(world.tree.files)
    for path in struck:
        tear = data.draw(TEARS)
        if tear is None:
            files.pop(path)
        else:
            files[path] = tear
    assert failed(read_all(replace(world, tree=replace(world.tree, files=files)))) == []


@pytest.mark.parametrize(
    "gone", ["/sys/bus", "/sys/class", "/sys/block", "/sys/devices", "/sys/firmware", "/proc", "/sys", "/"]
)
def test_any_folder_may_be_away(gone):
    """As in containers that mask parts of /sys and /proc."""
    world = remembered({"like": "desktop", "gone": [gone]})
    assert world.names(gone) == ()
    assert failed(read_all(world)) == []


def test_links_to_nowhere_and_in_a_ring(tmp_path):
    world = planted(tmp_path, {"like": "desktop"})
    for name in ("sys/bus/pci/devices/0000:01:00.0", "sys/block/sda", "sys/class/net/enp99s0"):
        (world.root / name).unlink()
        (world.root / name).symlink_to(name.rpartition("/")[2])
    (world.root / "sys/bus/pci/devices/0000:02:00.0").unlink()
    (world.root / "sys/bus/pci/devices/0000:02:00.0").symlink_to("../nowhere")
    assert failed(read_all(world)) == []


def test_an_empty_world_tells_nothing_and_says_so():
    machine = read_all(World(root=Path("/nonexistent-root-of-nobody")))
    assert (machine.pci, machine.disks, machine.mounts, machine.ports, machine.sensors) == (None,) * 5
    assert {"pci", "slots", "disks", "ports"} <= {one.what for one in machine.unseen}
    assert failed(machine) == []


@pytest.mark.parametrize("name", ["server", "desktop"])
def test_what_was_read_can_be_kept_and_read_again(name):
    machine = hardware_of({"like": name})
    again = restored(Machine, plain(machine), where="kept")
    assert again == machine


def test_a_machine_of_another_year_keeps_its_verdicts():
    """The verdicts of a stored machine are those of the living one."""
    machine = machine_of({"like": "server", "memory": {"edac": {"mc0": [0, 2]}}})
    again = restored(Machine, plain(machine), where="kept")
    said = [(check, one.severity) for check, one in examined(again).findings]
    assert (
        said
        == [(check, one.severity) for check, one in examined(machine).findings]
        == [("memory_errors", "fault")]
    )

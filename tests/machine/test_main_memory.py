"""Main memory: modules, limits, swap, shared memory, errors; this machine held against psutil."""

from __future__ import annotations

import math
import sys

import pytest

from fake_trees import remembered
from rigright.base.units import GIB, KIB, MIB
from rigright.machine.parts.main_memory import read
from rigright.machine.world import World, here

SHM = "/dev/shm"  # noqa: S108 - a mount of the fake machine


def memory_of(host):
    return dict(read(remembered(host)).fields)["memory"]


def test_a_server():
    memory = memory_of({"like": "server"})
    filled = [one for one in memory.modules if one.size_bytes]
    assert (len(memory.modules), len(filled)) == (32, 16)
    assert {one.channel for one in filled} == {f"P{cpu}/{channel}" for cpu in (0, 1) for channel in range(8)}
    assert {(one.kind, one.rated_mt_s, one.set_mt_s, one.ecc) for one in filled} == {
        ("DDR5", 4800, 4800, True)
    }
    assert memory.total_bytes == 2112000000 * KIB
    assert (memory.swap_total_bytes, memory.swap_used_bytes) == (8 * GIB, 0)
    assert (memory.corrected_errors, memory.uncorrected_errors) == (0, 0)
    assert (memory.transparent_huge, memory.huge_bytes) == ("madvise", 2 * MIB)
    assert memory.locked_limit_bytes == math.inf
    assert memory.limit_bytes is None


def test_a_desktop_without_ecc_counts_no_errors():
    memory = memory_of({"like": "desktop"})
    assert {one.ecc for one in memory.modules if one.size_bytes} == {False}
    assert (memory.corrected_errors, memory.uncorrected_errors) == (None, None)
    assert memory.locked_limit_bytes == 16 * GIB


@pytest.mark.parametrize(
    ("told", "size"),
    [
        ("rw,size=65536k", 64 * MIB),
        ("rw,size=16g", 16 * GIB),
        ("rw,size=50%", 49000000 * KIB),
        ("rw", 49000000 * KIB),
    ],
)
def test_shared_memory_is_as_large_as_its_mount_says_else_half(told, size):
    host = {"like": "desktop", "mounts": {SHM: {"super": told}}}
    assert memory_of(host).shm_bytes == size


def test_a_container_has_its_own_limit():
    assert memory_of({"like": "desktop", "memory": {"limit_bytes": 8 * GIB}}).limit_bytes == 8 * GIB


def test_without_root_the_error_counters_list_the_modules():
    at = "/sys/devices/system/edac/mc/mc0"
    files = {
        f"{at}/dimm{number}/{name}": text
        for number in range(2)
        for name, text in {
            "size": "32768",
            "dimm_label": f"CPU0_DIMM_{'AB'[number]}1",
            "dimm_location": f"channel {number} slot 0",
            "dimm_mem_type": "Registered-DDR5",
        }.items()
    }
    memory = memory_of({"like": "server", "files": files, "gone": ["/sys/firmware"]})
    assert [(one.slot, one.channel, one.size_bytes, one.kind) for one in memory.modules] == [
        ("CPU0_DIMM_A1", "mc0/0", 32 * GIB, "DDR5"),
        ("CPU0_DIMM_B1", "mc0/1", 32 * GIB, "DDR5"),
    ]
    assert memory.modules[0].rated_mt_s is None


def test_without_any_table_it_is_said_what_would_show_the_modules():
    told = read(remembered({"like": "desktop", "gone": ["/sys/firmware"]}))
    assert dict(told.fields)["memory"].modules is None
    assert [(one.what, one.see) for one in told.unseen] == [("memory.modules", "sudo dmidecode -t memory")]


def test_errors_of_all_controllers_are_added():
    host = {"like": "server", "memory": {"edac": {"mc0": [7, 0], "mc3": [5, 1]}}}
    memory = memory_of(host)
    assert (memory.corrected_errors, memory.uncorrected_errors) == (12, 1)


def test_macos_tells_by_sysctl():
    memory = memory_of({"commands": {"sysctl -n hw.memsize": "103079215104\n"}})
    assert memory.total_bytes == 96 * GIB


def test_a_machine_nobody_tells_of_has_nothing_known(tmp_path):
    memory = dict(read(World(root=tmp_path)).fields)["memory"]
    assert (memory.total_bytes, memory.modules, memory.shm_bytes) == (None, None, None)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_this_machine_as_psutil_and_the_system_count_it():
    psutil = pytest.importorskip("psutil")
    memory = dict(read(here()).fields)["memory"]
    assert memory.total_bytes == psutil.virtual_memory().total
    assert memory.swap_total_bytes == psutil.swap_memory().total
    import resource
    import shutil

    soft = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    assert memory.locked_limit_bytes == (math.inf if soft == resource.RLIM_INFINITY else soft)
    if memory.shm_bytes is not None:
        assert memory.shm_bytes == pytest.approx(shutil.disk_usage(SHM).total, rel=0.01)

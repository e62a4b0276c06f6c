"""Processors: servers, desktops, Arm, containers, this very machine held against psutil."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_trees import remembered
from rigright.base.units import KIB
from rigright.machine.cells import chosen, indexes, real, whole
from rigright.machine.control_groups import cpu_limit, memory_limit_bytes
from rigright.machine.parts.processor import read
from rigright.machine.world import World, here


def cpu_of(world):
    return dict(read(world).fields)["cpu"]


def test_two_sockets_with_two_threads_a_core():
    cpu = cpu_of(remembered({"like": "server"}))
    assert (cpu.name, cpu.vendor, cpu.arch) == ("Intel(R) Xeon(R) Platinum 8462Y+", "intel", "x86_64")
    assert (cpu.sockets, cpu.cores, cpu.threads, cpu.usable) == (2, 64, 128, 128)
    assert (cpu.governors, cpu.driver, cpu.boost) == (("performance",), "intel_pstate", True)
    assert cpu.max_hz == 4_100_000_000
    assert "amx_bf16" in cpu.flags
    assert "sse2" not in cpu.flags
    assert [(node.index, node.cpus) for node in cpu.nodes] == [(0, "0-31,64-95"), (1, "32-63,96-127")]
    assert cpu.nodes[0].mem_bytes == 1056000000 * KIB
    assert cpu.throttled == 0


def test_boost_is_told_in_two_ways():
    intel = {"like": "server", "cpu": {"boost": False}}
    amd = {"like": "desktop", "cpu": {"boost": False, "driver": "acpi-cpufreq"}}
    assert cpu_of(remembered(intel)).boost is False
    assert cpu_of(remembered(amd)).boost is False


def test_arm_tells_its_design_by_two_numbers():
    grace = {
        "cpu": {
            "arm": ["0x41", "0xd4f"],
            "sockets": 1,
            "cores": 72,
            "threads": 1,
            "flags": "fp asimd sve sve2 bf16",
        }
    }
    cpu = cpu_of(remembered(grace))
    assert (cpu.arch, cpu.name) == ("aarch64", "Arm Neoverse V2")
    assert (cpu.sockets, cpu.cores, cpu.threads) == (1, 72, 72)
    assert cpu.flags == ("asimd", "sve", "sve2", "bf16")


def test_large_and_small_cores_are_both_named():
    core = "processor\t: {}\nCPU implementer\t: 0x41\nCPU part\t: {}\nFeatures\t: fp\n"
    text = "\n".join([core.format(0, "0xd87"), core.format(1, "0xd85"), core.format(2, "0xd85")])
    cpu = cpu_of(remembered({"files": {"/proc/cpuinfo": text}}))
    assert cpu.name == "Arm Cortex-A725 + Arm Cortex-X925"
    assert cpu.threads == 3


def test_an_unknown_arm_core_has_no_name():
    text = "processor\t: 0\nCPU implementer\t: 0x99\nCPU part\t: 0x001\n"
    cpu = cpu_of(remembered({"files": {"/proc/cpuinfo": text}}))
    assert (cpu.name, cpu.arch, cpu.threads) == (None, "aarch64", 1)


@pytest.mark.parametrize(
    ("files", "usable"),
    [
        ({"/sys/fs/cgroup/cpu.max": "max 100000"}, 32),
        ({"/sys/fs/cgroup/cpu.max": "350000 100000"}, 3),
        ({"/sys/fs/cgroup/cpu.max": "10000 100000"}, 1),
        ({"/proc/self/cgroup": "0::/a/b", "/sys/fs/cgroup/a/cpu.max": "800000 100000"}, 8),
        (
            {
                "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "400000",
                "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
            },
            4,
        ),
        ({"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, 32),
        ({"/proc/self/status": "Cpus_allowed_list:\t0-5,8"}, 7),
        ({"/proc/self/status": "Cpus_allowed_list:\t0-5,8", "/sys/fs/cgroup/cpu.max": "200000 100000"}, 2),
    ],
)
def test_what_a_container_may_use(files, usable):
    assert cpu_of(remembered({"like": "desktop", "files": files})).usable == usable


def test_the_nearest_limit_on_the_way_up_counts():
    files = {
        "/proc/self/cgroup": "12:memory:/x\n0::/kube/pod/box",
        "/sys/fs/cgroup/kube/pod/box/memory.max": "max",
        "/sys/fs/cgroup/kube/pod/memory.max": "8589934592",
        "/sys/fs/cgroup/kube/memory.max": "17179869184",
        "/sys/fs/cgroup/memory/x/memory.limit_in_bytes": "9223372036854771712",
    }
    world = remembered({"files": files})
    assert memory_limit_bytes(world) == 8589934592
    assert cpu_limit(world) is None


def test_macos_tells_by_sysctl():
    said = (
        "hw.packages: 1\nhw.physicalcpu: 12\nhw.logicalcpu: 12\nhw.optional.arm64: 1\n"
        "machdep.cpu.brand_string: Apple M2 Max\n"
    )
    cpu = cpu_of(remembered({"commands": {"sysctl -e hw machdep.cpu": said}}))
    assert (cpu.name, cpu.vendor, cpu.arch, cpu.cores) == ("Apple M2 Max", "apple", "arm64", 12)


def test_a_machine_nobody_tells_of_has_nothing_known(tmp_path):
    cpu = cpu_of(World(root=tmp_path))
    assert (cpu.name, cpu.cores, cpu.threads, cpu.usable) == (None, None, None, None)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_this_machine_as_psutil_counts_it():
    psutil = pytest.importorskip("psutil")
    cpu = cpu_of(here())
    assert cpu.threads == psutil.cpu_count()
    assert cpu.cores in {None, psutil.cpu_count(logical=False)}


@given(st.binary(max_size=600))
def test_any_cpuinfo_is_taken(tmp_path_factory, raw):
    folder = tmp_path_factory.mktemp("any")
    (folder / "proc").mkdir()
    (folder / "proc" / "cpuinfo").write_bytes(b"processor\t: 0\n" + raw)
    read(World(root=folder))


@given(st.text(max_size=60))
def test_any_text_is_taken_for_a_figure(text):
    assert whole(text) is None or isinstance(whole(text), int)
    assert real(text) is None or isinstance(real(text), float)
    assert all(index >= 0 for index in indexes(text))
    chosen(text)


def test_lists_of_processors():
    assert indexes("0-3,8\n") == (0, 1, 2, 3, 8)
    assert indexes("") == ()
    assert len(indexes("0-999999")) == 65_536

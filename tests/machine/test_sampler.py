"""The sampler: rates of counters, trees of processes, drivers that hang, cards of other vendors."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from moments import card

from rigright.machine.device import Program
from rigright.machine.sampling.driver import DriverReader
from rigright.machine.sampling.drm import DrmReader
from rigright.machine.sampling.flows import Flows
from rigright.machine.sampling.host import HostReader
from rigright.machine.sampling.kept import Kept
from rigright.machine.sampling.log import LogReader
from rigright.machine.sampling.sampler import Sampler
from rigright.machine.sampling.tree import TreeReader
from rigright.machine.tick import HostTick
from rigright.machine.world import World, here

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads this machine's /proc")


def put(root, **files):
    """Write files below a root; "__" stands for a slash."""
    for name, text in files.items():
        at = root / name.replace("__", "/")
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(text)


def stat(*cores):
    """A /proc/stat of cores that worked, idled and waited for so many ticks each."""
    lines = [f"cpu{n} {busy} 0 0 {idle} {wait} 0 0 0 0 0" for n, (busy, idle, wait) in enumerate(cores)]
    whole = [sum(column) for column in zip(*cores, strict=True)]
    return "\n".join([f"cpu  {whole[0]} 0 0 {whole[1]} {whole[2]} 0 0 0 0 0", *lines, "intr 1 2 3", ""])


MEMINFO = "MemTotal: 16000 kB\nMemFree: 1 kB\nMemAvailable: 6000 kB\nSwapTotal: 800 kB\nSwapFree: 300 kB\n"


# --- the host


def test_the_host_is_told_in_shares_and_rates(tmp_path):
    put(
        tmp_path,
        proc__stat=stat((0, 0, 0), (0, 0, 0)),
        proc__meminfo=MEMINFO,
        proc__vmstat="pswpin 10\npswpout 0\n",
    )
    put(tmp_path, proc__pressure__io="some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0 total=0\n")
    reader = HostReader(World(root=tmp_path))
    first = reader.read(100.0)
    assert first == HostTick(
        mem_total_bytes=16000 * 1024, mem_used_bytes=10000 * 1024, swap_used_bytes=500 * 1024
    )
    put(tmp_path, proc__stat=stat((100, 0, 0), (20, 50, 30)), proc__vmstat="pswpin 15\npswpout 5\n")
    put(tmp_path, proc__pressure__io="some avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n")
    now = reader.read(102.0)
    assert now.cpu_share == pytest.approx(0.6)
    assert now.busiest_core_share == 1.0
    assert now.wait_share == pytest.approx(0.15)
    assert now.swap_bytes_per_s == 10 * 4096 / 2
    assert now.io_pressure == pytest.approx(0.25)
    assert now.cpu_pressure is None


def test_counters_that_fall_and_cores_that_leave_make_no_nonsense(tmp_path):
    put(tmp_path, proc__stat=stat((500, 500, 0), (5, 5, 0)), proc__vmstat="pswpin 100\npswpout 0\n")
    reader = HostReader(World(root=tmp_path))
    reader.read(0.0)
    put(tmp_path, proc__stat=stat((400, 600, 0)), proc__vmstat="pswpin 1\npswpout 0\n")
    now = reader.read(1.0)
    assert (now.cpu_share, now.busiest_core_share, now.swap_bytes_per_s) == (None, None, None)
    assert reader.read(1.0).cpu_share is None, "no time has passed"
    put(tmp_path, proc__stat=stat((450, 650, 10)))
    assert reader.read(2.0).cpu_share == pytest.approx(50 / 110)
    put(tmp_path, proc__stat=stat((460, 690, 0)))
    now = reader.read(3.0)
    assert (now.cpu_share, now.wait_share) == (0.0, 0.0), "waiting counts backwards on many kernels"


def test_a_host_without_swap_swaps_nothing(tmp_path):
    put(
        tmp_path,
        proc__stat=stat((0, 0, 0)),
        proc__meminfo="MemTotal: 9 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
    )
    reader = HostReader(World(root=tmp_path))
    reader.read(0.0)
    now = reader.read(1.0)
    assert (now.swap_bytes_per_s, now.swap_used_bytes) == (0.0, 0.0)


@linux
def test_kept_files_read_as_freshly_opened_ones_do():
    world, kept = here(), Kept(here())
    paths = {"/proc/meminfo", "/proc/stat", "/proc/net/dev", "/proc/diskstats", "/proc/kallsyms"}
    for path in paths:
        first, again, fresh = kept.text(path), kept.text(path), world.text(path)
        assert first.splitlines()[0].split()[0] == again.splitlines()[0].split()[0]
        assert abs(len(fresh) - len(again)) <= 0.01 * len(fresh) + 64, path  # figures may have a digit more
    assert kept.text("/proc/no-such-file") is None
    assert kept.text("/proc") is None
    assert set(kept._open) == paths
    kept.close()
    assert kept._open == {}


@pytest.mark.skipif(not hasattr(os, "pread"), reason="files are kept open on POSIX alone")
def test_what_is_gone_is_not_told_and_what_comes_back_is(tmp_path):
    """A card that was reset has the same names in /sys, and other files."""
    kept = Kept(World(root=tmp_path, is_live=True))
    assert kept.text("sys/x") is None
    put(tmp_path, sys__x="1\n")
    assert kept.text("sys/x") == "1"
    put(tmp_path, sys__x="22\n")
    assert kept.text("sys/x") == "22"
    os.close(kept._open["sys/x"])  # as a file whose device is gone: it cannot be read any more
    (tmp_path / "sys/x").unlink()
    assert kept.text("sys/x") is None
    put(tmp_path, sys__x="333")
    assert kept.text("sys/x") == "333"
    kept.close()


@linux
def test_a_sampler_gives_back_what_it_opened():
    def n_files():
        return len(list(Path("/proc/self/fd").iterdir()))

    before = n_files()
    with Sampler(here(), session=lambda: Played([()])) as sampler:
        for _ in range(5):
            sampler.tick()
        most = n_files()
        sampler.tick()
        assert n_files() == most
    assert n_files() == before


@given(
    st.dictionaries(
        st.sampled_from(["stat", "meminfo", "vmstat", "diskstats", "net/dev", "pressure/io"]),
        st.binary(max_size=300),
    )
)
def test_whatever_the_kernel_says_is_read_or_left(tmp_path_factory, said):
    root = tmp_path_factory.mktemp("odd")
    for name, raw in {"stat": b"cpu", **said}.items():
        at = root / "proc" / name
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(raw)
    reader = HostReader(World(root=root))
    for clock_s in (0.0, 1.0):
        assert isinstance(reader.read(clock_s), HostTick)


DISKS = """ 259 0 nvme0n1 10 0 {read} 0 0 0 {written} 0 0 {busy} 0 0 0 0 0
 259 1 nvme0n1p1 10 0 {read} 0 0 0 {written} 0 0 {busy} 0 0 0 0 0
   8 0 sda 0 0 0 0 0 0 0 0 0 0 0
   7 0 loop0 10 0 {read} 0 0 0 0 0 0 900 0
 253 0 dm-0 10 0 {read} 0 0 0 {written} 0 0 {busy} 0 0
   9 0 md127 10 0 {read} 0 0 0 {written} 0 0 {busy} 0 0
"""
NET = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 999999 0 0 0 0 0 0 0 999999 0 0 0 0 0 0 0
  eth0: {got} 0 0 0 0 0 0 0 {sent} 0 0 0 0 0 0 0
docker0: {got} 0 0 0 0 0 0 0 {sent} 0 0 0 0 0 0 0
   ib0: {got} 0 0 0 0 0 0 0 {sent} 0 0 0 0 0 0 0
"""  # noqa: E501


@pytest.mark.parametrize("listed", [True, False])
def test_each_byte_counts_once(tmp_path, listed):
    """Partitions, mappings, bridges and IP over InfiniBand pass on what is counted already."""

    def write(n):
        put(
            tmp_path,
            proc__diskstats=DISKS.format(read=2 * n, written=n, busy=n // 4),
            proc__net__dev=NET.format(got=n, sent=2 * n),
        )

    ports = "sys/class/infiniband/mlx5_0/ports/1/counters"
    if listed:
        for name in ("nvme0n1", "sda", "loop0", "dm-0", "md127"):
            (tmp_path / "sys/block" / name).mkdir(parents=True)
        for name, kind in (("eth0", "1"), ("ib0", "32"), ("docker0", "1"), ("lo", "772")):
            put(tmp_path, **{f"sys/class/net/{name}/type": kind})
        for name in ("eth0", "ib0"):
            (tmp_path / f"sys/class/net/{name}/device").mkdir()
        put(tmp_path, **{f"{ports}/port_rcv_data": "1000", f"{ports}/port_xmit_data": "0"})
    flows = Flows(World(root=tmp_path))
    write(1000)
    assert flows.rates(0.0) == {}
    write(3000)
    if listed:
        put(tmp_path, **{f"{ports}/port_rcv_data": "2000"})
    found = flows.rates(2.0)
    assert found["disk_read_bytes_per_s"] == 2 * 1000 * 512
    assert found["disk_write_bytes_per_s"] == 1000 * 512
    assert found["disk_busy_share"] == pytest.approx(0.25)
    cards = 1 if listed else 3
    assert found["net_rx_bytes_per_s"] == cards * 1000 + (2000 if listed else 0)
    assert found["net_tx_bytes_per_s"] == cards * 2000


@linux
def test_this_machine_agrees_with_psutil():
    psutil = pytest.importorskip("psutil")
    with Sampler(here(), session=Silent) as sampler:
        sampler.tick()
        psutil.cpu_percent()
        until = time.monotonic() + 0.4
        while time.monotonic() < until:
            sum(range(1000))
        now = sampler.tick()
        theirs = psutil.cpu_percent() / 100
    assert now.host.cpu_share == pytest.approx(theirs, abs=0.25)
    assert now.host.mem_total_bytes == psutil.virtual_memory().total
    assert now.host.swap_used_bytes == pytest.approx(psutil.swap_memory().used, rel=0.2, abs=2**22)


# --- the tree of a command

WORK = """
import sys, time
x = bytearray(64 << 20)
while time.process_time() < float(sys.argv[1]): pass
"""
REST = f"{WORK}\ntime.sleep(30)"
PARENT = f"""
import subprocess, sys
input()
subprocess.run([sys.executable, "-c", {WORK!r}, "0.4"])
subprocess.Popen([sys.executable, "-c", {REST!r}, "0"], stdout=subprocess.DEVNULL)
print("up", flush=True)
input()
"""


@linux
def test_a_tree_holds_children_their_memory_and_the_time_of_the_dead():
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", PARENT], stdin=pipe, stdout=pipe, text=True)
    tree = TreeReader(here(), process.pid)
    try:
        assert tree.read(0.0).cpu_share is None
        process.stdin.write("go\n")
        process.stdin.flush()
        process.stdout.readline()
        settled(lambda n: (seen := tree.read(10.0 * n)).mem_bytes > 64 << 20 and seen.n_processes == 2)
        tree._before = (0.0, 0)  # since its beginning
        assert tree.read(1.0).cpu_share >= 0.3, "what a child that has ended used is not lost"
        programs = (Program(pid=process.pid, mem_bytes=5.0), Program(pid=1, mem_bytes=7.0))
        seen = tree.read(2.0, (card(3, programs=programs), card(4, programs=())))
        assert seen.gpu_mem_bytes == ((3, 5.0),)
    finally:
        (child,) = (pid for pid in tree._known if pid != process.pid)
        process.kill()
        process.communicate()
    assert tree.read(3.0).n_processes == 1, "who lost its parent is still of the tree"
    os.kill(child, 9)
    settled(lambda n: tree.read(4.0 + n).n_processes == 0)


def settled(is_so):
    """Wait until it is so; ten seconds are enough for anything here."""
    until, n = time.monotonic() + 10, 0
    while not is_so(n):
        n += 1
        assert time.monotonic() < until
        time.sleep(0.05)


@linux
def test_a_reused_number_is_no_member(tmp_path):
    put(
        tmp_path, proc__self__stat="x", proc__5__stat="5 (a b) S 1 " + "0 " * 9 + "7 3 1 1 0 0 1 0 100 0 50 0"
    )
    tree = TreeReader(World(root=tmp_path), 5)
    assert tree.read(0.0).n_processes == 1
    put(tmp_path, proc__5__stat="5 (other) S 1 " + "0 " * 9 + "7 3 1 1 0 0 1 0 999 0 50 0")
    assert tree.read(1.0).n_processes == 0


# --- the driver


class Silent:
    """A driver that has no card."""

    def tick(self):
        return ()

    def close(self):
        pass


class Played(Silent):
    """A driver that does what it is told to."""

    def __init__(self):
        self.act = lambda: (card(0), card(1))
        self.n_closed = 0

    def tick(self):
        return self.act()

    def close(self):
        self.n_closed += 1


@pytest.fixture
def played():
    driver = Played()
    reader = DriverReader(lambda: driver)
    yield driver, reader
    driver.act = lambda: ()
    reader.close()


def boom():
    raise RuntimeError("the child is gone")


def test_a_driver_that_hangs_holds_up_nobody_and_its_readings_grow_old(played):
    driver, reader = played
    gate = threading.Event()
    assert [one.state for one in reader.read(2.0)] == ["ok", "ok"]
    driver.act = lambda: (gate.wait(60), (card(0, busy_share=0.99), card(1)))[1]
    first, second = reader.read(0.05), reader.read(0.05)
    assert not gate.is_set(), "it hangs still"
    assert [one.state for one in first + second] == ["stale"] * 4
    assert second[0].age_s >= first[0].age_s > 0
    gate.set()
    until = time.monotonic() + 5
    while reader.read(0.5)[0].state != "ok" and time.monotonic() < until:
        time.sleep(0.01)
    assert reader.read(2.0)[0].busy_share == 0.99


def test_a_session_that_dies_is_ended_and_begun_again(played):
    driver, reader = played
    reader.read(2.0)
    driver.act = boom
    assert {one.state for one in reader.read(2.0)} == {"stale"}
    assert driver.n_closed == 1


def test_a_card_that_vanishes_is_lost_not_gone(played):
    driver, reader = played
    reader.read(2.0)
    driver.act = lambda: (card(1, uuid=None, name=None),)
    lost, other = reader.read(2.0)
    assert (lost.index, lost.state, lost.uuid, lost.power_w) == (0, "lost", "GPU-00000000", None)
    assert (other.index, other.state, other.uuid) == (1, "ok", "GPU-00000001")
    driver.act = lambda: (card(0), card(1))
    assert {one.state for one in reader.read(2.0)} == {"ok"}


def test_a_session_that_cannot_begin_is_tried_again_but_not_each_time():
    tried = []

    def start():
        tried.append(1)
        raise OSError("no driver")

    reader = DriverReader(start)
    assert [reader.read(2.0) for _ in range(5)] == [()] * 5
    reader.close()
    assert len(tried) == 1


# --- cards that sysfs shows

AMD = {
    "vendor": "0x1002", "device": "0x74a1", "unique_id": "abcdef0123456789",
    "product_name": "Instinct MI300X", "gpu_busy_percent": "87", "mem_busy_percent": "12",
    "mem_info_vram_used": str(100 * 2**30), "mem_info_vram_total": str(192 * 2**30),
    "current_link_speed": "32.0 GT/s PCIe", "current_link_width": "16",
    "pcie_replay_count": "3", "hwmon/hwmon4/power1_average": "612000000",
    "hwmon/hwmon4/power1_cap": "750000000",
    "hwmon/hwmon4/temp2_label": "junction", "hwmon/hwmon4/temp2_input": "71000",
    "hwmon/hwmon4/temp3_label": "mem", "hwmon/hwmon4/temp3_input": "64000",
    "hwmon/hwmon4/freq1_input": "2100000000",
}  # fmt: skip


def test_an_amd_card_is_read_without_its_library(tmp_path):
    for n in range(2):
        bus = tmp_path / f"sys/devices/pci0000:00/0000:0{n}:00.0"
        for name, text in AMD.items():
            put(tmp_path, **{f"{bus.relative_to(tmp_path)}/{name}": text})
        put(tmp_path, **{f"{bus.relative_to(tmp_path)}/class": "0x120000"})
        (tmp_path / f"sys/class/drm/card{n}").mkdir(parents=True)
        (tmp_path / f"sys/class/drm/card{n}/device").symlink_to(bus)
        (tmp_path / "sys/bus/pci/devices").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"sys/bus/pci/devices/0000:0{n}:00.0").symlink_to(bus)
    (tmp_path / "sys/class/drm/card0-DP-1").mkdir()
    reader = DrmReader(World(root=tmp_path))
    first, second = reader.read(0.0)
    assert (first.card, second.card) == ("amd0", "amd1")
    assert (first.busy_share, first.power_w, first.power_limit_w) == (0.87, 612.0, 750.0)
    assert (first.gpu_c, first.mem_c, first.sm_hz) == (71.0, 64.0, 2.1e9)
    assert (first.pcie_gen, first.pcie_lanes, first.pcie_replays) == (5, 16, 3)
    assert first.uuid == "abcdef0123456789"
    assert first.fan_share is None
    assert reader.on_bus == 2


def test_the_graphics_of_a_processor_are_no_accelerator(tmp_path):
    put(tmp_path, **{"sys/class/drm/card0/device/vendor": "0x8086"})
    assert DrmReader(World(root=tmp_path)).read(0.0) == ()


# --- the kernel log

LINES = (
    "6,100,5000000,-;usb 1-1: new device",
    "4,101,7500000,-;NVRM: Xid (PCI:0000:9b:00): 79, pid='<unknown>', GPU has fallen off the bus.",
    " SUBSYSTEM=pci",
    "broken",
)


@linux
def test_the_kernel_log_is_followed_with_the_time_of_each_line(tmp_path):
    put(tmp_path, dev__kmsg="\n".join(LINES) + "\n")
    reader = LogReader(World(root=tmp_path, is_live=True), clock=lambda: 100.0, wall=lambda: 1000.0)
    (event,) = reader.read()
    assert (event.kind, event.code, event.up_s, event.at_s) == ("xid", 79, 7.5, 907.5)
    assert reader.read() == ()
    with (tmp_path / "dev/kmsg").open("a") as file:
        file.write(LINES[1].replace("7500000", "9000000") + "\n")
    assert [one.up_s for one in reader.read()] == [9.0]
    reader.close()
    assert not reader.is_open
    assert reader.read() == ()


def test_a_closed_log_is_no_error(tmp_path):
    reader = LogReader(World(root=tmp_path, is_live=True))
    assert not reader.is_open
    assert reader.read() == ()


def test_a_sampler_of_a_recorded_machine_asks_no_driver(tmp_path):
    with Sampler(World(root=tmp_path)) as sampler:
        tick = sampler.tick()
    assert (tick.devices, tick.host) == ((), HostTick())
    assert replace(tick, at_s=0, clock_s=0).tree is None


def test_an_interrupt_while_its_thread_starts_leaves_a_reader_that_can_be_closed(monkeypatch):
    """SIGTERM and Ctrl-C may come at any place; the end that follows is still clean."""

    def interrupted(_thread):
        raise KeyboardInterrupt

    reader = DriverReader(lambda: None)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            reader.read()
    reader.close()

"""Programs and ports at each moment: rates between two looks, and numbers that another took."""

from __future__ import annotations

import os
import sys

import pytest

from rigright.machine.sampling.ports import PortReader
from rigright.machine.sampling.programs import ProgramReader
from rigright.machine.world import World, here

STAT = "{pid} (a) b) {state} 1 1 1 0 -1 0 0 0 0 0 {user} {system} 0 0 20 0 1 0 {started} 0 {pages} 0\n"


@pytest.fixture
def tree(tmp_path):
    """A machine of files; a function that writes some of them."""

    def write(path, text):
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    write("proc/uptime", "1000.0 1.0\n")
    return World(root=tmp_path, env={}, is_live=False), write


def program(write, *, cpu, started=5000, command="python\0train.py\0"):
    write("proc/7/stat", STAT.format(pid=7, state="R", user=cpu, system=0, started=started, pages=10))
    write("proc/7/cmdline", command)


def test_rates_are_between_two_looks_and_a_number_may_be_anothers(tree):
    world, write = tree
    reader = ProgramReader(world)
    hertz = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
    program(write, cpu=0)
    first = reader.read(0.0, [7, 8])
    assert set(first) == {7}
    assert (first[7].cpu_share, first[7].command) == (None, "python train.py")
    assert first[7].run_s == pytest.approx(1000 - 5000 / hertz)
    program(write, cpu=3 * hertz)
    assert reader.read(2.0, [7])[7].cpu_share == pytest.approx(1.5)
    program(write, cpu=9 * hertz, started=6000, command="other\0")
    assert (reader.read(3.0, [7])[7].cpu_share, reader.read(3.0, [7])[7].command) == (None, "other")
    write("proc/7/stat", "rubbish")
    assert reader.read(4.0, [7]) == {}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")
def test_of_this_process():
    reader = ProgramReader(here())
    (use,) = reader.read(0.0, [os.getpid()]).values()
    assert use.mem_bytes > 2**20
    assert "python" in use.command
    reader.close()


NET = "head\nhead\n  eth0: {rx} 1 {bad} 0 0 0 0 0 {tx} 1 0 0 0 0 0 0\n" + "lo: " + "1 " * 16 + "\n"
AT = "sys/class/infiniband/mlx5_0/ports/1"


def ports(write, *, rx, words, bad=0):
    write("proc/net/dev", NET.format(rx=rx, tx=0, bad=bad))
    write("sys/class/net/eth0/device/vendor", "0x15b3")
    write("sys/class/net/eth0/speed", "25000\n")
    write("sys/class/net/eth0/operstate", "up\n")
    write("sys/class/net/lo/operstate", "unknown\n")
    write(f"{AT}/rate", "400 Gb/sec (4X NDR)\n")
    write(f"{AT}/state", "4: ACTIVE\n")
    write(f"{AT}/counters/port_rcv_data", f"{words}\n")
    write(f"{AT}/counters/port_xmit_data", "0\n")
    write(f"{AT}/counters/symbol_error", "3\n")


def test_ports_with_hardware_and_their_rates(tree):
    world, write = tree
    reader = PortReader(world)
    ports(write, rx=0, words=0, bad=2)
    eth, ib = reader.read(0.0)
    assert (eth.name, eth.state, eth.bytes_per_s, eth.rx_bytes_per_s) == ("eth0", "up", 3.125e9, None)
    assert (ib.name, ib.kind, ib.bytes_per_s, ib.errors) == ("mlx5_0/1", "infiniband", 50e9, 3)
    ports(write, rx=4000, words=1000, bad=5)
    eth, ib = reader.read(2.0)
    assert (eth.rx_bytes_per_s, ib.rx_bytes_per_s, ib.tx_bytes_per_s) == (2000.0, 2000.0, 0.0)
    assert (eth.errors, eth.new_errors) == (5, 3)
    ports(write, rx=10, words=1000)
    eth, ib = reader.read(3.0)
    assert (eth.rx_bytes_per_s, ib.rx_bytes_per_s) == (None, 0.0), "a counter that began anew tells no rate"


def test_a_machine_without_ports(tree):
    world, _ = tree
    assert PortReader(world).read(0.0) == ()

"""Network ports: Ethernet, wireless, bonds, InfiniBand, RoCE, lent ones."""

from __future__ import annotations

import sys

import pytest

from fake_trees import remembered
from rigright.base.units import GIGA
from rigright.machine.parts.network import read
from rigright.machine.world import World, here

GBIT = GIGA / 8
MODES = (
    "Settings for enp99s0:\n\tSupported link modes:   100baseT/Full\n"
    "\t                        10000baseT/Full\n"
    "\tSupported pause frame use: No\n\tAdvertised link modes:  25000baseT/Full\n"
)


def ports_of(host):
    return {port.name: port for port in dict(read(remembered(host)).fields)["ports"]}


def test_a_server_with_eight_cards_of_infiniband():
    found = ports_of({"like": "server"})
    port = found["mlx5_4/1"]
    assert (port.kind, port.state, port.bytes_per_s, port.lanes) == ("infiniband", "up", 400 * GBIT, 4)
    assert (port.driver, port.pci, port.numa_node) == ("mlx5_core", "0000:9c:00.0", 1)
    assert port.firmware == "28.39.1002"
    assert dict(port.counters)["symbol_error"] == 0
    assert len([one for one in found.values() if one.kind == "infiniband"]) == 8
    assert (found["eno1"].kind, found["eno1"].bytes_per_s, found["eno1"].mtu) == ("ethernet", 25 * GBIT, 9000)
    assert "lo" not in found


@pytest.mark.parametrize(
    ("told", "state", "rate"),
    [
        ({"rate": "200 Gb/sec (4X HDR)", "state": "4: ACTIVE"}, "up", 200),
        ({"rate": "10 Gb/sec (4X SDR)", "state": "1: DOWN", "phys": "2: Polling"}, "polling", 10),
        ({"rate": "40 Gb/sec (4X QDR)", "state": "1: DOWN", "phys": "3: Disabled"}, "disabled", 40),
        ({"rate": "100 Gb/sec (2X HDR)", "state": "2: INIT"}, "init", 100),
        ({"rate": "2.5 Gb/sec (1X SDR)", "state": "1: DOWN", "phys": "5: LinkUp"}, "down", 2.5),
    ],
)
def test_states_and_rates_as_the_kernel_writes_them(told, state, rate):
    host = {"like": "server", "infiniband": {"mlx5_0": {"ports": {"1": told}}}}
    port = ports_of(host)["mlx5_0/1"]
    assert (port.state, port.bytes_per_s) == (state, rate * GBIT)


def test_roce_is_told_by_its_layer():
    told = {"rate": "100 Gb/sec (4X EDR)", "layer": "Ethernet", "hw": {"out_of_sequence": 9}}
    port = ports_of({"like": "server", "infiniband": {"mlx5_0": {"ports": {"1": told}}}})["mlx5_0/1"]
    assert port.kind == "roce"
    assert dict(port.counters)["out_of_sequence"] == 9


def test_ports_of_a_desktop():
    host = {
        "like": "desktop",
        "pci": {"0000:64:00.0": {"id": "8086:2725", "class": "0x028000", "driver": "iwlwifi"}},
        "net": {
            "wlan0": {"pci": "0000:64:00.0", "wifi": True, "state": "down"},
            "docker0": {"speed": -1, "state": "down"},
            "veth1a": {"speed": 10000},
            "bond0": {"bond": ["enp99s0", "wlan0"], "speed": 10000},
        },
        "commands": {"ethtool enp99s0": MODES},
    }
    found = ports_of(host)
    assert set(found) == {"enp99s0", "wlan0", "bond0"}
    assert (found["wlan0"].kind, found["wlan0"].state, found["wlan0"].bytes_per_s) == ("wifi", "down", None)
    assert (found["enp99s0"].bytes_per_s, found["enp99s0"].max_bytes_per_s) == (10 * GBIT, 10 * GBIT)
    assert {("members", 2), ("members_up", 1)} <= set(found["bond0"].counters)


def test_a_machine_nobody_tells_of(tmp_path):
    told = read(World(root=tmp_path))
    assert "ports" not in dict(told.fields)
    assert [one.what for one in told.unseen] == ["ports"]


@pytest.mark.skipif(sys.platform != "linux", reason="/sys is Linux's")
def test_this_machines_ports_are_among_psutils():
    psutil = pytest.importorskip("psutil")
    stats = psutil.net_if_stats()
    for port in dict(read(here()).fields).get("ports") or ():
        if port.kind in {"ethernet", "virtual", "wifi"}:
            assert port.name in stats
            assert port.mtu == stats[port.name].mtu

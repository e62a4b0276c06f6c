"""The bus: a tree that real lspci reads too, a real server's listing, bytes of anybody."""

from __future__ import annotations

import struct
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debian import needs
from fake_trees import planted, remembered
from rigright.base.units import GIB, MIB
from rigright.machine.device import Device
from rigright.machine.host import PciDevice
from rigright.machine.lspci import UNKNOWN, read_lspci
from rigright.machine.parts import network
from rigright.machine.parts.bus import read
from rigright.machine.pci import extended, functions
from rigright.machine.probe import way_between, with_nics
from rigright.machine.record import Machine
from rigright.machine.values import gen_of, lanes_of
from rigright.machine.world import World

GPU = "0000:19:00.0"


def fields(world):
    return dict(read(world).fields)


@pytest.fixture(scope="module")
def server():
    return remembered({"like": "server"})


def by_address(found):
    return {one.address: one for one in found}


def test_a_card_is_read_with_its_way_to_the_processor(server):
    card = by_address(functions(server))[GPU]
    assert (card.id, card.board_id, card.driver) == ("10de:2330", "10de:16c1", "nvidia")
    assert card.parents == ("0000:15:01.0", "0000:16:00.0", "0000:17:00.0")
    assert (card.gen, card.gen_max, card.lanes, card.lanes_max) == (5, 5, 16, 16)
    assert card.bars_bytes == (16 * MIB, 128 * GIB, 32 * MIB)
    assert card.rebar_max_bytes == 128 * GIB
    assert (card.numa_node, card.iommu_group, card.power_state) == (0, 40, "D0")
    assert dict(card.errors) == {"correctable": 0, "nonfatal": 0, "fatal": 0}


def test_only_what_matters_is_listed_and_the_bridges_above_it():
    usb = {"id": "8086:7a60", "class": "0x0c0330", "driver": "xhci_hcd"}
    hub = {"id": "8086:7a38", "class": "0x060400", "driver": "pcieport", "width": 4, "gen": 3}
    world = remembered({"like": "desktop", "pci": {"0000:00:14.0": usb, "0000:00:1c.0": hub}})
    found = by_address(functions(world))
    assert "0000:00:14.0" not in found
    assert "0000:00:1c.0" not in found
    assert "0000:00:01.1" in found


def test_each_card_of_a_server_knows_the_way_to_each_network_card(server):
    found = dict(network.read(server).fields) | {"pci": functions(server)}
    bus = [one.address for one in found["pci"] if one.id == "10de:2330"]
    cards = tuple(Device(index=n, vendor="nvidia", pci=pci) for n, pci in enumerate(bus))
    read = with_nics(Machine(devices=cards, **found)).devices
    assert [dict(card.nics)[f"mlx5_{card.index}"] for card in read] == ["PIX"] * 8
    assert set(dict(read[0].nics).values()) == {"PIX", "NODE", "SYS"}
    told = (Device(index=0, vendor="nvidia", pci=bus[0], nics=(("mlx5_9", "PXB"),)), *cards[1:])
    assert with_nics(Machine(devices=told, **found)).devices[0].nics == (("mlx5_9", "PXB"),)


@pytest.mark.parametrize(
    ("one", "other", "way"),
    [
        (("0:19", 0, "0:15 0:16 0:17"), ("0:1a", 0, "0:15 0:16 0:18"), "PIX"),
        (("0:19", 0, "0:15 0:16 0:17"), ("0:1c", 0, "0:15 0:16 0:18 0:1a 0:1b"), "PXB"),
        (("0:01", 0, ""), ("0:01", 0, ""), "PHB"),
        (("0:19", 0, "0:15"), ("0:25", 0, "0:20"), "NODE"),
        (("0:19", 0, "0:15"), ("1:19", 1, "1:15"), "SYS"),
        (("0:19", None, "0:15"), ("0:25", None, "0:20"), "NODE"),
        (("0:19", 0, "0:15"), ("0:25", None, "0:20"), None),
    ],
)
def test_the_way_between_two_functions(one, other, way):
    """Source of the words: the legend of nvidia-smi topo -m."""

    def function(told):
        at, numa, above = told
        parents = tuple(f"000{name}:01.0" for name in above.split())
        return PciDevice(address=f"000{at}:00.0", id="10de:2330", numa_node=numa, parents=parents)

    assert way_between(function(one), function(other)) == way
    assert way_between(function(other), function(one)) == way


@pytest.mark.live
def test_real_lspci_reads_the_same_bus(tmp_path):
    """pciutils reads the tree by itself, configuration space and all; our reader of its text agrees."""
    needs("pciutils")
    server = planted(tmp_path, {"like": "server"})
    argv = ["lspci", "-A", "linux-sysfs", "-O", f"sysfs.path={server.root}/sys/bus/pci", "-Dvvvnn"]
    told = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout
    by_text, by_tree = by_address(read_lspci(told)), by_address(functions(server))
    shared = set(by_text) & set(by_tree)
    assert {one.address for one in by_tree.values() if one.driver != "pcieport"} <= shared
    same = (
        *("id", "board_id", "driver", "gen", "gen_max", "lanes", "lanes_max", "numa_node", "iommu_group"),
        *("bars_bytes", "rebar_max_bytes", "acs"),
    )
    for address in shared:
        one, other = by_text[address], by_tree[address]
        assert [getattr(one, name) for name in same] == [getattr(other, name) for name in same], address
        assert one.pci_class == other.pci_class[:6]


def test_a_real_servers_listing_is_read_whole(shared):
    found = read_lspci((shared / "captures/pci/lspci-vvv-h100-server.txt").read_text())
    cards = [one for one in found if one.id == "10de:2330"]
    assert [one.address[5:7] for one in cards] == ["19", "3b", "4c", "5d", "9b", "bb", "cb", "db"]
    assert {(one.gen, one.gen_max, one.lanes, one.lanes_max) for one in cards} == {(5, 5, 16, 16)}
    assert {one.bars_bytes[1] for one in cards} == {128 * GIB}
    assert {one.rebar_max_bytes for one in cards} == {128 * GIB}
    assert {one.numa_node for one in cards} == {0, 1}
    assert all(len(one.parents) == 3 for one in cards)
    assert sum(one.id == "10de:22a3" for one in found) == 4
    assert sum("ConnectX-7" in (one.name or "") for one in found) == 8
    assert sum(one.pci_class == "0x0108" for one in found) == 8
    assert {one.id for one in found if "ConnectX-7" in (one.name or "")} == {f"15b3:{UNKNOWN}"}


def test_its_narrowed_links_are_those_of_small_partners(shared):
    """The root port above the NVSwitches runs x2 because they have no more, the board's Ethernet x1."""
    found = by_address(read_lspci((shared / "captures/pci/lspci-vvv-h100-server.txt").read_text()))
    narrow = {one.address for one in found.values() if one.lanes is not None and one.lanes < one.lanes_max}
    assert narrow == {"0000:80:01.0", "0000:01:00.0", "0000:01:00.1"}
    assert found["0000:80:01.0"].lanes_max == 16
    assert {one.address for one in found.values() if one.acs} == {f"0000:82:0{port}.0" for port in range(4)}


@pytest.mark.parametrize(
    ("file", "cards"), [("lspci.nn.a10.txt", ["10de:2236"]), ("lspci.nn.a100.txt", None)]
)
def test_short_listings_of_rented_machines(shared, file, cards):
    found = read_lspci((shared / "captures/pci" / file).read_text())
    ids = [one.id for one in found if one.pci_class.startswith("0x03") and one.id[:4] == "10de"]
    assert ids == (cards or ["10de:20b2"] * 8)
    assert all(one.lanes is None for one in found)


def test_a_recorded_machine_without_a_tree_is_read_from_lspci():
    card = "41:00.0 3D controller [0302]: NVIDIA Corporation GA102 [10de:2204] (rev a1)"
    line = f"{card}\n\tLnkSta: Speed 8GT/s, Width x8\n"
    world = remembered({"commands": {"lspci -Dvvvnn": line}})
    (card,) = fields(world)["pci"]
    assert (card.address, card.id, card.gen, card.lanes) == ("0000:41:00.0", "10de:2204", 3, 8)
    assert fields(world)["slots"] is None


def test_without_root_the_rest_is_told_and_what_would_show_more():
    card = {"as_root": False}
    world = remembered({"like": "desktop", "pci": {"0000:01:00.0": card}, "gone": ["/sys/firmware"]})
    told = read(world)
    found = by_address(dict(told.fields)["pci"])["0000:01:00.0"]
    assert found.rebar_max_bytes is None
    assert found.lanes == 8
    assert {one.what for one in told.unseen} == {"pci.acs", "pci.rebar_max_bytes", "slots"}
    assert all("sudo" in one.see for one in told.unseen)


def test_no_bus_at_all_is_not_observed(tmp_path):
    told = read(World(root=tmp_path))
    assert dict(told.fields)["pci"] is None
    assert "pci" in {one.what for one in told.unseen}


def test_an_empty_bus_is_seen_to_be_empty():
    world = remembered({"pci": {"0000:00:00.0": {"id": "8086:1237", "class": "0x060000"}}})
    assert fields(world)["pci"] == ()


@pytest.mark.parametrize(
    ("speed", "gen"),
    [
        ("2.5 GT/s PCIe", 1),
        ("8 GT/s", 3),
        ("16GT/s", 4),
        ("64.0 GT/s PCIe", 6),
        ("Unknown", None),
        ("", None),
    ],
)
def test_speeds_as_kernels_and_lspci_write_them(speed, gen):
    assert gen_of(speed) == gen


def test_widths_that_cannot_be_are_unknown():
    assert [lanes_of(width) for width in (None, 0, 1, 16, 255)] == [None, None, 1, 16, None]


@given(st.binary(max_size=5000))
def test_any_configuration_space_is_taken(raw):
    found = extended(raw)
    assert found is None or found.rebar_max_bytes is None or found.rebar_max_bytes >= MIB


@given(st.lists(st.tuples(st.sampled_from([1, 0xD, 0x15]), st.integers(0, 4095)), max_size=12))
def test_chains_of_capabilities_that_bite_their_tail_end(links):
    raw = bytearray(4096)
    at = 0x100
    for number, after in links:
        struct.pack_into("<I", raw, min(at, 4092), number | 1 << 16 | (after & 0xFFC) << 20)
        at = max(after & 0xFFC, 0x100)
    extended(bytes(raw))


@given(
    st.text(
        alphabet=st.sampled_from(list("0189abcdef:. \t\n[]()xGT/sLnkCapSta,WidthSpeedBus=")),
        max_size=600,
    )
)
def test_any_text_is_taken_for_lspci(text):
    for one in read_lspci(text):
        assert one.lanes is None or 0 < one.lanes <= 32


def test_buses_that_lead_to_themselves_end():
    loop = "".join(
        f"0{bus}:00.0 PCI bridge [0604]: Maker [8086:0001]\n\tBus: primary=00, secondary=0{3 - bus}\n"
        for bus in (1, 2)
    )
    found = read_lspci(loop + "01:00.1 3D controller [0302]: NVIDIA [10de:2330]\n")
    assert "0000:01:00.1" in {one.address for one in found}


def test_links_out_of_a_foreign_tree_are_not_followed(tmp_path):
    world = planted(
        tmp_path, {"pci": {"0000:01:00.0": {"id": "10de:2684", "class": "0x030000", "width": 16}}}
    )
    (tmp_path / "secret").write_text("5")
    target = world.root / "sys/devices/pci0000:01/0000:01:00.0/current_link_width"
    target.unlink()
    target.symlink_to(tmp_path / "secret")
    (card,) = functions(world)
    assert card.lanes is None

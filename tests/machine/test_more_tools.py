"""What people paste beside nvidia-smi: hl-smi, lshw, sensors, topo -p2p, CSV without heads; gzips cut off."""

from __future__ import annotations

import gzip
import json

import pytest

from archives import tar_of
from pasted_tools import ASKED, CORES, HL_CSV, HL_SMI, LSHW, LSHW_JSON, NCCL, P2P, ROWS, SENSORS
from rigright.base.errors import DataError
from rigright.base.units import GIB, MIB
from rigright.doctor.examine import case_of, examine
from rigright.machine.opened import read_machine
from rigright.verbs.bench.record import read_results


def read(text):
    return read_machine(text.encode(), name="given")


def test_a_table_of_gaudi_cards():
    machine = read(HL_SMI)
    assert machine.read_as == ("hl-smi",)
    assert [(one.name, one.pci, one.busy_share) for one in machine.devices] == [
        ("Gaudi HL-225", "0000:33:00.0", 0.0),
        ("Gaudi HL-225", "0000:9a:00.0", 0.98),
    ]
    one = machine.devices[1]
    assert (one.power.draw_w, one.power.limit_w, one.thermal.gpu_c) == (410.0, 600.0, 30.0)
    assert (one.mem_used_bytes, one.ecc.uncorrected_volatile) == (90000 * MIB, 3)
    assert [(program.pid, program.name) for program in one.programs] == [(4242, "python")]
    case = case_of(machine)
    assert [chip.id for chip in case.chips] == ["gaudi2"] * 2
    assert "ecc_uncorrected" in {check for check, _ in examine(case).findings}


def test_a_query_of_gaudi_cards():
    (card,) = read(HL_CSV).devices
    assert (card.index, card.pci, card.thermal.gpu_c, card.mem_total_bytes) == (
        1,
        "0000:9a:00.0",
        31.0,
        96 * GIB,
    )


@pytest.mark.parametrize(
    ("what", "peers"),
    [
        ("r", {(0, 1): True, (0, 2): False, (1, 2): False}),
        ("w", {(0, 1): True, (0, 2): False, (1, 2): False}),
        *((what, {}) for what in "nap"),
    ],
)
def test_who_may_copy_to_whom(what, peers):
    assert {(way.a, way.b): way.peer for way in read(P2P.format(what=what)).paths or ()} == peers


def test_a_matrix_of_peers_is_laid_over_that_of_ways():
    topo = "$ nvidia-smi topo -m\n\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tPIX\t0-3\nGPU1\tPIX\t X \t0-3\n\n"
    (way, *_) = read(topo + P2P.format(what="r")).paths
    assert (way.a, way.b, way.kind, way.peer) == (0, 1, "PIX", True)


@pytest.mark.parametrize(
    ("text", "heat"),
    [
        (ROWS, [None, None]),  # 42 may be anything
        (f"$ nvidia-smi --query-gpu={ASKED} --format=csv,noheader\n{ROWS}", [42.0, 44.0]),
    ],
)
def test_a_query_without_its_heads(text, heat):
    machine = read(text)
    assert [(one.index, one.name, one.busy_share) for one in machine.devices] == [
        (0, "NVIDIA H100 80GB HBM3", 0.97),
        (1, "NVIDIA H100 80GB HBM3", 0.99),
    ]
    assert [one.mem_used_bytes for one in machine.devices] == [GIB, 2 * GIB]
    assert {one.mem_total_bytes for one in machine.devices} == {81559 * MIB}
    assert [one.thermal.gpu_c for one in machine.devices] == heat
    assert machine.software.driver == "550.54.15"


@pytest.mark.parametrize("text", [LSHW, json.dumps(LSHW_JSON), json.dumps([LSHW_JSON])])
def test_a_tree_of_lshw(text):
    machine = read(text)
    assert machine.read_as == ("lshw",)
    assert (machine.system.maker, machine.system.product) == ("Dell Inc.", "PowerEdge XE9680")
    assert (machine.cpu.name, machine.cpu.cores, machine.cpu.threads) == (
        "Intel(R) Xeon(R) Platinum 8480+", 56, 112,
    )  # fmt: skip
    filled, empty = machine.memory.modules
    assert (filled.slot, filled.size_bytes, filled.kind, filled.rated_mt_s) == (
        "A1",
        64 * GIB,
        "DDR5",
        4800.0,
    )
    assert empty.size_bytes is None
    assert machine.memory.total_bytes == 2048 * GIB
    (card,) = machine.pci
    assert (card.address, card.id, card.driver) == ("0000:19:00.0", "10de:2330", "nvidia")


def test_sensors_as_text():
    found = {one.name: one for one in read(SENSORS).sensors}
    assert (found["k10temp/Tctl"].value, found["k10temp/Tctl"].high) == (97.5, 95.0)
    assert found["nvme/Composite"].high == 83.8
    assert (found["nct6798/in0"].kind, found["nct6798/in0"].value) == ("volt", 0.936)
    assert (found["nct6798/fan2"].kind, found["nct6798/fan2"].low) == ("fan", None)


def test_sensors_as_json_and_what_is_too_hot():
    machine = read(json.dumps(CORES))
    (one,) = machine.sensors
    assert (one.name, one.value, one.high) == ("coretemp/Package id 0", 101.0, 92.0)
    assert "board_heat" in {check for check, _ in examine(case_of(machine)).findings}


LOG = "".join(f"[{n}.5] usb 1-1: device {n * 7919 % 10007}\n" for n in range(3000))
XID = "[12.345678] NVRM: Xid (PCI:0000:9b:00): 79, pid=1, name=python, GPU has fallen off the bus.\n"


def test_a_gzip_that_is_cut_off_is_read_up_to_there_and_says_so():
    whole = gzip.compress((XID + LOG).encode())
    machine = read_machine(whole[: len(whole) // 2], name="dmesg.gz")
    assert [one.code for one in machine.events] == [79]
    assert machine.cut == ("dmesg.gz",)
    assert read_machine(whole, name="dmesg.gz").cut == ()
    with pytest.raises(DataError):
        read_machine(whole[:12], name="dmesg.gz")


def test_a_tar_in_a_gzip_that_is_cut_off_gives_its_first_files():
    raw = gzip.compress(tar_of(("dmesg.txt", XID.encode()), ("big.txt", LOG.encode()), mode="w"))
    machine = read_machine(raw[: len(raw) // 2], name="logs.tar.gz")
    assert [one.code for one in machine.events] == [79]
    assert machine.cut == ("logs.tar.gz", "big.txt")


def test_the_json_of_nccl_tests(tmp_path):
    file = tmp_path / "nccl.json"
    file.write_text(json.dumps(NCCL))
    told = read_results(str(file))
    (one,) = told.results
    assert (one.part, one.what) == ("nccl_tests", "all_reduce 8192 MiB")
    assert one.value == pytest.approx(375.4e9)
    assert dict(one.settings)["ranks"] == "8"
    assert dict(one.settings)["wrong"] == "2"
    assert [card.name for card in told.machine.devices] == ["NVIDIA H100 80GB HBM3"] * 8


TOPO = """\
\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNV18\tPIX\tSYS\t0-47\t0\t\tN/A
GPU1\tNV18\t X \tSYS\tNODE\t48-95\t1\t\tN/A
NIC0\tPIX\tSYS\t X \tSYS
NIC1\tSYS\tNODE\tSYS\t X

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_3
"""


def test_the_way_from_each_card_to_each_network_card():
    machine = read("$ nvidia-smi topo -m\n" + TOPO)
    assert [one.nics for one in machine.devices] == [
        (("mlx5_0", "PIX"), ("mlx5_3", "SYS")),
        (("mlx5_0", "SYS"), ("mlx5_3", "NODE")),
    ]
    found = {(check, one.about) for check, one in examine(case_of(machine)).findings}
    assert ("nic_paths", "gpu 1") in found

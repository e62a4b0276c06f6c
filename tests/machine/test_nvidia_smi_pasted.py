"""What people paste of nvidia-smi: tables of every age, whole sessions, and what it says instead of an answer."""

# ruff: noqa: E501 - the tables are as wide as the program prints them
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import RigError
from rigright.base.units import MIB
from rigright.machine.nvidia_smi.capture import read_capture
from rigright.machine.nvidia_smi.query import read_log, read_xml
from rigright.machine.nvidia_smi.tables import read_sheet
from rigright.machine.nvidia_smi.text import numa_of, paths_of
from rigright.machine.nvml import codes
from rigright.machine.opened import read_machine

WIDE = "| NVIDIA-SMI {smi}    {driver: <28}{cuda: <24}|\n"
CARD = """\
|   {index}  {name: <27} {mode: >4}  | {bus: >18} {screen: >3} | {ecc: >20} |
|{fan: >4}  {heat: >4}    {state: >3}    {draw: >10} / {limit: >5}  | {memory: <22} | {busy: >8} {compute: >12} |
|                                         |                        | {mig: >20} |
"""
USUAL = {
    "index": 0, "name": "NVIDIA Some Card", "mode": "On", "bus": "00000000:63:00.0", "screen": "Off",
    "ecc": "0", "fan": "N/A", "heat": "26C", "state": "P0", "draw": "139W", "limit": "1000W",
    "memory": "4MiB / 183359MiB", "busy": "7%", "compute": "Default", "mig": "Disabled",
}  # fmt: skip


def table(*cards, driver="Driver Version: 580.95.05", cuda="CUDA Version: 13.0", after=""):
    rows = "".join(CARD.format(**{**USUAL, "index": place, **card}) for place, card in enumerate(cards))
    return WIDE.format(smi="580.95.05", driver=driver, cuda=cuda) + rows + after


def cards_of(text):
    return dict(read_capture(text).fields)["devices"]


def card_of(text):
    (card,) = cards_of(text)
    return card


@pytest.mark.parametrize(
    ("driver", "cuda", "told"),
    [
        ("Driver Version: 580.95.05", "CUDA Version: 13.0", ("580.95.05", "13.0")),
        ("KMD Version: 610.43.02", "CUDA UMD Version: 13.3", ("610.43.02", "13.3")),
        ("Driver Version: 387.12", "", ("387.12", None)),  # before 410 no word of CUDA
        ("Driver Version: N/A", "CUDA Version: 12.2", (None, "12.2")),  # Jetson
        ("Driver Version: 546.80", "CUDA Version: ERR!", ("546.80", None)),  # WSL
    ],
)
def test_every_head_names_driver_and_cuda(driver, cuda, told):
    software = dict(read_capture(table({}, driver=driver, cuda=cuda)).fields)["software"]
    assert (software.driver, software.driver_cuda) == told
    assert len(cards_of(table({}, driver=driver, cuda=cuda))) == 1


def test_a_card_without_memory_of_its_own_is_not_left_out():
    spark = card_of(
        table({"name": "NVIDIA GB10", "bus": "0000000F:01:00.0", "memory": "Not Supported", "limit": "N/A"})
    )
    assert (spark.pci, spark.unified_memory, spark.mem_total_bytes) == ("000f:01:00.0", True, None)
    nothing = dict.fromkeys(
        ("bus", "screen", "fan", "heat", "state", "draw", "limit", "busy", "compute"), "N/A"
    )
    orin = card_of(table({"name": "Orin (nvgpu)", "mode": "N/A", **nothing, "memory": "Not Supported"}))
    assert (orin.name, orin.state, orin.pci, orin.busy_share) == ("Orin (nvgpu)", "ok", None, None)


def test_the_corners_of_a_card_are_read_too():
    on, off, none, broken = cards_of(
        table(
            {"ecc": "0", "mig": "Enabled"},
            {"ecc": "Off", "mode": "Off", "mig": "Disabled*"},
            {"ecc": "N/A", "mode": "WDDM", "mig": "N/A", "screen": "On"},
            {"ecc": "12"},
        )
    )
    assert (on.ecc.on, on.ecc.uncorrected_volatile, on.persistence) == (True, 0, True)
    assert (on.mig, on.mig_after_reset) == (True, True)
    assert (off.ecc.on, off.ecc.uncorrected_volatile, off.persistence) == (False, None, False)
    assert (off.mig, off.mig_after_reset) == (False, True)  # the star: a change that waits
    assert (none.ecc, none.persistence, none.mig, none.display) == (None, None, None, True)
    assert broken.ecc.uncorrected_volatile == 12


def test_a_card_of_errors_alone_is_lost_and_one_error_is_an_error():
    errors = dict.fromkeys(("fan", "heat", "state", "draw", "limit", "busy", "compute", "ecc"), "ERR!")
    well, dead, no_fan = cards_of(table({}, errors, {"fan": "ERR!", "draw": "ERR!"}))
    assert (well.state, dead.state, no_fan.state) == ("ok", "lost", "ok")
    assert (no_fan.power.draw_w, no_fan.thermal.fans, no_fan.thermal.gpu_c) == (None, (), 26)


PROGRAMS = """
| Processes:                                                                              |
|=========================================================================================|
|    0   N/A  N/A            3279      G   /usr/lib/xorg/Xorg                       35MiB |
|    0   N/A  N/A           90001      C   ...envs/my env/bin/python3.12         70400MiB |
|    2     3    0             512    C+G   [Not Found]                              N/A   |
|    3   Not Supported                                                                    |
+-----------------------------------------------------------------------------------------+
"""


def test_programs_stand_under_their_cards():
    first, idle, third, silent = cards_of(table({}, {}, {}, {}, after=PROGRAMS))
    assert [(one.pid, one.name, one.kind, one.mem_bytes) for one in first.programs] == [
        (3279, "/usr/lib/xorg/Xorg", "graphics", 35 * MIB),
        (90001, "...envs/my env/bin/python3.12", "compute", 70400 * MIB),
    ]
    assert idle.programs == ()
    assert [(one.pid, one.mem_bytes) for one in third.programs] == [(512, None)]
    assert silent.programs is None
    assert card_of(table({})).programs is None  # cut off above them
    assert card_of(table({}, after="|  No running processes found   |\n")).programs == ()
    old = "|    0       489      G   /usr/bin/X                                  1025MiB |\n"
    assert [one.pid for one in card_of(table({}, after=old)).programs] == [489]


def test_instances_stand_under_their_card():
    instances = """
| MIG devices:                                                                            |
|==================+==================================+===========+=======================|
|  0    2   0   0  |              44MiB / 71424MiB    | 60      0 |  3   0    3    0    3 |
|                  |               0MiB / 59241MiB    |           |                       |
|  0    5   0   1  |              12MiB / 71424MiB    | 60      0 |  3   0    3    0    3 |
"""
    card = card_of(table({"mig": "Enabled", "ecc": "On", "busy": "N/A"}, after=instances))
    assert [(one.gpu_instance, one.compute_instance, one.mem_total_bytes) for one in card.slices] == [
        (2, 0, 71424 * MIB),
        (5, 0, 71424 * MIB),
    ]
    assert card.ecc.on is True


TOPO = """\
        GPU0    GPU1    mlx5_0  rocep1s0        CPU Affinity    NUMA Affinity   GPU NUMA ID
GPU0     X      SOC     PIX     SYS     0-47    0               4
GPU1    SOC      X      SYS     PIX     48-95   1               12
mlx5_0  PIX     SYS      X      SYS
"""


def test_a_matrix_is_read_whatever_its_network_cards_are_called():
    assert [(one.a, one.b, one.kind) for one in paths_of(TOPO)] == [(0, 1, "SYS")]  # SOC was its name
    assert numa_of(TOPO) == {0: 0, 1: 1}
    grace = TOPO.replace("0-47    0 ", "0-71    0,3-9,11-17 ").replace("48-95   1 ", "72-143  1,19-25 ")
    assert numa_of(grace) == {0: 0, 1: 1}
    collapsed = "\n".join(" ".join(line.split()) for line in TOPO.splitlines())
    assert (paths_of(collapsed), numa_of(collapsed)) == (paths_of(TOPO), numa_of(TOPO))
    assert paths_of("\tGPU0\tGPU1\nGPU0\tX\tGNS\nGPU1\tGNS\tX\n") == ()  # of topo -p2p


SESSION = (
    "user@node:~$ nvidia-smi\n"
    + table({}, {"bus": "00000000:68:00.0"})
    + "user@node:~$ nvidia-smi topo -m\n"
    + TOPO
    + "(base) user@node:~$ sudo nvidia-smi nvlink -s\nGPU 0: NVIDIA Some Card (UUID: GPU-1a)\n\t Link 0: 50 GB/s\n"
    + "user@node:~$ nvidia-smi\nUnable to determine the device handle for GPU0000:9B:00.0: Unknown Error\n"
)


@pytest.mark.parametrize("change", ["", "prompts", "indented", "web"])
def test_a_session_of_many_commands_is_one_machine(change):
    text = SESSION
    if change == "prompts":
        text = "\n".join(line for line in text.splitlines() if "$ " not in line)
    if change == "indented":
        text = "\n".join(f"    {line}" for line in text.splitlines())
    if change == "web":
        text = text.replace(" ", "\xa0")
    fields = dict(read_capture(text).fields)
    first, second, gone = fields["devices"]
    assert [(one.index, one.state, one.numa_node) for one in (first, second, gone)] == [
        (0, "ok", 0),
        (1, "ok", 1),
        (2, "lost", None),
    ]
    assert (first.mem_total_bytes, len(first.links), gone.pci) == (183359 * MIB, 1, "0000:9b:00.0")
    assert [one.kind for one in fields["paths"]] == ["SYS"]


def test_of_a_table_printed_twice_the_first_counts():
    again = table({"busy": "7%"}) + table({"busy": "99%"})
    assert card_of(again).busy_share == pytest.approx(0.07)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure ...",
            codes.why(codes.NOT_LOADED),
        ),
        (
            "$ nvidia-smi\nFailed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.124",
            codes.why(codes.MISMATCH),
        ),
        ("Failed to initialize NVML: Unknown Error", "Failed to initialize NVML: Unknown Error"),
        ("No devices were found", "No devices were found"),
    ],
)
def test_what_it_says_instead_of_an_answer_is_the_drivers_error(said, error):
    machine = read_machine(said.encode(), name="pasted")
    assert machine.software.driver_error == str(error)
    assert [str(one.why) for one in machine.unseen if one.what == "devices"] == [str(error)]


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ("Unable to determine the device handle for GPU0000:17:00.0: Unknown Error", "lost"),
        ("Unable to determine the device handle for GPU 0000:17:00.0: GPU is lost.  Reboot", "lost"),
        ("Unable to determine the device handle for gpu 0000:17:00.0: Not Found", "lost"),
        (
            "Unable to determine the device handle for GPU 00000000:17:00.0: Insufficient Permissions",
            "denied",
        ),
    ],
)
def test_a_card_that_is_only_complained_of_is_there(said, state):
    machine = read_machine(said.encode(), name="pasted")
    assert [(one.pci, one.state) for one in machine.devices] == [("0000:17:00.0", state)]
    assert machine.unseen


LOG = """\
==============NVSMI LOG==============

Driver Version                         : 610.43.02 [Deprecated; use KMD Version instead]
CUDA Version                           : 13.3 [Deprecated; use CUDA UMD Version instead]
KMD Version                            : 610.43.02
CUDA UMD Version                       : 13.3

Attached GPUs                          : 1
GPU 00000000:83:00.0
    Product Name                       : NVIDIA H200
    MIG Device
        Index                          : 0
        GPU Instance ID                : 2
        Compute Instance ID            : 0
        Shared FB Memory Usage
            Total                      : 71424 MiB
            Used                       : 44 MiB
    Performance State                  : {state}
    Temperature
        GPU Current Temp               : {heat}
        GPU Current T.Limit Temp       : 47 C
        Memory Max Operating T.Limit Temp Specification: 0 C
    GPU Power Readings
        Instantaneous Power Draw       : 130.66 W
        GPU Ceiling Power Limit
            Current Power Limit        : 600.00 W
            Default Power Limit        : 700.00 W
        Min Power Limit                : 200.00 W
    Module Power Readings
        Current Power Limit            : N/A
    Processes                          : {programs}
"""


@pytest.mark.parametrize("edge", ["", "    ", "\t"])
def test_a_log_of_driver_610_is_read_from_any_edge(edge):
    text = LOG.format(state="P0", heat="40 C", programs="None")
    fields = dict(read_log("\n".join(edge + line for line in text.splitlines())).fields)
    assert (fields["software"].driver, fields["software"].driver_cuda) == ("610.43.02", "13.3")
    (card,) = fields["devices"]
    assert (card.power.limit_w, card.power.limit_default_w, card.power.limit_min_w) == (600, 700, 200)
    assert (card.thermal.margin_c, card.slices[0].mem_total_bytes, card.programs) == (47, 71424 * MIB, ())


def test_a_log_of_a_dead_card_and_a_list_that_was_not_read():
    (dead,) = dict(read_log(LOG.format(state="Unknown Error", heat="Unknown Error", programs="N/A")).fields)[
        "devices"
    ]
    assert (dead.state, dead.programs) == ("lost", None)
    twice = LOG.format(state="P0", heat="40 C", programs="None") * 2
    assert len(dict(read_log(twice).fields)["devices"]) == 1


def test_xml_of_driver_610_and_of_2011():
    new = (
        "<nvidia_smi_log><driver_version>610.43.02 [Deprecated]</driver_version><kmd_version>610.43.02</kmd_version>"
        "<gpu id='00000000:01:00.0'><gpu_power_readings><gpu_ceiling_power_limit><current_power_limit>250 W"
        "</current_power_limit></gpu_ceiling_power_limit></gpu_power_readings></gpu></nvidia_smi_log>"
    )
    fields = dict(read_xml(new + new).fields)  # asked twice: the first counts
    (card,) = fields["devices"]
    assert (fields["software"].driver, card.power.limit_w, card.programs) == ("610.43.02", 250, None)
    old = (
        '<nvidia_smi_log><driver_version>270.41.06</driver_version><gpu id="0:1:0"><memory_usage><total>511 Mb</total>'
        "</memory_usage></gpu></nvidia_smi_log>"
    )
    (card,) = dict(read_xml(old).fields)["devices"]
    assert (card.pci, card.mem_total_bytes) == (None, 511 * MIB)


def test_a_query_of_driver_610_names_its_driver_anew():
    told = "index, name, kmd_version\n0, NVIDIA B200, 610.43.02\n"
    assert dict(read_sheet(told).fields)["software"].driver == "610.43.02"


@given(st.data())
def test_a_session_may_be_cut_and_changed_anywhere(data):
    at = data.draw(st.integers(0, len(SESSION) - 1))
    end = data.draw(st.integers(at, len(SESSION)))
    other = data.draw(st.text(max_size=12))
    text = SESSION[:at] + other + SESSION[end:]
    try:
        machine = read_machine(text.encode("utf-8", "replace"), name="pasted")
    except RigError:
        return
    assert len({one.index for one in machine.devices}) == len(machine.devices)

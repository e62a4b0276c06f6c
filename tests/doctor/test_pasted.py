"""What people paste into reports, through the doctor: what is plainly wrong is found, and nothing else."""

# ruff: noqa: E501 - the tables are as wide as the program prints them
from __future__ import annotations

import pytest

from rigright.doctor.examine import case_of, examine
from rigright.machine.opened import read_machine

HEAD = "| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |\n"
CARD = """\
|   {index}  {name: <27} {mode: >4}  | 00000000:{bus}:00.0 Off | {ecc: >20} |
|{fan: >4}  {heat: >4}   {state: >4}  {draw: >12} / {limit: >5}  | {memory: <22} | {busy: >8} {compute: >12} |
|                                         |                        | {mig: >20} |
"""
USUAL = {
    "name": "NVIDIA H100 80GB HBM3", "mode": "On", "ecc": "0", "fan": "N/A", "heat": "31C", "state": "P0",
    "draw": "71W", "limit": "700W", "memory": "4MiB / 81559MiB", "busy": "0%", "compute": "Default",
    "mig": "Disabled",
}  # fmt: skip
DEAD = dict.fromkeys(("fan", "heat", "state", "draw", "limit", "busy", "compute", "ecc"), "ERR!")
LSPCI = """\
0000:16:01.0 PCI bridge [0604]: Intel Corporation Device [8086:352a] (rev 04)
\tBus: primary=16, secondary=19, subordinate=19, sec-latency=0
\tLnkCap:\tPort #1, Speed 32GT/s, Width x16, ASPM not supported
\tLnkSta:\tSpeed 32GT/s, Width x{lanes} {told}
0000:19:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev {revision})
\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\tLnkSta:\tSpeed 32GT/s, Width x{lanes} {told}
\tKernel driver in use: nvidia
"""
LINKS = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-aaaaaaaa-1111-2222-3333-444444444444)\n" + "".join(
    f"\t Link {link}: {'<inactive>' if link == 3 else '26.562 GB/s'}\n" for link in range(18)
)
IBSTATUS = """\
Infiniband device 'mlx5_2' port 1 status:
\tstate:\t\t 1: DOWN
\tphys state:\t 2: Polling
\trate:\t\t 10 Gb/sec (4X SDR)
\tlink_layer:\t InfiniBand
"""
RDMA = """\
link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 13 sm_lid 1 lmc 0 state ACTIVE physical_state LINK_UP
link mlx5_1/1 subnet_prefix fe80:0000:0000:0000 lid 65535 sm_lid 0 lmc 0 state DOWN physical_state POLLING
"""
ALONE = LSPCI[LSPCI.index("0000:19:00.0") :]
LOADED = "|    0   N/A  N/A            3279      C   python                                 70000MiB |\n"


def table(changed=None, count=8, after=""):
    rows = (
        CARD.format(**{**USUAL, "index": index, "bus": f"{index + 16:02X}", **(changed or {}).get(index, {})})
        for index in range(count)
    )
    return HEAD + "".join(rows) + after


def findings(text):
    examined = examine(case_of(read_machine(text.encode(), name="pasted.txt")))
    return {(check, one.severity, one.about) for check, one in examined.findings}


ENVIRONMENT = """\
PyTorch version: 2.5.1+cu124
CUDA used to build PyTorch: 12.4
Python version: 3.12.3 (main) [GCC 13.3.0]
Python platform: Linux-6.8.0-52-generic-x86_64-with-glibc2.39
GPU models and configuration: GPU 0: {card}
Nvidia driver version: 580.95.05
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (table({3: DEAD}), ("gpu_answers", "fault", "gpu 3")),
        (table({5: {"ecc": "12"}}), ("ecc_uncorrected", "fault", "gpu 5")),
        (
            table({1: {"memory": "70100MiB / 81559MiB"}}, after=LOADED),
            ("gpu_memory_held", "note", "gpu 1"),
        ),
        (table({6: {"mig": "Disabled*"}}), ("mig_pending", "note", "gpu 6")),
        (
            table(count=7, after="Unable to determine the device handle for GPU0000:17:00.0: Unknown Error\n"),
            ("gpu_answers", "fault", "gpu 7"),
        ),
        ("Failed to initialize NVML: Driver/library version mismatch\n", ("gpu_driver", "fault", None)),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", ("gpu_driver", "fault", None)),
        ("No devices were found\n", ("gpu_driver", "fault", None)),
        (LSPCI.format(lanes=8, told="(downgraded)", revision="a1"), ("pcie_width", "warning", "0000:19:00.0")),
        (LSPCI.format(lanes=16, told="", revision="ff"), ("gpu_answers", "fault", "0000:19:00.0")),
        (ALONE.format(lanes=4, told="(downgraded)", revision="a1"), ("pcie_width", "warning", "0000:19:00.0")),
        (ALONE.format(lanes=8, told="(downgraded)", revision="a1"), ("pcie_width", "note", "0000:19:00.0")),
        (LINKS, ("nvlink_down", "fault", "gpu 0")),
        (IBSTATUS, ("ib_ports", "warning", "mlx5_2/1")),
        (RDMA, ("ib_ports", "warning", "mlx5_1/1")),
        ("mlx5_0 port 1 ==> ib0 (Up)\nmlx5_1 port 1 ==> ib1 (Down)\n", ("messages", "warning", "mlx5_1 port 1")),
        ("nouveau 2437120 4\nttm 110592 2 drm_ttm_helper,nouveau\n", ("driver_nouveau", "fault", None)),
        ("$ env\nHOME=/root\nCUDA_LAUNCH_BLOCKING=1\nCUDA_VISIBLE_DEVICES=0,1\n", ("slow_variables", "warning", None)),
        ("Failed to initialize NVML: Unknown Error\n", ("gpu_driver", "fault", None)),
        (ENVIRONMENT.format(card="NVIDIA GeForce RTX 5090"), ("torch_chip", "fault", "python, NVIDIA GeForce RTX 5090")),
    ],
)  # fmt: skip
def test_what_a_pasted_text_plainly_shows_is_found(text, found):
    check, _, about = found
    shown = {one for one in findings(text) if one[::2] == (check, about)}
    assert shown == {found}, findings(text)


SPARK = {"name": "NVIDIA GB10", "memory": "Not Supported", "limit": "N/A", "ecc": "N/A", "mig": "N/A"}


@pytest.mark.parametrize(
    "text",
    [
        table(),
        table({0: {"memory": "70100MiB / 81559MiB", "busy": "99%"}}, after=LOADED),
        table({0: SPARK}, count=1),
        LSPCI.format(lanes=16, told="", revision="a1"),
        ENVIRONMENT.format(card="NVIDIA GeForce RTX 4090"),
    ],
)
def test_a_sound_machine_has_no_finding(text):
    assert findings(text) == set()

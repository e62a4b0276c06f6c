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

"""The environment that reports about PyTorch, vLLM and SGLang carry: cards, driver, paths, PyTorch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import RigError
from rigright.doctor.examine import case_of, examine
from rigright.machine.opened import read_machine

TORCH = """\
Collecting environment information...
PyTorch version: 2.5.1+cu124
Is debug build: False
CUDA used to build PyTorch: 12.4
ROCM used to build PyTorch: N/A

OS: Ubuntu 24.04.1 LTS (x86_64)
Python version: 3.12.3 (main, Jan 17 2025, 18:03:48) [GCC 13.3.0] (64-bit runtime)
Python platform: Linux-6.8.0-52-generic-x86_64-with-glibc2.39
Is CUDA available: True
CUDA runtime version: Could not collect
GPU models and configuration:{cards}
Nvidia driver version: {driver}
cuDNN version: Could not collect
"""
MATRIX = """\
        GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity   GPU NUMA ID
GPU0     X      NV12    NODE    0-31    0               N/A
GPU1    NV12     X      SYS     32-63   1               N/A
NIC0    NODE    SYS      X
"""
VLLM = (
    TORCH.replace(": ", "  : ").format(cards=" \nGPU 0: Some H100\nGPU 1: Some H100\n", driver="575.51.03")
    + "GPU Topology:\n"
    + MATRIX
)
SGLANG = f"""\
Python: 3.11.7 (main, Dec 15 2023, 18:12:31) [GCC 11.2.0]
CUDA available: True
GPU 0,1: NVIDIA RTX A6000
GPU 0,1 Compute Capability: 8.6
CUDA Driver Version: 545.23.08
PyTorch: 2.4.0+cu121
NVIDIA Topology:
{MATRIX}"""


BLIND = TORCH.replace("available: True", "available: False").format(
    cards=" GPU 0: NVIDIA H100 80GB HBM3", driver="580.95.05"
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (BLIND, {("torch_blind", "fault")}),
        (BLIND.replace("580.95.05", "450.80.02"), {("torch_driver", "fault")}),
        (
            BLIND.replace("+cu124", "+cpu").replace("PyTorch: 12.4", "PyTorch: None"),
            {("torch_cpu_only", "warning")},
        ),
        (BLIND.replace("available: False", "available: True"), set()),
    ],
)
def test_why_pytorch_finds_no_card_is_told_once(text, found):
    told = examine(case_of(machine_of(text)), ("torch_blind", "torch_driver", "torch_cpu_only")).findings
    assert {(check, one.severity) for check, one in told} == found


def machine_of(text):
    return read_machine(text.encode(), name="report.txt")


def test_one_card_stands_beside_its_heading():
    machine = machine_of(TORCH.format(cards=" GPU 0: NVIDIA GeForce RTX 4090", driver="551.88"))
    assert [(one.index, one.name) for one in machine.devices] == [(0, "NVIDIA GeForce RTX 4090")]
    assert machine.software.driver == "551.88"
    assert (machine.system.os_name, machine.system.kernel, machine.system.arch) == (
        "Ubuntu 24.04.1 LTS",
        "6.8.0-52-generic",
        "x86_64",
    )
    (python,) = machine.software.pythons
    (torch,) = python.frameworks
    assert (python.version, torch.version, torch.build, torch.cuda) == ("3.12.3", "2.5.1", "cu124", "12.4")


@pytest.mark.parametrize(("text", "driver"), [(VLLM, "575.51.03"), (SGLANG, "545.23.08")])
def test_many_cards_and_how_they_reach_each_other(text, driver):
    machine = machine_of(text)
    assert [(one.index, one.numa_node) for one in machine.devices] == [(0, 0), (1, 1)]
    assert len({one.name for one in machine.devices}) == 1
    assert machine.devices[0].name
    assert [(one.a, one.b, one.kind) for one in machine.paths] == [(0, 1, "NV12")]
    assert machine.software.driver == driver


def test_windows_below_is_known_by_its_kernel():
    text = TORCH.format(cards=" GPU 0: NVIDIA T4", driver="551.88")
    below = text.replace("6.8.0-52-generic", "5.15.153.1-microsoft-standard-WSL2")
    assert machine_of(below).system.virtual == "wsl2"
    assert machine_of(text).system.virtual is None


@given(st.data())
def test_a_report_may_be_cut_and_changed_anywhere(data):
    at = data.draw(st.integers(0, len(VLLM) - 1))
    end = data.draw(st.integers(at, min(len(VLLM), at + 300)))
    text = VLLM[:at] + data.draw(st.text(max_size=12)) + VLLM[end:]
    try:
        machine = read_machine(text.encode("utf-8", "replace"), name="report.txt")
    except RigError:
        return
    assert len({one.index for one in machine.devices}) == len(machine.devices)

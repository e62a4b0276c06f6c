"""A processor by the words a machine has for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.facts.cpus import cpu_named, cpus


@pytest.mark.parametrize("cpu", cpus(), ids=lambda cpu: cpu.id)
def test_each_processor_is_found_by_its_own_name(cpu):
    assert cpu_named(cpu.name) == cpu


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("Intel(R) Xeon(R) Platinum 8480+", "Intel Xeon Platinum 8480+"),
        ("Intel(R) Xeon(R) Platinum 8462Y+", "Intel Xeon Platinum 8462Y+"),
        ("Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz", "Intel Xeon Platinum 8380"),
        ("AMD EPYC 9654 96-Core Processor", "AMD EPYC 9654"),
        ("AMD EPYC 7763 64-Core Processor", "AMD EPYC 7763"),
        ("AMD Ryzen 9 7950X 16-Core Processor", "AMD Ryzen 9 7950X"),
        ("AMD Ryzen 9 7950X3D 16-Core Processor", "AMD Ryzen 9 7950X3D"),
        ("AMD Ryzen Threadripper 7960X 24-Cores", "AMD Threadripper 7960X"),
        ("AMD Ryzen Threadripper PRO 7995WX 96-Cores", "AMD Threadripper PRO 7995WX"),
        ("13th Gen Intel(R) Core(TM) i9-13900K", "Intel Core i9-13900K"),
        ("Intel(R) Core(TM) Ultra 9 285K", "Intel Core Ultra 9 285K"),
    ],
)
def test_names_as_machines_tell_them(told, name):
    assert cpu_named(told).name == name


@pytest.mark.parametrize(
    "told", [None, "", "Intel(R) Xeon(R) Processor", "Arm Neoverse V2", "AMD EPYC", "QEMU Virtual CPU"]
)
def test_names_that_mean_none(told):
    assert cpu_named(told) is None


@given(st.text(max_size=300))
def test_any_name_is_taken(told):
    cpu_named(told)

"""Every check at its rows of the ledger: it finds, it is content, it cannot see, it is not concerned."""

from __future__ import annotations

from functools import cache

import pytest
from ledger import finds, is_apart, is_fine, is_unseen, made, named
from test_checks_counted import LEDGER

from rigright.doctor.examine import examine

BESIDE = {  # checks that a planted fault concerns as well
    "alike_names": {"device_order"},
    "alike_settings": {"ecc_mode", "gpu_compute_mode", "gpu_memory_total", "power_limit"},
    "amd_override": {"torch_rocm"},
    "baseline_bench": {"bench_slow"},
    "baseline_traits": {"driver_ended", "fabric_service", "gpu_count", "pcie_driver", "torch_driver"},
    "device_order": {"alike_names"},
    "driver_chip": {
        "driver_ended",
        "driver_open",
        "fabric_service",
        "pcie_driver",
        "torch_chip",
        "torch_driver",
    },
    "driver_ended": {"driver_chip", "fabric_service", "torch_driver"},
    "driver_open": {"gpu_genuine", "gpu_memory_total", "pcie_width", "torch_chip"},
    "ecc_mode": {"alike_settings"},
    "fabric_imex": {"fabric_service", "gpu_genuine", "gpu_memory_total"},
    "gpu_answers": {"gpu_count"},
    "gpu_compute_mode": {"alike_settings"},
    "gpu_count": {"pcie_driver"},
    "gpu_files": {"pcie_slot", "torch_rocm"},
    "gpu_memory_total": {"alike_settings"},
    "gpu_wanted": {"gpu_count", "pcie_driver"},
    "memory_swap": {"memory_size"},
    "mig_pending": {"alike_settings", "mig_slices"},
    "mig_slices": {"alike_settings", "mig_pending"},
    "pcie_driver": {"gpu_count"},
    "pcie_slot": {"nvlink_down"},
    "power_limit": {"alike_settings", "power_draw"},
    "thermal_margin": {"thermal_uneven"},
    "topology": {"nvlink_paths"},
    "torch_blind": {"visible_devices"},
    "torch_driver": {"driver_ended", "fabric_service"},
    "torch_rocm": {"amd_override"},
    "upgrades_unattended": {"fabric_service"},
    "xid_repeated": {"xid_events"},
}


@cache
def whole(on):
    """What every check finds on an unchanged machine."""
    return said({"on": on})


def said(change):
    """Each finding of all checks by its check and what it is about."""
    return {(check, one.about) for check, one in examine(made(change)).findings}


@pytest.mark.parametrize("check", named(LEDGER, "finds"))
def test_each_fault_is_found(check):
    finds(check, LEDGER[check])


@pytest.mark.parametrize("check", named(LEDGER, "finds"))
def test_nothing_else_is_said_of_a_fault(check):
    others = {
        name
        for change, _, _ in LEDGER[check].finds
        for name, _ in said(change) - whole(change.get("on", "server"))
    }
    assert others - {check} == BESIDE.get(check, set())


@pytest.mark.parametrize("check", named(LEDGER, "fine"))
def test_a_good_machine_gets_a_good_word(check):
    is_fine(check, LEDGER[check])


@pytest.mark.parametrize("check", named(LEDGER, "unseen"))
def test_what_is_not_told_is_not_observed(check):
    is_unseen(check, LEDGER[check])


@pytest.mark.parametrize("check", named(LEDGER, "apart"))
def test_what_it_does_not_concern_is_left_alone(check):
    is_apart(check, LEDGER[check])

"""What other tools cry over and this one must not: expectations are of the very model, and of its load."""

from __future__ import annotations

from dataclasses import replace

import pytest
from boxes import UP_S, alarms, box, eight, findings, h100, over, rtx4090, two

from rigright.base.units import GIB, MEGA
from rigright.doctor.examine import case_of, examine
from rigright.machine.device import DirectLink, Ecc, Retired
from rigright.machine.host import Memory
from rigright.machine.system import Software, System

NO_LINKS = tuple(DirectLink(index=link, active=False) for link in range(12))


def pcie_card(index, **changed):
    """An H100 with a slot: it can take a bridge, and mostly has none."""
    return h100(
        index, **{"name": "NVIDIA H100 PCIe", "pci_id": "10de:2331", "sms": 114, "fabric": None} | changed
    )


def all_eight(changes):
    """The same with each card."""
    return {index: dict(changes) for index in range(8)}


@pytest.mark.parametrize("links", [(), None, NO_LINKS])
def test_pcie_cards_without_a_bridge_have_no_nvlink_fault(links):
    cards = [pcie_card(index, links=links, power__limit_default_w=700) for index in range(2)]
    assert alarms(box(cards, kind="NODE")) == []


def test_a_single_card_of_a_board_needs_no_links_and_no_fabric():
    alone = h100(0, links=NO_LINKS)
    alone = over(alone, fabric__state="not started", fabric__status=None)
    rented = System(virtual="kvm", container="none", up_s=UP_S)
    assert findings(box([alone], system=rented)) == []


def test_the_driver_of_a_card_before_hopper_tells_no_fabric():
    cards = [h100(index, fabric=None) for index in range(8)]
    assert findings(box(cards)) == []


def test_resting_cards_at_low_clocks_are_not_judged():
    rest = {"busy_share": 0.0, "pstate": 8, "slowed_by": ("idle",), "clocks__sm_hz": 210 * MEGA}
    rest |= {"power__draw_w": 24.0, "pcie__gen": 1}
    assert findings(two({0: rest, 1: rest})) == []


def test_the_power_limit_under_load_is_how_cards_are_meant_to_run():
    assert findings(eight(all_eight({"slowed_by": ("sw_power_cap",)}))) == []


def test_default_application_clocks_below_the_most_are_no_finding():
    held = {"clocks__sm_app_hz": 1275 * MEGA, "clocks__sm_app_default_hz": 1275 * MEGA}
    assert findings(eight(all_eight(held))) == []


def test_a_board_made_for_gen1_x1_readings_is_left_alone():
    one = rtx4090(0, name="NVIDIA GB10", pci_id="10de:2e12", unified_memory=True, mem_total_bytes=None)
    one = over(one, sms=48, bus_bits=None, power__limit_w=None, power__limit_default_w=None, links=None)
    one = over(one, pcie__gen=1, pcie__lanes=1, mem_used_bytes=None)
    memory = Memory(total_bytes=120 * GIB, available_bytes=100 * GIB)
    assert findings(box([one], memory=memory)) == []


def test_a_margin_of_nothing_is_not_believed_against_temperature_and_limit():
    assert findings(eight({2: {"thermal__margin_c": 0}})) == []
    assert findings(eight({2: {"thermal__margin_c": -3, "thermal__slowdown_c": None}})) == []


def test_millions_of_corrected_errors_on_all_cards_are_life():
    assert findings(eight(all_eight({"ecc__corrected_volatile": 400_000}))) == []


def test_cards_without_error_correction_say_nothing_of_it():
    assert findings(two({0: {"ecc": Ecc(on=False), "retired": Retired()}})) == []


def test_geforce_refuses_peer_copies_and_that_is_no_finding():
    assert findings(two(peer=False)) == []


def test_a_fabric_that_starts_with_the_machine_is_given_time():
    machine = eight(all_eight({"fabric__state": "in progress", "fabric__status": None}))
    fresh = replace(machine, system=replace(machine.system, up_s=90.0))
    assert alarms(fresh) == []
    assert len(alarms(machine)) == 8


def test_windows_has_no_persistence():
    off = {index: {"persistence": False} for index in range(2)}
    assert findings(two(off, system=System(virtual="wsl2", container="none"))) == []


def test_a_screen_keeps_the_driver_loaded():
    screen = {"persistence": False, "display": True, "mem_used_bytes": 1.2 * GIB, "programs": None}
    assert findings(box([rtx4090(0, **screen)])) == []


def test_memory_of_a_card_with_error_correction_in_gddr_is_complete():
    t4 = rtx4090(0, name="Tesla T4", pci_id="10de:1eb8", sms=40, bus_bits=256, links=())
    t4 = over(t4, mem_total_bytes=15360 * MEGA * 1.048576, power__limit_w=70, power__limit_default_w=70)
    t4 = over(t4, power__draw_w=66.0, thermal__fans=())
    assert alarms(box([t4])) == []


def test_a_machine_without_accelerators_is_not_ill():
    assert [one for one in findings(box([])) if one[0].startswith(("gpu", "nvlink", "xid", "ecc"))] == []


def test_nothing_of_nvidia_is_asked_of_a_machine_of_amd():
    card = rtx4090(0, vendor="amd", name="AMD Instinct MI100", pci_id="1002:738c", links=None, programs=None)
    machine = box([card], software=Software(driver="6.3.6"))
    asked = [
        one for one in examine(case_of(machine)).checks if one.check.startswith("driver_") and one.verdicts
    ]
    assert asked == []

"""One fault planted in a healthy machine: its check finds it on its card, and nothing else is said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from boxes import NOW_S, alarms, box, eight, finding, findings, h100, over, rtx4090, two, xid

from rigright.base.units import GIB, MEGA
from rigright.doctor.record import Wanted
from rigright.machine.bench.record import Result
from rigright.machine.device import DirectLink, Program, Slice
from rigright.machine.host import Memory, Path
from rigright.machine.system import Event

DOWN = tuple(DirectLink(index=link, active=link > 1) for link in range(18))
NOISY = tuple(
    DirectLink(index=link, active=True, errors=(("recovery", 2 * (link == 4)),)) for link in range(18)
)

PLANTED = [  # check, severity, what is changed on card 3 of eight H100
    ("gpu_answers", "fault", {"state": "lost", "name": None}),
    ("gpu_answers", "fault", {"state": "hung"}),
    ("gpu_recovery", "fault", {"recovery": "gpu reset"}),
    ("gpu_recovery", "fault", {"recovery": "node reboot"}),
    ("gpu_recovery", "fault", {"recovery": "drain p2p"}),
    ("gpu_recovery", "fault", {"recovery": "recover imex"}),
    ("gpu_recovery", "fault", {"recovery": "bus reset"}),
    ("ecc_uncorrected", "fault", {"ecc__uncorrected_volatile": 1, "ecc__uncorrected_aggregate": 1}),
    ("ecc_uncorrected", "note", {"ecc__uncorrected_aggregate": 4}),
    ("ecc_corrected", "warning", {"ecc__corrected_volatile": 20_000_000}),
    ("ecc_corrected", "note", {"ecc__corrected_volatile": 1_000}),
    ("ecc_sram", "fault", {"ecc__sram_over_threshold": True, "ecc__sram_uncorrected_aggregate": 900}),
    ("ecc_sram", "note", {"ecc__sram_uncorrected_aggregate": 1}),
    ("rows_remapped", "warning", {"retired__rows_pending": True}),
    ("rows_remapped", "fault", {"retired__rows_failed": True, "retired__rows_pending": True}),
    ("rows_remapped", "warning", {"retired__banks": (("max", 2559), ("none", 1))}),
    ("rows_remapped", "note", {"retired__banks": (("max", 2559), ("low", 1))}),
    ("pages_retired", "fault", {"retired__pages_single": 20, "retired__pages_double": 40}),
    ("pages_retired", "warning", {"retired__pages_single": 0, "retired__pages_double": 16}),
    ("pages_retired", "warning", {"retired__pages_double": 1, "retired__pages_pending": True}),
    ("pages_retired", "note", {"retired__pages_single": 2, "retired__pages_double": 0}),
    ("gpu_genuine", "warning", {"sms": 114}),
    ("gpu_genuine", "warning", {"bus_bits": 4096}),
    ("gpu_persistence", "note", {"persistence": False}),
    ("gpu_memory_held", "warning", {"mem_used_bytes": 12 * GIB}),
    ("nvlink_down", "fault", {"links": DOWN}),
    ("nvlink_errors", "warning", {"links": NOISY}),
    ("fabric_state", "fault", {"fabric__state": "not started", "fabric__status": None}),
    ("fabric_state", "fault", {"fabric__health": "unhealthy"}),
    ("fabric_state", "fault", {"fabric__state": "in progress"}),
    ("gpu_throttled", "fault", {"slowed_by": ("hw_slowdown", "hw_power_brake")}),
    ("gpu_throttled", "warning", {"slowed_by": ("sw_thermal",)}),
    ("gpu_throttled", "warning", {"slowed_by": ("hw_thermal", "idle"), "busy_share": 0.0}),
    ("slowed_before", "warning", {"slowed_s": (("hw_thermal", 75.0),)}),
    ("slowed_before", "note", {"slowed_s": (("sw_thermal", 900.0),)}),
    ("thermal_memory", "warning", {"thermal__mem_c": 93}),
    ("thermal_memory", "fault", {"thermal__mem_c": 95}),
    ("thermal_uneven", "warning", {"thermal__gpu_c": 80}),
    ("power_draw", "warning", {"power__draw_w": 0.0}),
    ("power_draw", "warning", {"power__draw_w": 1200.0}),
    ("clocks_held", "warning", {"clocks__sm_app_hz": 1155 * MEGA}),
    ("clocks_low", "fault", {"clocks__sm_hz": 345 * MEGA}),
    ("clocks_low", "warning", {"pstate": 8}),
    ("mig_pending", "note", {"mig_after_reset": True}),
]


@pytest.mark.parametrize(("check", "severity", "changes"), PLANTED)
def test_a_planted_fault_is_found_on_its_card_and_alone(check, severity, changes):
    found = findings(eight({3: changes}))
    assert (check, severity, "gpu 3") in found
    assert [one for one in found if one[0] != check] == []


TWO_AT_ONCE = [  # one cause that two checks rightly see
    ({"thermal__gpu_c": 93}, {"thermal_margin", "thermal_uneven"}),
    ({"thermal__gpu_c": 88}, {"thermal_margin", "thermal_uneven"}),
    ({"power__limit_w": 500}, {"power_limit", "alike_settings"}),
    ({"ecc__on": False, "ecc__on_after_reboot": False}, {"ecc_mode", "alike_settings"}),
    ({"ecc__on_after_reboot": False}, {"ecc_mode"}),
    ({"mem_total_bytes": 64 * GIB}, {"gpu_memory_total", "alike_settings"}),
    ({"vbios": "96.00.61.00.01"}, {"alike_vbios"}),
    ({"compute_mode": "prohibited"}, {"gpu_compute_mode", "alike_settings"}),
    ({"compute_mode": "exclusive process"}, {"gpu_compute_mode", "alike_settings"}),
    ({"mig": True, "mig_after_reset": True}, {"mig_slices", "alike_settings"}),
]


@pytest.mark.parametrize(("changes", "checks"), TWO_AT_ONCE)
def test_what_two_checks_see_is_told_by_both(changes, checks):
    found = findings(eight({3: changes}))
    assert {check for check, _, _ in found} == checks
    assert {about for _, _, about in found} <= {"gpu 3", None}


def test_a_healthy_machine_raises_nothing():
    assert findings(eight()) == []
    assert findings(two()) == []


def test_seven_of_eight_are_one_short():
    machine = box([h100(index) for index in (0, 1, 2, 3, 4, 6, 7)])
    assert findings(machine) == [("gpu_count", "warning", None)]
    assert "7 of 8" in str(finding(machine, "gpu_count").title)


@pytest.mark.parametrize("shared", [{"container": "docker"}, {"virtual": "kvm"}])
def test_seven_in_a_container_or_rented_are_no_finding(shared):
    machine = box([h100(index) for index in range(7)])
    assert findings(replace(machine, system=replace(machine.system, **shared))) == []


def test_a_lost_card_is_not_told_of_twice():
    assert findings(eight({5: {"state": "lost", "name": None, "pci_id": None}})) == [
        ("gpu_answers", "fault", "gpu 5")
    ]


def test_a_plan_wants_its_own_cards():
    wanted = Wanted(chips=("h100-sxm5-80gb",) * 8, tp=8)
    assert alarms(eight(), wanted=wanted) == []
    assert alarms(eight({0: {"state": "lost"}}), "gpu_wanted", wanted=wanted) == [
        ("gpu_wanted", "fault", None)
    ]
    assert "rtx 4090" in str(finding(two(), "gpu_wanted", wanted=wanted).evidence[0].shows).lower()


def test_a_plan_wants_free_memory():
    busy = {"mem_used_bytes": 61 * GIB, "programs": (Program(pid=7, name="python", mem_bytes=60 * GIB),)}
    wanted = Wanted(chips=("h100-sxm5-80gb",) * 8)
    assert findings(eight({1: busy})) == []
    assert findings(eight({1: busy}), wanted=wanted) == [("gpu_memory_held", "warning", "gpu 1")]


def test_a_plan_over_cards_does_not_run_on_slices():
    cut = {"mig": True, "mig_after_reset": True, "slices": (Slice(gpu_instance=1, profile="1g.10gb"),)}
    machine = eight(dict.fromkeys(range(8), cut))
    assert findings(machine) == []
    wanted = Wanted(chips=("h100-sxm5-80gb",) * 8, tp=8)
    assert {one[:2] for one in findings(machine, wanted=wanted)} == {("mig_slices", "fault")}


def test_a_pair_that_goes_over_pcie_on_a_board_with_switches_is_a_fault():
    machine = eight()
    paths = tuple(replace(one, kind="SYS") if 6 in {one.a, one.b} else one for one in machine.paths)
    assert findings(replace(machine, paths=paths)) == [("nvlink_paths", "fault", "gpu 6")]


def test_four_a100_without_switches_share_their_links_out():
    cards = [
        h100(index, name="NVIDIA A100-SXM4-80GB", pci_id="10de:20b2", isa="8.0", sms=108, fabric=None)
        for index in range(4)
    ]
    cards = [replace(one, links=one.links[:12], clocks=replace(one.clocks)) for one in cards]
    assert findings(box(cards, kind="NV4")) == []


def test_refused_peer_copies_are_told_where_the_chip_may():
    cards = [h100(index, name="NVIDIA L40S", pci_id="10de:26b9", links=(), fabric=None) for index in range(4)]
    cards = [replace(one, sms=142, bus_bits=384, mem_total_bytes=44.99 * GIB, isa="8.9") for one in cards]
    assert findings(box(cards, kind="NODE", peer=True)) == []
    assert findings(box(cards, kind="NODE", peer=False)) == [("peer_access", "warning", None)]


def test_the_nearer_cards_are_named_for_a_plan():
    near = {frozenset({0, 2}), frozenset({1, 3})}
    machine = box([rtx4090(index) for index in range(4)])
    paths = tuple(
        replace(one, kind="PIX" if frozenset({one.a, one.b}) in near else "SYS", peer=False)
        for one in machine.paths
    )
    machine = replace(machine, paths=paths)
    wanted = Wanted(chips=("rtx-4090",) * 2, tp=2)
    found = finding(machine, "topology", wanted=wanted)
    assert found.severity == "warning"
    assert found.fix[0].command == "export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0,2"
    assert findings(machine) == []


def test_a_bridge_with_half_its_links_is_told_and_no_bridge_is_not():
    def pair(up):
        links = tuple(DirectLink(index=link, active=link < up) for link in range(4))
        cards = [
            rtx4090(index, name="NVIDIA GeForce RTX 3090", pci_id="10de:2204", sms=82, links=links)
            for index in range(2)
        ]
        return box(cards, kind=f"NV{up}" if up else "PHB", peer=bool(up))

    assert findings(pair(0)) == findings(pair(4)) == []
    assert {one[:2] for one in findings(pair(2))} == {("nvlink_down", "warning")}


def test_a_stopped_fan_is_told_only_when_it_is_warm():
    assert findings(two({1: {"thermal__fans": (0.6, 0.0)}})) == [("thermal_fans", "fault", "gpu 1")]
    cool = {"thermal__fans": (0.0, 0.0), "thermal__gpu_c": 38, "busy_share": 0.0, "slowed_by": ("idle",)}
    assert findings(two({1: cool})) == []


def test_cards_that_share_memory_with_the_processor():
    one = rtx4090(0, name="NVIDIA GB10", pci_id="10de:2e12", unified_memory=True, mem_total_bytes=None)
    one = over(one, sms=48, bus_bits=None, power__limit_w=None, power__limit_default_w=None, links=None)
    roomy = Memory(total_bytes=120 * GIB, available_bytes=100 * GIB)
    assert findings(box([one], memory=roomy)) == []
    full = replace(roomy, available_bytes=9 * GIB)
    assert findings(box([one], memory=full)) == [("gpu_unified", "note", "gpu 0")]


def test_cards_of_two_kinds_are_worth_knowing_and_a_warning_for_a_plan_over_both():
    other = {"name": "NVIDIA GeForce RTX 3090", "pci_id": "10de:2204", "sms": 82}
    assert ("alike_names", "note", None) in findings(two({1: other}))
    wanted = Wanted(chips=("rtx-4090", "rtx-3090"), tp=2)
    assert ("alike_names", "warning", None) in findings(two({1: other}), wanted=wanted)


def measured(value, *, card, what="bf16 square"):
    return Result(
        part="gemm",
        what=what,
        on=f"gpu {card}",
        value=value,
        unit="flops_per_s",
        low=0.99 * value,
        high=1.01 * value,
        repeats=50,
        chip="NVIDIA H100 80GB HBM3",
    )


@pytest.mark.parametrize(
    ("share", "severity"), [(0.99, None), (0.93, "note"), (0.85, "warning"), (0.74, "fault")]
)
def test_a_card_that_lags_behind_the_others_is_told_by_how_far(share, severity):
    rates = [6.6e13 * (share if card == 4 else 1) for card in range(8)]
    results = [measured(rate, card=card, what="fp32 square") for card, rate in enumerate(rates)]
    expected = [] if severity is None else [("bench_behind", severity, "gpu 4")]
    assert findings(eight(), "bench", results=results) == expected


def test_figures_below_what_the_hardware_reaches_are_told_though_all_cards_are_alike():
    good = [measured(7.6e14, card=card) for card in range(8)]
    slow = [measured(5.0e14, card=card) for card in range(8)]
    assert findings(eight(), "bench", results=good) == []
    assert {one[:2] for one in findings(eight(), "bench", results=slow)} == {("bench_slow", "warning")}
    assert "stas00" in str(finding(eight(), "bench_slow", results=slow[:1]).evidence[0].shows)


def test_two_cards_of_unlike_power():
    found = findings(two({1: {"power__limit_w": 320}}))
    assert ("alike_settings", "warning", "gpu 1") in found
    assert ("power_limit", "note", "gpu 1") in found


def test_a_screen_is_told_only_where_another_card_could_bear_it():
    screen = {"display": True, "mem_used_bytes": 0.5 * GIB}
    assert findings(two({0: screen})) == [("gpu_display", "note", "gpu 0")]
    assert findings(box([rtx4090(0, **screen)])) == []


def test_paths_of_other_vendors_do_not_matter_to_nvlink():
    card = rtx4090(0, vendor="amd", name="AMD Instinct MI300X", pci_id="1002:74a1", links=None, sms=304)
    cards = [replace(card, index=index, mem_total_bytes=191.5 * GIB) for index in range(8)]
    machine = box(cards, kind="SYS", peer=None)
    assert alarms(machine) == []
    assert Path(a=0, b=1, kind="SYS") in machine.paths


def test_events_of_a_card_that_is_gone_are_told_by_address():
    event = Event(kind="xid", text="NVRM: Xid (PCI:0000:99:00): 79", at_s=NOW_S, pci="0000:99:00", code=79)
    assert ("xid_events", "fault", "0000:99:00") in findings(eight(events=(event,)))
    assert xid(79).code == 79

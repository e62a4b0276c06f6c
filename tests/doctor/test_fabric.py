"""The fabric: rates of counters, full counters, ports of unlike cards, slots, carriers, states."""

from __future__ import annotations

from dataclasses import replace

import pytest
from boxes import NOW_S, UP_S, eight

from rigright.doctor.examine import case_of, examine
from rigright.doctor.record import Finding, NotSeen
from rigright.machine.host import PciDevice, Port
from rigright.machine.parts.network import rdma_kind
from rigright.machine.running.kernel_log import parsed
from rigright.machine.running.log_lines import events_of

GBIT = 1e9 / 8


def port(number, rate=400, **told):
    known = {"kind": "infiniband", "state": "up", "model": "MT4129", "lanes": 4}
    return Port(name=f"mlx5_{number}/1", bytes_per_s=rate * GBIT, **known | told)


def verdicts(check, *ports, before=None, **system):
    machine = eight(ports=ports)
    machine = replace(machine, system=replace(machine.system, **system))
    case = case_of(machine, before=before)
    return [verdict for one in examine(case, (check,)).checks for verdict in one.verdicts]


def found(*args, **given):
    told = [one for one in verdicts(*args, **given) if isinstance(one, Finding)]
    return [(one.severity, one.about) for one in told]


def earlier(*ports, hours=1.0):
    machine = eight(ports=ports)
    return replace(machine, system=replace(machine.system, now_s=NOW_S - hours * 3600))


@pytest.mark.parametrize(
    ("counter", "then", "now", "hours", "wanted"),
    [
        ("symbol_error", 9_000, 9_000, 1, []),  # many, and none since
        ("symbol_error", 9_000, 9_400, 1, [("warning", "mlx5_0/1")]),
        ("symbol_error", 9_000, 9_400, 24, []),
        ("link_downed", 3, 5, 1, [("warning", "mlx5_0/1")]),
        ("link_downed", 40, 40, 100, []),
        ("link_downed", 40, 2, 1, []),  # cleared in between, and few since
        ("port_xmit_discards", 0, 50_000, 1, []),
    ],
)
def test_two_readings_give_a_rate(counter, then, now, hours, wanted):
    before = earlier(port(0, counters=((counter, then),)), hours=hours)
    assert found("ib_errors", port(0, counters=((counter, now),)), before=before) == wanted


def test_two_readings_without_times_tell_growth():
    before = replace(eight(ports=(port(0, counters=(("link_downed", 3),)),)))
    before = replace(before, system=replace(before.system, now_s=None))
    now = port(0, counters=(("link_downed", 6),))
    assert found("ib_errors", now, before=before, now_s=None) == [("warning", "mlx5_0/1")]


@pytest.mark.parametrize(
    ("counter", "full", "kind"),
    [
        ("excessive_buffer_overrun_errors", 15, "infiniband"),
        ("local_link_integrity_errors", 15, "infiniband"),
        ("link_downed", 255, "infiniband"),
        ("link_error_recovery", 255, "infiniband"),
        ("symbol_error", 65535, "infiniband"),
    ],
)
def test_a_full_counter_is_not_observed(counter, full, kind):
    told = verdicts("ib_errors", port(0, kind=kind, counters=((counter, full),)), up_s=3600.0)
    assert isinstance(told[0], NotSeen)
    assert not [one for one in told if isinstance(one, Finding)]
    near = verdicts("ib_errors", port(0, kind=kind, counters=((counter, full - 1),)), up_s=3600.0)
    assert [one for one in near if isinstance(one, Finding)]


def test_a_card_that_counts_in_64_bits_is_not_full_at_255():
    card = PciDevice(address="0000:9c:00.0", id="14e4:1750")
    machine = eight(
        ports=(port(0, model=None, pci=card.address, counters=(("link_downed", 255),)),), pci=(card,)
    )
    machine = replace(machine, system=replace(machine.system, up_s=86400.0))
    (told,) = examine(case_of(machine), ("ib_errors",)).checks[0].verdicts
    assert isinstance(told, Finding)


@pytest.mark.parametrize(
    ("ports", "wanted"),
    [
        # storage of another board, iWARP and plain Ethernet are not held against the fabric
        ([port(0), port(1), port(2, 100, model="MT4123"), port(3, 100, kind="iwarp")], []),
        ([port(0), port(1), port(2, 200, board="MT_0000000884", model="MT41692")], []),
        ([port(n, 200 if n > 7 else 400) for n in range(10)], [("note", f"mlx5_{n}/1") for n in (8, 9)]),
        ([port(n) for n in range(7)] + [port(7, 200)], [("warning", "mlx5_7/1")]),
        # all alike, and all below what their board is made for
        ([port(0, 200, board="MT_0000000838")], [("warning", "mlx5_0/1")]),
        ([port(n, 200) for n in range(8)], []),
        # two lanes are what a port of 200 Gb/s has on a board of 200
        ([port(0, 200, lanes=2, board="MT_0000000884", model="MT41692")], []),
        # second ports of cards that nobody cabled
        ([port(n, pci=f"0000:1{n // 2}:00.{n % 2}", state=("up", "down")[n % 2]) for n in range(8)], []),
        ([port(0), port(1), port(2, 10, state="polling")], [("warning", "mlx5_2/1")]),
    ],
)  # fmt: skip
def test_ports_are_held_against_their_like(ports, wanted):
    assert found("ib_ports", *ports) == wanted


@pytest.mark.parametrize(
    ("layer", "node", "kind"),
    [
        ("InfiniBand", "1: CA", "infiniband"),
        ("Ethernet", "1: CA", "roce"),
        ("Ethernet", "4: RNIC", "iwarp"),
        ("Unspecified", "7: unspecified", "rdma"),
    ],
)
def test_what_a_port_speaks(layer, node, kind):
    assert rdma_kind(layer, node=node) == kind


def logged(*lines):
    stamped = "\n".join(f"[{UP_S - 60:.6f}] {line}" for line in lines)
    return events_of(parsed(stamped))


@pytest.mark.parametrize(
    ("rate", "wanted"), [(400, [("warning", "0000:9c:00.0")]), (25, []), (None, [("note", "0000:9c:00.0")])]
)
def test_a_slot_is_slow_only_for_a_port_that_needs_more(rate, wanted):
    line = (
        "mlx5_core 0000:9c:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8 link "
        "at 0000:9b:01.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)"
    )
    ports = () if rate is None else (port(0, rate, pci="0000:9c:00.0"),)
    machine = eight(ports=ports, events=logged(line))
    told = [one for _, one in examine(case_of(machine), ("log_nics",)).findings]
    assert [(one.severity, one.about) for one in told] == wanted


def test_sufficient_power_is_no_fault():
    assert not logged(
        "mlx5_core 0000:9c:00.0: mlx5_pcie_event:301: PCIe slot advertised sufficient power (27W)."
    )


def test_the_keeper_of_the_network_tells_of_lost_carriers_and_no_other_program_does():
    stamp = "Nov 22 10:00:0{} node7 {}: {}"
    lost = "ibp24s0: Lost carrier"
    lines = [stamp.format(n, "systemd-networkd[812]", lost) for n in range(3)]
    lines += [stamp.format(4, "mallory[9]", lost)]
    events = events_of(parsed("\n".join(lines)))
    assert [(one.kind, one.text) for one in events] == [("link", f"systemd-networkd[812]: {lost}")] * 3
    machine = eight(ports=(port(0),), events=tuple(replace(one, at_s=NOW_S - 60) for one in events))
    told = [one for _, one in examine(case_of(machine), ("log_links",)).findings]
    assert [(one.severity, one.about) for one in told] == [("warning", "ibp24s0")]


@pytest.mark.parametrize(
    ("fabrics"),
    [  # alike in a row, and no two rows alike
        (
            [{"state": "not started"}],
            [{"state": "in progress"}],
            [{"status": "error 4"}],
            [{"health": "unhealthy"}, {"route_broken": True}],
            [{"health": "limited capacity"}],
        )
    ],
)
def test_each_state_of_the_fabric_has_its_name(fabrics):
    machine = eight()
    first = machine.devices[0]
    titles = []
    for alike in fabrics:
        names = set()
        for fabric in alike:
            devices = (replace(first, fabric=replace(first.fabric, **fabric)), *machine.devices[1:])
            ((_, told),) = examine(case_of(replace(machine, devices=devices)), ("fabric_state",)).findings
            names.add(str(told.title))
        titles += names
    assert len(titles) == len(set(titles)) == len(fabrics)

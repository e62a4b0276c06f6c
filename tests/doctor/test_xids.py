"""XIDs of the kernel log: what they mean, how much they weigh, and what one must not read into them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from boxes import NOW_S, UP_S, eight, finding, findings, xid

from advised import filled
from rigright.doctor.examine import case_of, examine
from rigright.doctor.record import NotSeen
from rigright.facts.faults import xids
from rigright.machine.opened import open_machine
from rigright.machine.record import Machine
from rigright.machine.running.log_lines import events_of
from rigright.machine.system import Event
from rigright.verbs.look_up.verb import look_up

ACTIONS = {  # as NVIDIA's catalog of 2025-10 has them, by hand from there
    "restart_app": [
        8,
        11,
        13,
        25,
        31,
        32,
        39,
        40,
        41,
        68,
        69,
        70,
        80,
        82,
        86,
        89,
        94,
        96,
        105,
        126,
        135,
        139,
    ],
    "reset": [46, 48, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158],
    "none": [37, 38, 43, 44, 63, 66, 67, 92, 93, 106, 107, 121, 137, 141, 152, 153, 157, 160, 161],
    "reboot": [79],
    "cables": [54],
    "restart_vm": [151],
    "update": [78],
    "support": [142],
    "links": [74, 144, 145, 146, 147, 148, 149, 150],
    "recovery": [154],
    "look": [45, 171, 172],
}


@pytest.mark.parametrize(("action", "codes"), ACTIONS.items())
def test_the_action_is_that_of_the_catalog(action, codes):
    assert {code: xids()[code].action for code in codes} == dict.fromkeys(codes, action)


def test_the_table_covers_the_catalog():
    unused = {5, 10, 14, 15, 17, 23, 49, 50, 52, 53, 55, 87, 90, 91, 108}
    assert set(range(1, 173)) - unused == set(xids())
    assert {one.hardware for one in xids().values()} == {"y", "n", "either"}


@pytest.mark.parametrize(
    ("code", "severity"),
    [
        *((code, "fault") for code in (48, 54, 74, 79, 95, 119, 154)),
        *((code, "warning") for code in (92, 94, 142, 900)),
        *((code, "note") for code in (13, 31, 43, 63)),
    ],
)
def test_a_code_weighs_what_its_action_says(code, severity):
    assert findings(eight(events=(xid(code),)), "xid_events") == [("xid_events", severity, "gpu 2")]


def test_the_third_error_of_programs_on_a_card_weighs_more():
    many = tuple(xid(31, ago_s=60.0 * turn) for turn in range(3, 0, -1))
    assert findings(eight(events=many), "xid_events") == [("xid_events", "warning", "gpu 2")]
    assert "3" in filled(finding(eight(events=many), "xid_events").evidence[0].shows)


def test_a_week_later_or_after_a_boot_it_weighs_less():
    def weight(ago_s):
        return findings(eight(events=(xid(79, ago_s=ago_s),)), "xid_events")[0][1]

    assert [weight(3600.0), weight(8 * 86400.0), weight(UP_S + 60)] == ["fault", "warning", "warning"]


def test_a_cleanup_after_another_error_is_not_told_of_again():
    both = (xid(48), xid(45), xid(171), xid(154))
    assert [check for check, _, _ in findings(eight(events=both), "xid_events")] == ["xid_events"]
    assert findings(eight(events=(xid(45),)), "xid_events") == [("xid_events", "note", "gpu 2")]


def test_a_log_that_is_closed_is_not_an_empty_log():
    (closed,) = examine(case_of(eight(events=None)), ("xid_events",)).checks[0].verdicts
    assert isinstance(closed, NotSeen)
    assert "sudo" in closed.see
    assert examine(case_of(eight(events=())), ("xid_events",)).findings == ()


def test_programs_that_fail_on_one_card_alone_point_at_it():
    line = "NVRM: Xid (PCI:0000:1b:00): 13, Graphics SM Warp Exception on (GPC 2, TPC 1, SM 0)"
    one_card = [xid(13, pid=100 + turn, text=line) for turn in range(3)]
    found = findings(eight(events=tuple(one_card)), "xid_repeated")
    assert found == [("xid_repeated", "warning", "gpu 2")]
    shown = [str(one.shows) for one in finding(eight(events=tuple(one_card)), "xid_repeated").evidence]
    assert "GPC 2, TPC 1" in shown[1]
    elsewhere = xid(13, card=5, pid=999, text=line)
    assert findings(eight(events=(*one_card, elsewhere)), "xid_repeated") == []
    same_program = [replace(event, pid=7) for event in one_card]
    assert findings(eight(events=tuple(same_program)), "xid_repeated") == []


@pytest.mark.parametrize(
    ("line", "times", "severity"),
    [
        ("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up", 1, "fault"),
        ("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 MC TS", 1, "note"),
        ("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 MC TS", 12, "warning"),
    ],
)
def test_a_switch_says_itself_whether_it_is_fatal(line, times, severity):
    event = Event(kind="sxid", text=line, at_s=NOW_S - 60, pci="0000:c1:00.0", code=20034)
    found = findings(eight(events=(event,) * times), "sxid_events")
    assert found == [("sxid_events", severity, "0000:c1:00.0")]


def test_the_captured_log_tells_of_a_firmware_that_did_not_answer(shared):
    machine = open_machine(shared / "captures" / "logs" / "dmesg-with-xid-119.log")
    (found,) = [one for check, one in examine(case_of(machine)).findings if check == "xid_events"]
    assert found.title.text == "XID {code}: {meaning}"
    assert "XID 119" in str(found.title)
    # a log lists no cards: that none is listed does not make the card a dead one
    assert found.fix[0].command == "nvidia-smi --gpu-reset -i 0000:9b:00.0"


def commands_of(machine, check="xid_events"):
    return [one.command for one in finding(machine, check).fix if one.command]


RESET, REBOOT = "nvidia-smi --gpu-reset -i 2", "systemctl reboot"


def test_a_reset_goes_before_a_reboot_unless_the_card_is_gone():
    events = (xid(119),)
    assert commands_of(eight(events=events))[0] == RESET
    assert commands_of(eight({2: {"pci": "0000:ee:00.0"}}, events=events))[0] == REBOOT
    assert commands_of(eight({2: {"state": "lost"}}, events=events))[0] == REBOOT
    nowhere = Machine(events=(replace(events[0], pci=None),))
    assert commands_of(nowhere)[0] == "nvidia-smi --gpu-reset"


def test_what_a_reboot_mended_asks_for_no_other_and_what_it_did_not_goes_further():
    old, new = xid(79, ago_s=UP_S + 3600), xid(79)
    assert commands_of(eight(events=(new,)))[0] == REBOOT
    assert REBOOT not in commands_of(eight(events=(old,)))
    again = finding(eight(events=(old, new)), "xid_events")
    assert again.severity == "fault"
    assert REBOOT not in [step.command for step in again.fix[:2]]
    assert "RMA" in str(again.fix[1].says)


def test_a_silent_firmware_is_tied_to_its_card():
    beat = "NVRM: {gpu}_kgspIsHeartbeatTimedOut: Heartbeat timed out, currentTimeMs 1 heartbeat 0"
    told = xid(119, text="NVRM: Xid (PCI:0000:1b:00): 119, Timeout after 6s of waiting for RPC response")
    for line, beside, place in (
        (beat.format(gpu="GPU3 "), (), "0000:1c:00.0"),
        (beat.format(gpu=""), (told,), told.pci),
        (beat.format(gpu=""), (), None),
    ):
        event = Event(kind="driver", text=line, at_s=told.at_s + 2)
        machine = eight(events=(*beside, event))
        assert finding(machine, "log_driver").about == place
        want = (
            f"nvidia-smi --gpu-reset -i {3 if 'GPU3' in line else 2}" if place else "nvidia-smi --gpu-reset"
        )
        assert commands_of(machine, "log_driver")[:2] == [want, REBOOT]
    alone = eight(events=(Event(kind="driver", text=beat.format(gpu=""), at_s=NOW_S - 9),))
    one_card = replace(alone, devices=alone.devices[:1])
    assert finding(one_card, "log_driver").about == alone.devices[0].pci


def test_lines_of_the_log_come_to_the_same_findings_as_events():
    told = (
        "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        "NVRM: Xid (PCI:0000:1b:00): 45, pid=1, name=python, Ch 00000008",
    )
    machine = eight(events=events_of((None, UP_S - 60, line) for line in told))
    assert findings(machine, "xid_events") == [("xid_events", "fault", "gpu 2")]


def told(code, rest, *, card="1b", ago_s=60.0):
    line = f"NVRM: Xid (PCI:0000:{card}:00): {code}, {rest}"
    return replace(xid(code, ago_s=ago_s, text=line), pci=f"0000:{card}:00")


def to(action, **given):
    return told(154, f"GPU recovery action changed from 0x0 (None) to {action}", **given)


NONFATAL = told(145, "RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008 0x00000001)")
FATAL = told(149, "NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 0x00000000)")


@pytest.mark.parametrize(
    ("events", "severity", "command"),
    [
        ((NONFATAL,), "note", "nvidia-smi nvlink -e"),
        ((NONFATAL,) * 3, "warning", "nvidia-smi nvlink -e"),
        ((FATAL,), "fault", "nvidia-smi --gpu-reset -i 2"),
        ((NONFATAL, to("0x1 (GPU Reset Required)")), "fault", "nvidia-smi --gpu-reset -i 2"),
        ((FATAL, to("0x2 (Node Reboot Required)")), "fault", "systemctl reboot"),
        ((told(149, "words of another driver"),), "fault", "nvidia-smi nvlink -e"),
    ],
)
def test_nvlink_of_the_fifth_generation_says_itself_whether_it_is_fatal(events, severity, command):
    found = finding(eight(events=events), "xid_events")
    assert (found.severity, found.fix[0].command) == (severity, command)


@pytest.mark.parametrize(
    ("action", "severity", "command"),
    [
        ("0x0 (None)", "note", None),
        ("0x1 (GPU Reset Required)", "fault", "nvidia-smi --gpu-reset -i 2"),
        ("0x1 (PF FLR)", "fault", "nvidia-smi --gpu-reset -i 2"),
        ("0x2 (Node Reboot Required)", "fault", "systemctl reboot"),
        ("0x2 (OS Reboot)", "fault", "systemctl reboot"),
        ("0x4 (Drain and Reset)", "fault", None),
    ],
)
def test_a_recovery_that_stands_alone_is_what_its_line_names(action, severity, command):
    found = finding(eight(events=(to(action),)), "xid_events")
    assert found.severity == severity
    assert (found.fix[0].command if severity == "fault" else None) == command
    drained = [step.command for step in found.fix if step.command and "reset" in step.command]
    assert bool(drained) == ("Reset" in action or "FLR" in action)


def test_a_recovery_goes_with_the_error_before_it_on_the_same_card():
    bug, gsp = told(31, "MMU Fault"), told(119, "Timeout after 45s of waiting for RPC")
    other = told(43, "channel 0x0b00000a", card="1c")
    machine = eight(events=(bug, gsp, other, to("0x2 (Node Reboot Required)")))
    commands = {
        str(one.title)[:7]: (one.severity, one.fix[0].command)
        for _, one in examine(case_of(machine), ("xid_events",)).findings
    }
    assert commands["XID 119"] == ("fault", "systemctl reboot")  # not the catalog's reset
    assert commands["XID 31:"] == ("note", None)
    assert commands["XID 43:"][0] == "note"
    shown = [
        str(one.shows) for one in finding(eight(events=(gsp, to("0x2 (OS Reboot)"))), "xid_events").evidence
    ]
    assert "OS Reboot" in shown[-1]


def test_a_card_off_the_bus_is_told_of_once():
    lines = (
        "NVRM: Xid (PCI:0000:1b:00): 79, pid=0, GPU has fallen off the bus.",
        "NVRM: GPU 0000:1b:00.0: GPU has fallen off the bus.",
    )
    both = eight(events=events_of((None, UP_S - 60, line) for line in lines))
    assert [check for check, _, _ in findings(both, "xid_events", "log_driver")] == ["xid_events"]
    alone = eight(events=events_of([(None, UP_S - 60, lines[1])]))
    assert findings(alone, "log_driver") == [("log_driver", "fault", "0000:1b:00.0")]


def test_codes_can_be_looked_up_by_number_and_by_word():
    assert [one.code for one in look_up("xids", ("79", "xid48")).records] == [79, 48]
    assert {one.code for one in look_up("xids", ("掉线",)).records} == {79}
    assert 74 in {one.code for one in look_up("xids", ("nvlink",)).records}

"""What happened to one card one after another is one finding; what only happened at that time stays apart."""

from __future__ import annotations

import pytest

from rigright.base.words import tell
from rigright.doctor.examine import EXIT_FAULT, case_of, examine
from rigright.machine.opened import read_machine

AER = "pcieport 0000:80:01.1: AER: Uncorrected (Fatal) error received: 0000:80:01.1"
DOWN = "pcieport 0000:80:01.1: pciehp: Slot(12): Link Down"
LOST = "NVRM: Xid (PCI:0000:81:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
ASKS = "NVRM: Xid (PCI:0000:81:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot)"
OTHER = "NVRM: Xid (PCI:0000:9b:00): 79, pid=1, GPU has fallen off the bus."
PROGRAM = "NVRM: Xid (PCI:0000:9b:00): 13, pid=77, name=python, Graphics SM Warp Exception"
BUS = (
    "80:01.1 PCI bridge [0604]: Intel Corporation Device [8086:0db0] (prog-if 00 [Normal decode])\n"
    "\tBus: primary=80, secondary={bus}, subordinate={bus}, sec-latency=0\n"
    "80:03.1 PCI bridge [0604]: Intel Corporation Device [8086:0db0] (prog-if 00 [Normal decode])\n"
    "\tBus: primary=80, secondary={other}, subordinate={other}, sec-latency=0\n"
    "81:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)\n"
)


def findings(*lines, step_s=0.1, more=""):
    log = "".join(f"[{1000 + place * step_s:12.6f}] {line}\n" for place, line in enumerate(lines))
    found = examine(case_of(read_machine(f"$ dmesg\n{log}{more}".encode(), name="x"))).findings
    return {
        (check, one.about): [tell(item.shows, "en") for item in one.evidence]
        for check, one in found
        if one.severity == "fault"
    }


def chain_of(shown):
    """The links of the chain that is shown, in their order."""
    told = next((line for line in shown if " -> " in line), None)
    return told and told.partition(": ")[2].split(" -> ")


def test_a_fatal_link_error_is_not_told_under_one_that_is_not():
    line = "[Mon Nov  2 11:12:1{} 2026] NVRM: Xid (PCI:0019:01:00): {}, {} XC0 i0 Link 08 (0x3 0x0)\n"
    lines = line.format(3, 145, "RLW_SRC_TRACK Nonfatal") + line.format(4, 149, "NETIR_LINK_EVT Fatal")
    examined = examine(case_of(read_machine(lines.encode(), name="x")))
    assert examined.exit_code == EXIT_FAULT


def test_a_chain_is_one_finding_with_its_links_in_order():
    ((name, shown),) = findings(AER, DOWN, LOST, ASKS).items()
    assert name == ("xid_events", "0000:81:00.0")
    bus, link, *xids = chain_of(shown)
    assert bus.startswith("PCIe")
    assert link.startswith("PCIe")
    assert bus != link
    assert xids == ["Xid 79", "Xid 154"]
    assert all(part in "\n".join(shown) for part in ("Slot(12): Link Down", "Node Reboot"))


@pytest.mark.parametrize(
    ("lines", "step_s", "more", "joined"),
    [
        ((AER, DOWN, LOST), 0.1, "$ lspci -vvnn\n" + BUS.format(bus="81", other="99"), True),
        (
            (AER, DOWN, LOST),
            0.1,
            "$ lspci -vvnn\n" + BUS.format(bus="99", other="81"),
            False,
        ),  # the port leads elsewhere
        ((AER, LOST), 3600.0, "", False),  # an hour apart
        ((LOST, AER), 1.0, "", False),  # what comes after of a port above is no cause
    ],
)
def test_only_what_led_to_it_joins(lines, step_s, more, joined):
    found = findings(*lines, step_s=step_s, more=more)
    told = chain_of(found["xid_events", "0000:81:00.0"])
    assert (told is not None and told[0].startswith("PCIe")) == joined
    assert (("log_bus", "0000:80:01.1") in found) == (not joined)


def test_two_cards_are_two_findings():
    found = findings(LOST, ASKS, OTHER)
    assert set(found) == {("xid_events", "0000:81:00.0"), ("xid_events", "0000:9b:00.0")}
    assert chain_of(found["xid_events", "0000:81:00.0"]) == ["Xid 79", "Xid 154"]
    assert chain_of(found["xid_events", "0000:9b:00.0"]) is None


def test_an_error_of_a_program_before_it_is_no_link():
    mmu = "NVRM: Xid (PCI:0000:81:00): 31, pid=77, name=python, Ch 00000010, intr 00000000. MMU Fault"
    ((_, shown),) = findings(mmu, LOST, ASKS).items()
    assert chain_of(shown) == ["Xid 79", "Xid 154"]


def test_an_error_of_a_program_elsewhere_is_no_link():
    ((_, shown),) = findings(AER, LOST, PROGRAM).items()
    assert "Xid 13" not in (chain_of(shown) or ())


def test_logs_of_two_kinds_make_one_line_of_time():
    text = f"""$ dmesg -T
[Tue Jan 21 04:41:45 2025] {LOST}
$ journalctl -k -o short-iso
2025-01-21T04:41:44+00:00 node7 kernel: {AER}
2025-01-21T04:41:45+00:00 node7 kernel: {LOST}
2025-01-21T04:41:46+00:00 node7 kernel: {ASKS}
"""
    machine = read_machine(text.encode(), name="x")
    assert [(one.kind, one.code) for one in machine.events] == [("aer", None), ("xid", 79), ("xid", 154)]
    times = [one.at_s for one in machine.events]
    assert times == sorted(times)

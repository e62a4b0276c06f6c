"""Logs as people hand them over: stamps of every tool, records over many lines, boots, lines of others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.machine.opened import open_machine
from rigright.machine.running.kernel_log import MOST_CHARS, parsed
from rigright.machine.running.log_lines import MOST_PARTS, event_of, events_of, joined

XID = "NVRM: Xid (PCI:0000:41:00): 79, pid=0, GPU has fallen off the bus."
AT_S = 1_795_320_672.0  # 2026-11-22 04:11:12 UTC


def told(*lines):
    return [(one.kind, one.pci, one.code) for one in events_of(parsed("\n".join(lines)))]


@pytest.mark.parametrize(
    ("stamp", "at_s", "up_s"),
    [
        ("2026-11-22T04:11:12+00:00 node kernel:[75215.928853] ", AT_S, 75215.928853),
        ("10.0.0.9: kern: warning: [2026-11-22T04:11:12.291660856Z]: ", AT_S, None),
        ("kern: warning: [2026-11-22T04:11:12Z]: ", AT_S, None),
        ("[2026-11-22T04:11:12.513286+00:00] ", AT_S, None),
        ("Sun 2026-11-22 04:11:12 UTC node kernel: ", AT_S, None),
        ("2026-11-22T04:11:12,500000+00:00 ", AT_S, None),
        ("[   75.928853][ T1234] ", None, 75.928853),
        ("[   75.928853] [    C3] ", None, 75.928853),
        ("[  +0.000844] ", None, None),
        ("[Nov22 04:11] ", None, None),
        ("Nov 22 04:11:12.123456 node kernel: [   75.928853] ", None, 75.928853),
        ("Nov 22 04:11:12 kernel: [   75.928853] ", None, 75.928853),
    ],
)
def test_each_tool_stamps_in_its_own_way(stamp, at_s, up_s, tmp_path):
    ((told_at, told_up, text),) = parsed(stamp + XID)
    assert text == XID
    assert told_up == up_s
    assert told_at is None if at_s is None else told_at == pytest.approx(at_s, abs=1)
    file = tmp_path / "log.txt"
    file.write_text(f"{stamp}ACPI: Core revision 20240322\n" * 30 + stamp + XID)
    (event,) = open_machine(file).events
    assert (event.code, event.pci) == (79, "0000:41:00.0")


def test_what_other_programs_write_is_not_the_kernels_word(tmp_path):
    lines = (
        f"Nov 22 04:11:12 node gpu-watcher[812]: saw {XID}",
        f"2026-11-22T04:11:12.5+00:00 node logger: {XID}",
        "Nov 22 04:11:13 node containerd[9]: Out of memory: Killed process 31 (python) total-vm:1kB",
    )
    assert told(*lines) == []
    file = tmp_path / "syslog"
    file.write_text("\n".join((*lines * 8, f"Nov 22 04:11:14 node kernel: [   75.9] {XID}")))
    assert [one.code for one in open_machine(file).events] == [79]


def test_a_message_over_several_lines_names_its_card():
    assert told(
        "[ 18.1] NVRM: The NVIDIA GPU 0000:b3:00.0",
        "               NVRM: (PCI ID: 10de:0000) installed in this system has",
        "               NVRM: fallen off the bus and is not responding to commands.",
        "[ 18.2] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05",
        "[ 18.3] NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",
        "               NVRM: BAR1 is 0M @ 0x0 (PCI:0000:06:00.0)",
    ) == [("driver", "0000:b3:00.0", None), ("driver", "0000:06:00.0", None)]
    endless = "\n".join(["[ 18.1] NVRM: The NVIDIA GPU 0000:b3:00.0", *["  NVRM: and on"] * 20_000])
    assert max(len(text) for _, _, text in parsed(endless)) < 2 * MOST_CHARS


def firmware(mark, severity, section, *rest):
    parts = ("Hardware error from APEI Generic Hardware Error Source: 4", f"event severity: {severity}")
    parts += (f" Error 0, type: {severity}", f"  section_type: {section}", *rest)
    return [f"[ 90.{place}] {{{mark}}}[Hardware Error]: {part}" for place, part in enumerate(parts)]


def test_a_record_of_the_firmware_is_one_event():
    corrected = firmware(
        35, "corrected", "memory error", "  error_type: 2, single-bit ECC", "  node:6 card:1"
    )
    bus = firmware(36, "recoverable", "PCIe error", "  device_id: 0000:5e:00.0", "  slot: 9")
    log = "\n".join((*corrected, *bus, "[ 91.0] usb 1-1: new device"))
    found = events_of(parsed(log))
    assert [(one.kind, one.pci, one.up_s) for one in found] == [
        ("mce", None, 90.0),
        ("aer", "0000:5e:00.0", 90.0),
    ]
    assert "single-bit ECC" in found[0].text
    between = [corrected[0], "[ 90.5] " + XID, *corrected[1:]]
    assert sorted(kind for kind, _, _ in told(*between)) == ["mce", "xid"]


def test_what_firmware_tells_of_the_time_before_the_boot_is_marked():
    log = (
        "[ 1.0] BERT: Error records from previous boot:\n"
        "[ 1.1] [Hardware Error]: event severity: fatal\n"
        "[ 1.2] [Hardware Error]:   section_type: IA32/X64 processor error\n"
        "[ 1.3] [Hardware Error]:   Local APIC_ID: 0x34\n"
        "[ 2.0] EDAC MC3: 1 UE memory read error on CPU_SrcID#1\n"
    )
    found = events_of(parsed(log))
    assert [(one.kind, one.earlier) for one in found] == [("mce", True), ("mce", None)]
    assert "fatal" in found[0].text


def test_a_log_over_two_boots_tells_which_errors_are_of_the_last():
    boot = "Nov 22 04:{}:00 node kernel: [    0.000000] Linux version 6.8.0-40-generic (buildd@host)"
    lines = (boot.format(10), f"Nov 22 04:11:00 node kernel: [  60.0] {XID}", boot.format(20))
    after = f"Nov 22 04:21:00 node kernel: [  60.0] {XID}"
    assert [one.earlier for one in events_of(parsed("\n".join((*lines, after))))] == [True, None]
    journal = (f"[ 9.0] {XID}", "-- Boot 0123456789abcdef0123456789abcdef --", f"[ 9.0] {XID}")
    assert [one.earlier for one in events_of(parsed("\n".join(journal)))] == [True, None]


@pytest.mark.parametrize(
    ("line", "pci"),
    [
        ("AMD-Vi: Event logged [IO_PAGE_FAULT device=81:00.0 domain=0x0003 address=0x0]", "0000:81:00.0"),
        ("nvidia 0000:81:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x1 address=0x0]", "0000:81:00.0"),
        ("DMAR: [DMA Write] Request device [81:00.0] fault addr 0 [fault reason 05]", "0000:81:00.0"),
        ("DMAR: [DMA Read NO_PASID] Request device [0x81:0x00.0] fault addr 0x7", "0000:81:00.0"),
        ("pcieport 10000:00:01.0: PCIe Bus Error: severity=Corrected, type=Physical Layer", "10000:00:01.0"),
        ("NVRM: Xid (PCI:00010000:41:00): 43, pid=7, name=x", "10000:41:00.0"),
        ("NVRM: Xid (0001:00): 13, 0001 00000000", None),
        ("mlx5_core 0000:41:00.0: device's health compromised - reached miss count", "0000:41:00.0"),
        ("r8169 0000:04:00.0 eno1: Link is Down", "0000:04:00.0"),
    ],
)
def test_the_address_of_each_line(line, pci):
    assert event_of(line).pci == pci


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("INFO: rcu_sched self-detected stall on CPU { 2}  (t=21001 jiffies)", "hung"),
        ("NMI watchdog: Watchdog detected hard LOCKUP on cpu 1", "hung"),
        ("watchdog: Watchdog detected hard LOCKUP on cpu 1", "hung"),
        ("nvme nvme2: Removing after probe failure status: -19", "disk"),
        ("nvme0n1: I/O Cmd(0x2) @ LBA 32545872, 8 blocks, I/O Error (sct 0x3 / sc 0x71)", "disk"),
        ('XFS (vda4): metadata I/O error in "xfs_read" at daddr 0x1478 len 8 error 74', "disk"),
        ("md/raid1:md0: Disk failure on sda1, disabling device.", "disk"),
        ("mce: [Hardware Error]: CPU 5: Machine Check: 0 Bank 5: bea0000000000108", "mce"),
        ("Memory failure: 0xe16677: Sending SIGBUS to python:31 due to hardware memory corruption", "mce"),
        ("[drm] GPU HANG: ecode 9:0:0xfffffffe, reason: Hang on render ring, action: reset", "driver"),
        ("xe 0000:09:00.0: [drm] GT0: Engine reset: engine_class=ccs, logical_mask: 0x1", "driver"),
        ("amdgpu 0000:04:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24)", "driver"),
        ("amdgpu 0000:04:00.0: Ring gfx_0.0.0 reset failed", "driver"),
        ("amdgpu 0000:04:00.0: amdgpu: 2 new uncorrectable hardware errors detected in umc block", "driver"),
        ("NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring", "driver"),
        ("NVRM: GPU6 _kgspIsHeartbeatTimedOut: Heartbeat timed out, currentTimeMs 8", "driver"),
        ("bond0: (slave eth1): link status definitely down, disabling slave", "link"),
    ],
)
def test_newer_and_older_words_of_the_same_faults(line, kind):
    assert event_of(line).kind == kind


@pytest.mark.parametrize(
    "line",
    [
        "i915 0000:00:02.0: [drm] Bumping pre-emption timeout from 640 to 7500 on rcs'0.0",
        "i915 0000:00:02.0: [drm] failed to retrieve link info, disabling eDP",
        "amdgpu 0000:28:00.0: GPU reset succeeded, trying to resume",
        "amdgpu 0000:28:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block",
        "[Hardware Error]: TSC 0 ADDR 1ffffc0801ed6 MISC d012000100000000 SYND 4d000000",
        "Machine check polling timer started",
        "DMAR: DRHD: handling fault status reg 2",
        "pcieport 0000:80:1b.4: AER:   TLP Header: 0x34000000 0x00000052 0x00000000 0x00000000",
        "mlx5_core 0004:01:00.0: 63.008 Gb/s available PCIe bandwidth (8.0 GT/s PCIe x8 link)",
        "mlx5_core 0004:01:00.0: Port module event: module 0, Cable plugged",
        "NVRM: GPU at PCI:0000:09:00: GPU-00000000-0000-0000-0000-000000000000",
        "oom_reaper: reaped process 63214 (uwsgi), now anon-rss:0kB, file-rss:0kB, shmem-rss:92kB",
        "Lockdown: systemd-logind: hibernation is restricted; see man kernel_lockdown.7",
    ],
)
def test_words_that_only_look_like_faults(line):
    assert event_of(line) is None


MARKS = st.sampled_from(("", "{1}", "{2}", "BERT: Error records from previous boot:"))
PARTS = st.sampled_from(("event severity: fatal", "section_type: PCIe error", "x", "device_id: 0000:5e:00.0"))


@given(st.lists(st.tuples(MARKS, PARTS), max_size=40))
def test_records_in_any_order_lose_no_other_line(pieces):
    lines = [
        (None, float(place), mark if mark.startswith("BERT") else f"{mark}[Hardware Error]: {part}")
        for place, (mark, part) in enumerate(pieces)
    ]
    mixed = [one for line in lines for one in (line, (None, line[1], "plain"))]
    out = list(joined(mixed))
    assert sum(text == "plain" for _, _, text in out) == len(lines)
    assert len(out) <= len(mixed)
    assert all(text.count(";") < MOST_PARTS for _, _, text in out)


@pytest.mark.parametrize("word", ["0000:00:00.0 AER: ", "NVRM: GSP ", "mlx5_core 0000:00:00.0 ", "XFS (a): "])
def test_a_line_made_to_cost_much_is_cut_first(word):
    event = event_of(word * 20_000 + "error received: 0000:01:00.0 failed link down corruption")
    assert event is None or event.pci != "0000:01:00.0"

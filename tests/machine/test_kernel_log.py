"""The kernel's log in every form that people hand over, and the faults in it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_trees import planted
from rigright.machine.parts import events as part
from rigright.machine.running import messages
from rigright.machine.running.kernel_log import JOURNAL, is_stamped, parsed
from rigright.machine.running.log_lines import MOST_OF_A_KIND, event_of, events_of
from rigright.machine.world import World

NOW_S = 1_795_300_000.0


@pytest.mark.parametrize(
    ("line", "pci", "code", "pid", "program"),
    [
        (
            "NVRM: Xid (PCI:0000:9b:00): 119, pid=2024380, name=nvidia-smi, Timeout after 6s",
            "0000:9b:00.0",
            119,
            2024380,
            "nvidia-smi",
        ),
        (
            "NVRM: Xid (PCI:0000:03:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
            "0000:03:00.0",
            79,
            None,
            None,
        ),
        (
            "NVRM: Xid (PCI:0000:01:00): 31, Ch 0000001b, engmask 00000101, intr 10000000",
            "0000:01:00.0",
            31,
            None,
            None,
        ),
        ("NVRM: Xid (0000:05:00): 13, 0001 00000000 0000a040 00000248", "0000:05:00.0", 13, None, None),
        (
            "NVRM: Xid (PCI:0000:05:00 GPU-I:05): 94, pid=7194, name=python3, Ch 00000008",
            "0000:05:00.0",
            94,
            7194,
            "python3",
        ),
        ("NVRM: Xid (PCI:00000009:01:00): 154, GPU recovery action changed", "0009:01:00.0", 154, None, None),
    ],
)
def test_every_form_of_an_xid(line, pci, code, pid, program):
    event = event_of(line)
    assert (event.kind, event.pci, event.code, event.pid, event.program) == ("xid", pci, code, pid, program)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (
            (
                "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 22013, Non-fatal, Link 30 "
                "Minion Link DLREQ interrupt"
            ),
            "sxid",
        ),
        (
            (
                "NVRM: API mismatch: the client has the version 535.1, but this kernel "
                "module has the version 530.2"
            ),
            "driver",
        ),
        ("NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x26:0x56:1474)", "driver"),
        ("NVRM: The NVIDIA probe routine failed for 1 device(s).", "driver"),
        ("NVRM: GPU at PCI:0000:19:00: has fallen off the bus", "driver"),
        ("Loading of unsigned module is rejected", "driver"),
        ("amdgpu 0000:03:00.0: amdgpu: GPU reset begin!", "driver"),
        ("[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, signaled seq=1", "driver"),
        ("pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0", "aer"),
        (
            "nvidia 0000:17:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer",
            "aer",
        ),
        ("mce: [Hardware Error]: Machine check events logged", "mce"),
        ("EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0", "mce"),
        ("CPU3: Core temperature above threshold, cpu clock throttled (total events = 12)", "thermal"),
        ("Out of memory: Killed process 31337 (python) total-vm:1kB, anon-rss:2kB", "oom"),
        ("Memory cgroup out of memory: Killed process 7 (vllm) total-vm:1kB", "oom"),
        ("INFO: task nv_queue:1234 blocked for more than 120 seconds.", "hung"),
        ("nvme nvme0: I/O 12 QID 3 timeout, aborting", "disk"),
        ("blk_update_request: I/O error, dev sda, sector 1", "disk"),
        ("ata1.00: failed command: READ FPDMA QUEUED", "disk"),
        ("EXT4-fs error (device nvme0n1p2): ext4_find_entry:1455", "disk"),
        ("mlx5_core 0000:12:00.0 ib0: Link down", "link"),
        ("NVRM: knvlinkUpdateLinkConfig: NVLink training failed", "nvlink"),
    ],
)
def test_each_fault_is_told_by_its_kind(line, kind):
    assert event_of(line).kind == kind


@pytest.mark.parametrize(
    "line",
    [
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05",
        "nvidia: module verification failed: signature and/or required key missing - tainting kernel",
        "nvidia-nvlink: Nvlink Core is being initialized, major device number 511",
        "pcieport 0000:00:1c.0: AER: enabled with IRQ 122",
        "ata3: SATA link down (SStatus 4 SControl 300)",
        "nvme nvme0: 64/0/0 default/read/poll queues",
        "EDAC MC: Ver: 3.0.0",
        "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode",
        "mce: CPU0: Thermal monitoring enabled (TM1)",
        "[drm] amdgpu kernel modesetting enabled.",
        "x86/cpu: SGX disabled by BIOS.",
    ],
)
def test_what_every_healthy_machine_writes_is_no_fault(line):
    assert event_of(line) is None


def test_oom_tells_which_program_died():
    event = event_of("Out of memory: Killed process 31337 (pt_data_worker) total-vm:1kB")
    assert (event.pid, event.program) == (31337, "pt_data_worker")


@pytest.mark.parametrize(
    ("line", "at_s", "up_s"),
    [
        ("[   12.500000] NVRM: x", NOW_S - 100 + 12.5, 12.5),
        ("<6>[   12.500000] NVRM: x", NOW_S - 100 + 12.5, 12.5),
        ("kern  :err   : [   12.500000] NVRM: x", NOW_S - 100 + 12.5, 12.5),
        ("6,1234,12500000,-;NVRM: x", NOW_S - 100 + 12.5, 12.5),
        ("1714557600.123456 node7 kernel: NVRM: x", 1714557600.123456, None),
        ("2024-05-01T10:00:00.123456+00:00 node7 kernel: [   12.500000] NVRM: x", 1714557600.123456, 12.5),
        ("2024-05-01T10:00:00,123456+00:00 NVRM: x", 1714557600.123456, None),
        ("NVRM: x", None, None),
    ],
)
def test_the_stamp_of_each_form(line, at_s, up_s):
    ((told_at, told_up, text),) = parsed(line, now_s=NOW_S, up_s=100.0)
    assert text == "NVRM: x"
    assert told_up == up_s
    assert told_at == pytest.approx(at_s) if at_s else told_at is None


def test_stamps_of_local_time():
    local = time.strftime("%a %b %d %H:%M:%S %Y", time.localtime(NOW_S - 3600))
    ((calendar, _, _),) = parsed(f"[{local}] NVRM: x", now_s=NOW_S)
    assert calendar == pytest.approx(NOW_S - 3600, abs=1)
    short = time.strftime("%b %e %H:%M:%S", time.localtime(NOW_S - 3600))
    ((this_year, _, _),) = parsed(f"{short} host kernel: NVRM: x", now_s=NOW_S)
    assert this_year == pytest.approx(NOW_S - 3600, abs=1)
    later = time.strftime("%b %e %H:%M:%S", time.localtime(NOW_S + 30 * 86400))
    ((last_year, _, _),) = parsed(f"{later} host kernel: NVRM: x", now_s=NOW_S)
    assert last_year < NOW_S  # nothing has happened in the future
    ((unknown, _, _),) = parsed(f"{short} host kernel: NVRM: x")
    assert unknown is None


def test_the_captured_log(shared):
    text = (shared / "captures/logs/dmesg-with-xid-119.log").read_text()
    found = events_of(parsed(text))
    assert [(one.kind, one.code) for one in found] == [("xid", 119)] * 3 + [("driver", None)] + [
        ("xid", 119)
    ] * 2
    assert {one.pci for one in found if one.code} == {"0000:9b:00.0"}
    assert {one.program for one in found if one.code} == {"nvidia-smi", "cache_mgr_main", "gpud"}
    assert len(found) == sum("Xid" in line for line in text.splitlines()) + 1


def test_a_flood_of_one_kind_does_not_wash_the_others_away():
    flood = ["[ 1.0] pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0"] * (
        3 * MOST_OF_A_KIND
    )
    found = events_of(parsed("\n".join(["[ 0.5] NVRM: Xid (PCI:0000:01:00): 79, gone", *flood])))
    assert found[0].code == 79
    assert len(found) == 1 + MOST_OF_A_KIND


def test_the_journal_goes_before_dmesg_and_files(tmp_path):
    files = {
        "/var/log/kern.log": "2024-05-01T10:00:00+00:00 h kernel: [ 1.0] NVRM: Xid (PCI:0000:01:00): 31, x"
    }
    dmesg = {"dmesg": "[ 1.0] NVRM: Xid (PCI:0000:01:00): 43, x\n"}
    journal = {" ".join(JOURNAL): "1714557600.5 h kernel: NVRM: Xid (PCI:0000:01:00): 79, x\n"}

    def codes(name, commands):
        world = planted(tmp_path / name, {"files": files, "commands": commands})
        return [one.code for one in part.read(world).fields["events"]]

    assert codes("a", journal | dmesg) == [79]
    assert codes("b", dmesg) == [43]
    assert codes("c", {}) == [31]


def test_a_log_that_is_closed_is_not_an_empty_one(tmp_path):
    read = part.read(World(root=tmp_path))
    assert read.fields == {}
    assert read.unseen[0].see == "sudo dmesg"


@given(st.text(max_size=300))
def test_any_text_is_read_without_harm(text):
    for event in events_of(parsed(text, now_s=NOW_S, up_s=10.0)):
        assert event.kind


@given(st.lists(st.sampled_from("[]():.,<>' 0123456789abcdefNVRM:XidPCIkernel"), max_size=120).map("".join))
def test_near_misses_are_read_without_harm(text):
    events_of(parsed("NVRM: Xid (PCI:" + text, now_s=NOW_S))


# --- long, many and hostile


KINDS_OF_STAMP = (
    "[{n:12.6f}] {text}", "179000{n:04d}.123456 node7 kernel: {text}", "Nov  3 10:20:30 node7 kernel: {text}",
    "[Tue Nov  3 10:20:30 2026] {text}", "2026-11-03T10:20:30+00:00 node7 kernel: [{n:12.6f}] {text}",
    "Nov  3 10:20:30 node7 sshd[5]: {text}", "6,{n},{n},-;{text}", "{text}",
)  # fmt: skip


def test_of_a_storm_the_last_are_kept_with_their_times_and_their_boot():
    storm = [f"[{n:12.6f}] NVRM: Xid (PCI:0000:9b:00): 31, pid={n}, name=python3" for n in range(3000)]
    other = "[    1.000000] EDAC MC0: 1 UE memory read error on CPU_SrcID#0"
    lines = [other, *storm, "-- Boot 0123456789abcdef0123456789abcdef --", storm[7]]
    found = events_of(parsed("\n".join(lines)))
    assert [one.kind for one in found] == ["mce", *["xid"] * MOST_OF_A_KIND]
    assert [one.pid for one in found[1:]] == [*range(3000 - MOST_OF_A_KIND + 1, 3000), 7]
    assert [one.earlier for one in found] == [True] * MOST_OF_A_KIND + [None]
    assert found[-1].up_s == 7.0


PIECES = (
    *("NVRM: ", "nvlink ", "nvidia-nvlink ", "GSP ", "AER: ", "EDAC ", "0000:9b:00.0: ", "ata1", "nvme n: "),
    *("Xid (PCI:", "[", "kernel: ", " ", ": ", "a", "\x00", "\ud800", "２", "mlx5_core ", "md/raid", "{1}"),
)


@given(st.sampled_from(KINDS_OF_STAMP), st.lists(st.sampled_from(PIECES), min_size=1, max_size=4))
def test_a_line_made_to_cost_time_is_no_kernels(stamp, pieces):
    """Names of drivers over and over, over 100,000 characters: nothing is searched in vain, none fails."""
    line = stamp.format(n=1, text="".join(pieces) * (100_000 // len("".join(pieces))))
    assert len(events_of(parsed(line))) <= 1
    is_stamped(line)


def test_a_line_that_names_drivers_over_and_over_is_not_searched(monkeypatch):
    searched = []
    monkeypatch.setattr(messages, "fit", lambda *_: searched.append(1))
    assert event_of("NVRM: nvlink " * 40) is None
    assert searched == []
    event_of("NVRM: Xid (PCI:0000:9b:00): 31, pid=5, name=python3, " + "Ch 00000008, " * 30)
    assert searched == [1]


@pytest.mark.parametrize("stamp", ["[Tue Foo  3 10:20:30 2026] ", "[Tue Feb 30 10:20:30 2026] "])
def test_a_day_that_never_was_is_no_time(stamp):
    ((at_s, up_s, text),) = parsed(stamp + "NVRM: x")
    assert (at_s, up_s, text) == (None, None, "NVRM: x")

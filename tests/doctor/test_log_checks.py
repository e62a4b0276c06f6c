"""Lines of real logs as findings: what weighs, what is told once, and what is left alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from boxes import UP_S, eight, finding, findings, rtx4090

from advised import filled
from rigright.doctor.examine import case_of, examine
from rigright.machine.running.kernel_log import parsed
from rigright.machine.running.log_lines import events_of

LOGS = ("log_bus", "log_disks", "log_driver", "log_memory", "log_nics", "log_nvlink")


def logged(*lines, ago_s=60.0):
    stamped = "\n".join(line if line[:1] in " -" else f"[{UP_S - ago_s:.6f}] {line}" for line in lines)
    return eight(events=events_of(parsed(stamped)))


def weighed(*lines, **given):
    return [(check, severity) for check, severity, _ in findings(logged(*lines, **given), *LOGS)]


RECORD = (
    "{7}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 4",
    "{7}[Hardware Error]: event severity: SEVERITY",
    "{7}[Hardware Error]:  Error 0, type: SEVERITY",
    "{7}[Hardware Error]:   section_type: SECTION",
    "{7}[Hardware Error]:   device_id: 0000:5e:00.0",
    *(f"{{7}}[Hardware Error]:   more: {place}" for place in range(12)),
)


def record(severity, section):
    return [line.replace("SEVERITY", severity).replace("SECTION", section) for line in RECORD]


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (record("corrected", "memory error"), [("log_memory", "note")]),
        (record("recoverable", "memory error"), [("log_memory", "fault")]),
        (record("recoverable", "PCIe error"), [("log_bus", "warning")]),
        (record("fatal", "PCIe error"), [("log_bus", "fault")]),
        (record("info", "memory error"), []),
        (
            ["mce: [Hardware Error]: CPU 5: Machine Check: 0 Bank 5: bea0000000000108"],
            [("log_memory", "fault")],
        ),
        (
            ["mce: [Hardware Error]: CPU 5: Machine Check: 0 Bank 5: 9c20000000000108"],
            [("log_memory", "note")],
        ),
        (["nvidia 0000:1b:00.0: AER: can't recover (no error_detected callback)"], [("log_bus", "warning")]),
        (["amdgpu 0000:1b:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:32)"], [("log_driver", "note")]),
        (["amdgpu 0000:1b:00.0: Ring gfx_0.0.0 reset failed"], [("log_driver", "warning")]),
        (
            ["NVRM: GPU0 nvAssertFailedNoLog: Assertion failed: 0 @ gpu_mgr.c:289"],
            [("log_driver", "note")],
        ),
        (
            ["NVRM: GPU0 nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED]"],
            [("log_driver", "fault")],
        ),
        (
            [
                "NVRM: The NVIDIA GPU 0000:1b:00.0 (PCI ID: 10de:2b85)",
                "    NVRM: installed in this system requires use of the NVIDIA open kernel modules.",
            ],
            [("log_driver", "fault")],
        ),
        (
            [
                "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",
                "    NVRM: BAR1 is 0M @ 0x0 (PCI:0000:1b:00.0)",
            ],
            [("log_driver", "fault")],
        ),
        (
            ["mlx5_core 0000:5e:00.0: device's health compromised - reached miss count"],
            [("log_nics", "fault")],
        ),
        (
            [
                "NVRM: knvlinkUpdatePostRxDetectLinkMask_IMPL: Failed to update Rx Detect Link mask!",
                "NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer2's postRxDetLinkMask failed!",
            ],
            [("log_nvlink", "warning")],
        ),
        (
            [
                "NVRM: nvCheck: Check failed: NVLink fabric state cached by the driver is out of sync [0x87]",
                "NVRM: knvlinkSendInbandData_IMPL: Failed to send inband data: 0",
            ],
            [("log_nvlink", "warning")],
        ),
        (["NVRM: knvlinkSendInbandData_IMPL: Failed to send inband data: 0"] * 8, []),
        (["nvidia-nvlink: Nvlink Core is being initialized, major device number 511"], []),
        (["NVRM: knvlinkCoreShutdownDeviceLinks_IMPL: shutdown of all NVLink links for GPU0"], []),
        (["nvidia 0000:1b:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x1]"], [("log_bus", "warning")]),
        (["DMAR: [DMA Read] Request device [1b:00.0] fault addr 9c000000"], [("log_bus", "warning")]),
        (["DMAR: [DMA Read] Request device [00:02.0] fault addr 9c000000"], []),  # not a card: a boot's noise
    ],
)
def test_what_a_line_weighs(lines, wanted):
    assert weighed(*lines) == wanted


def test_two_lines_of_one_error_count_once():
    pair = (
        "pcieport 0000:00:1c.1: AER: Corrected error received: 0000:00:1c.1",
        "pcieport 0000:00:1c.1: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)",
    )
    assert weighed(*pair * 60) == []
    assert weighed(*pair * 100) == [("log_bus", "note")]
    assert "100" in filled(finding(logged(*pair * 100), "log_bus").evidence[0].shows)


@pytest.mark.parametrize(
    ("line", "disk"),
    [
        ("EXT4-fs error (device nvme0n1p2): ext4_find_entry:1455", "nvme0n1"),
        ("EXT4-fs error (device sda1): ext4_lookup:1", "sda"),
        ("XFS (vda4): Metadata corruption detected at xfs_buf_ioend+0x162/0x570", "vda"),
        ("I/O error, dev mmcblk0, sector 1 op 0x0:(READ)", "mmcblk0"),
        ("Buffer I/O error on dev dm-7, logical block 0, async page read", "dm-7"),
        ("nvme0n1: I/O Cmd(0x2) @ LBA 1, 8 blocks, I/O Error (sct 0x3 / sc 0x71)", "nvme0n1"),
    ],
)
def test_a_disk_is_called_by_its_name(line, disk):
    assert disk in filled(finding(logged(line), "log_disks").title)


def test_what_an_earlier_boot_told_weighs_less():
    line = "I/O error, dev nvme0n1, sector 1 op 0x0:(READ)"
    assert weighed(line) == [("log_disks", "fault")]
    assert weighed(line, "-- Boot 0123456789abcdef0123456789abcdef --") == [("log_disks", "warning")]
    before = ("BERT: Error records from previous boot:", "[Hardware Error]: event severity: fatal")
    assert weighed(*before) == [("log_memory", "warning")]


def test_the_driver_blind_for_its_links_is_told_once_with_how_often():
    """Hundreds of lines in pairs, as such a driver writes them; and it concerns cards with NVLink alone."""
    pair = (
        "NVRM: knvlinkUpdatePostRxDetectLinkMask_IMPL: Failed to update Rx Detect Link mask!",
        "NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer0's postRxDetLinkMask failed!",
    )
    blind = finding(logged(*pair * 40), "log_nvlink")
    assert "80" in filled(blind.evidence[0].shows)
    assert [one.command for one in blind.fix if one.disturbs] == ["systemctl reboot"]
    assert weighed(*pair, "-- Boot 0123456789abcdef0123456789abcdef --") == [("log_nvlink", "note")]
    without = replace(logged(*pair), devices=(rtx4090(0), rtx4090(1)))
    assert findings(without, *LOGS) == []


def test_a_job_that_met_its_own_limit_is_not_the_machine_out_of_memory():
    job = "Memory cgroup out of memory: Killed process 4242 (python) total-vm:9kB, anon-rss:8kB"
    machine = "Out of memory: Killed process 17 (mysqld) total-vm:9kB, anon-rss:8kB"
    shown = [one.title for _, one in examine(case_of(logged(job, machine)), ("log_memory",)).findings]
    assert [name in filled(one) for one, name in zip(shown, ("python", "mysqld"), strict=True)] == [True] * 2
    assert len({one.text for one in shown}) == 2, "they are two things"
    (alone,) = examine(case_of(logged(job)), ("log_memory",)).findings
    assert "--mem" in str(alone[1].fix[0].says)


def test_an_array_is_not_blamed_for_its_disk():
    failed = "md/raid1:md0: Disk failure on nvme0n1p2, disabling device."
    after = "Buffer I/O error on dev md0, logical block 0, lost async page write"
    (disk,) = examine(case_of(logged(failed, after)), ("log_disks",)).findings
    assert "nvme0n1" in filled(disk[1].title)
    (alone,) = examine(case_of(logged(after)), ("log_disks",)).findings
    assert "md0" in filled(alone[1].title)

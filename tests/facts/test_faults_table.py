"""Tables of faults: XIDs, reasons of slowness, lines of the kernel's log, groups of checks."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pynvml
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rigright.base.tables import DATA, raw_rows
from rigright.base.words import CHINESE, ENGLISH, tell
from rigright.doctor.checks.log_cards import log_driver
from rigright.doctor.examine import case_of, checks, group_of
from rigright.doctor.xid import steps_of
from rigright.facts.faults import slowdowns, xids
from rigright.machine.device import Device
from rigright.machine.record import Machine
from rigright.machine.running.log_lines import event_of
from rigright.machine.running.messages import GOOD, KERNEL, message_patterns
from rigright.machine.system import Event

NOW = {  # how the list words the action at once -> our word; the first that stands there, the longer first
    "workflow 48": "reset",
    "nvlink workflow": "links",
    "decode": "links",
    "none/reset": "recovery",
    "look at the other": "look",
    "restart vm": "restart_vm",
    "restart / ignore": None,  # either, by code
    "restart": "restart_app",
    "reboot": "reboot",
    "reset": "reset",
    "cables": "cables",
    "update": "update",
    "ignore": "none",
    "no action": None,
}
LINES_DRAWN = 30  # of each pattern
PROPER = {
    "C2C",
    "CUDA",
    "DLA",
    "GPU",
    "GSP",
    "InfoROM",
    "NVLink",
    "NVLink5",
    "SMBPBI",
    "SPI",
    "VGA",
    "XID",
    "vGPU",
}
CARD = Device(index=3, vendor="nvidia", name="NVIDIA H100 80GB HBM3", uuid="GPU-3", pci="0000:1b:00.0")


def codes_of(cell):
    """39-41, 70 -> 39 40 41 70."""
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", cell):
        yield from range(int(first), int(last or first) + 1)


def catalog(shared):
    """Code -> what the list of facts says to do at once, where it says one thing."""
    text = (shared / "ops.md").read_text(encoding="utf-8")
    part = text.partition("| XID | meaning |")[2].partition("\n\n")[0]
    found = {}
    for line in part.splitlines()[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        said = cells[2].lower()
        found_at = {said.index(start): word for start, word in reversed(NOW.items()) if start in said}
        word = found_at[min(found_at)] if found_at else None
        exceptions = {int(code): "support" for code in re.findall(r"\((\d+) support\)", said)}
        for code in codes_of(cells[0]):
            found[code] = exceptions.get(code, word)
    return found


def test_every_xid_of_the_list_has_the_action_of_the_list(shared):
    listed = catalog(shared)
    assert len(listed) > 90
    assert set(listed) <= set(xids()), "no code of the list is missing here"
    differing = {
        code: (word, xids()[code].action)
        for code, word in listed.items()
        if word is not None and xids()[code].action != word
    }
    assert differing == {}


@pytest.mark.parametrize("xid", xids().values(), ids=lambda one: str(one.code))
def test_an_xid(xid):
    assert 1 <= xid.code <= 200
    assert xid.hardware in {"y", "n", "either"}
    first = str(xid.meaning).split()[0]
    assert first.islower() or first in PROPER
    assert not str(xid.meaning).endswith(".")
    assert tell(xid.meaning, CHINESE) != tell(xid.meaning, ENGLISH)
    if xid.next == "replace" or xid.action in {"reboot", "links"}:
        assert xid.hardware != "n"
    if xid.action == "none" and xid.next == "none":
        assert xid.hardware == "n", "what asks for nothing blames nobody's hardware"


@pytest.mark.parametrize(
    "machine",
    [Machine(devices=(CARD,)), Machine(devices=(replace(CARD, pci="0000:99:00.0"),)), Machine()],
    ids=["the card answers", "the card is gone", "a log alone"],
)
def test_what_to_do_is_told_for_every_code_that_asks_for_something(machine):
    for xid in xids().values():
        event = Event(kind="xid", text="", code=xid.code, pci="0000:1b:00.0")
        steps = steps_of(xid, case_of(machine), same=[event])
        whole = [one.command for one in steps if one.command]
        if xid.action == "reset":
            gone = machine.devices and machine.devices[0].pci != event.pci
            assert ("systemctl reboot" in whole) == bool(gone), (
                "a reset goes before a reboot where one can be"
            )
        quiet = {"none"}
        assert bool(steps) == (xid.action not in quiet or xid.next not in quiet), xid.code
        for step in steps:
            assert "{" not in tell(step.says, CHINESE)
            command = step.command or ""
            assert "None" not in command, xid.code
            if "--gpu-reset" in command or "reboot" in command:
                assert step.disturbs, "what ends work says so"
                assert step.as_root


def test_codes_rise_and_unlisted_ones_are_unused():
    codes = list(xids())
    assert all(below < above for below, above in pairwise(codes))
    assert {48, 63, 64, 74, 79, 92, 94, 95, 119, 120, 140, 154} <= set(codes)


def test_xids_that_operators_act_on_are_never_the_programs_fault():
    """Codes that a public set of node checks takes nodes out for, without those that software causes too."""
    for code in (48, 62, 64, 74, 79, 95, 140):
        assert xids()[code].hardware in {"y", "either"}, code
    for code in (13, 31, 43):
        assert xids()[code].hardware in {"n", "either"}, code


# reasons of slowness


def test_reasons_are_the_bits_of_the_driver():
    theirs = {
        value
        for name, value in vars(pynvml).items()
        if re.fullmatch(r"nvmlClocks(?:Event|Throttle)Reason(?!None|All)\w+", name)
    }
    assert {one.bit for one in slowdowns().values()} == theirs


@pytest.mark.parametrize("one", slowdowns().values(), ids=lambda one: one.word)
def test_a_reason(one):
    assert one.bit.bit_count() == 1
    assert re.fullmatch(r"[a-z][a-z_]+", one.word)
    assert one.judged in {"none", "note", "warning", "fault"}
    for sentence in (one.meaning, one.short):
        assert tell(sentence, CHINESE) != str(sentence), "it has its Chinese"


def test_pasted_reasons_bear_the_words_of_the_driver_s():
    fields = [row["field"].partition(".") for _, row in raw_rows(DATA / "nvidia_smi.csv")]
    words = {name for part, _, name in fields if part == "slow"}
    assert words
    assert words <= slowdowns().keys()


def test_reasons_are_judged_as_the_facts_say():
    judged = {one.bit: one.judged for one in slowdowns().values()}
    assert judged[0x1] == "none"
    assert judged[0x4] == "note"
    assert judged[0x20] == "warning"
    assert {judged[bit] for bit in (0x8, 0x40, 0x80)} == {"fault"}


# lines of the log

LINES = {
    "mlx5_core 0000:9c:00.0: mlx5_pcie_event: Detected insufficient power on the PCIe slot (25W).": "nic",
    "NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer0's postRxDetLinkMask failed!": "nvlink",
    "NVRM: Xid (PCI:0000:9b:00): 119, pid=1234, name=python, Timeout after 6s of waiting": "xid",
    "NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.": "xid",
    "NVRM: Xid (PCI:0000:01:00): 31, pid='<unknown>', name=<unknown>, Ch 00000008": "xid",
    "NVRM: GPU at PCI:0000:1b:00: GPU-12345678-aaaa-bbbb-cccc-1234567890ab has fallen off the bus": "driver",
    "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up": "sxid",
    "NVRM: API mismatch: the client has the version 550.54.15, but": "driver",
    "Out of memory: Killed process 4242 (python3) total-vm:1kB": "oom",
    "pt_main_thread[25]: segfault at 7f ip 7f sp 7f error 4 in libnccl.so.2[7f+d3]": "crash",
    "traps: vllm[7] general protection fault ip:7f sp:7f error:0 in libcublasLt.so.12[7f+2]": "crash",
    "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping": "peermem",
    "VFS: file-max limit 1000000 reached": "files",
    "INFO: task nvidia-smi:991 blocked for more than 120 seconds.": "hung",
    "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [kworker/3:1:77]": "hung",
    "pcieport 0000:00:01.1: AER: Corrected error received: 0000:01:00.0": "aer",
    "nvidia 0000:c1:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x001c address=0x0]": "iommu",
    "DMAR: [DMA Read NO_PASID] Request device [c1:00.0] fault addr 0x100000": "iommu",
    "mce: [Hardware Error]: Machine check events logged": "mce",
    "EDAC MC0: 1 CE memory read error on CPU_SrcID#0": "mce",
    "nvme nvme0: I/O 23 QID 4 timeout, aborting": "disk",
    "blk_update_request: I/O error, dev sda, sector 2048 op 0x0:(READ)": "disk",
    "EXT4-fs error (device nvme0n1p2): ext4_find_entry:1463": "disk",
    "EXT4-fs (nvme0n1p2): Remounting filesystem read-only": "disk",
    "CPU3: Core temperature above threshold, cpu clock throttled": "thermal",
    "mlx5_core 0000:17:00.0 ens1f0np0: Link down": "link",
    "igb 0000:03:00.0 enp3s0: igb: enp3s0 NIC Link is Down": "link",
    "amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!": "driver",
}
QUIET = (
    "gedit[25]: segfault at 0 ip 7f sp 7f error 4 in libgtk-3.so.0[7f+d3]",
    "nvidia-nvlink: Nvlink Core is being initialized, major device number 234",
    "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build",
    "EXT4-fs (nvme0n1p2): mounted filesystem 1d2c with ordered data mode.",
    "nvme nvme0: 64/0/0 default/read/poll queues",
    "mlx5_core 0000:17:00.0 ens1f0np0: Link up",
    "igb 0000:03:00.0 enp3s0: igb: enp3s0 NIC Link is Up 1000 Mbps Full Duplex",
    "thermal_sys: Registered thermal governor 'step_wise'",
    "mce: CPU0: Thermal monitoring enabled (TM1)",
    "amdgpu 0000:c1:00.0: amdgpu: Fetched VBIOS from VFCT",
    "pcieport 0000:00:01.0: AER: enabled with IRQ 26",
    "rcu: RCU event tracing is enabled.",
)


@pytest.mark.parametrize(("line", "kind"), LINES.items())
def test_a_line_of_the_log_is_of_its_kind(line, kind):
    found = event_of(line)
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize("line", QUIET)
def test_a_quiet_line_tells_nothing(line):
    assert event_of(line) is None


def test_every_kind_of_line_is_planted_above():
    kinds = {row["kind"] for _, row in raw_rows(DATA / "messages.csv") if row["scope"] == "kernel"}
    assert kinds <= set(LINES.values())


KERNELS = [*message_patterns(KERNEL), *message_patterns(GOOD)]


@pytest.mark.parametrize("row", KERNELS, ids=lambda row: row.kind)
def test_a_line_that_a_pattern_fits_has_one_of_its_marks(row):
    """What the marks of a row rule out is never looked at."""

    @settings(max_examples=LINES_DRAWN, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.from_regex(row.pattern, alphabet=st.characters(min_codepoint=32, max_codepoint=126)))
    def holds(line):
        assert any(mark in line.lower() for mark in row.marks), line

    holds()


def test_no_line_of_a_driver_goes_unsaid():
    """The table holds faults alone: a finding comes of each, of the last block where no words say more."""
    machine = Machine(devices=(CARD,), events=(Event(kind="driver", text="NVRM: the zephyr blew"),))
    (finding,) = log_driver(case_of(machine))
    assert tell(finding.title, ENGLISH) == "GPU driver logged an error"


# groups of checks


def test_every_beginning_means_a_check_and_every_check_a_group():
    starts = [row["start"] for _, row in raw_rows(DATA / "check_groups.csv")]
    names = list(checks())
    idle = [start for start in starts if not any(n == start or n.startswith(f"{start}_") for n in names)]
    assert idle == [], "no check begins so any more"
    assert [name for name in names if group_of(name) == "other"] == []


def test_a_longer_beginning_has_another_group_than_the_shorter_one():
    groups = {row["start"]: row["group"] for _, row in raw_rows(DATA / "check_groups.csv")}
    for start, group in groups.items():
        for shorter, wider in groups.items():
            if start.startswith(f"{shorter}_"):
                assert group != wider, f"{start} says what {shorter} says already"

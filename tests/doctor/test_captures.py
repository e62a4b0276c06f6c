"""What real machines said, through the doctor; and whether the commands it names are real ones."""

from __future__ import annotations

import csv
import re

import pytest
from boxes import broken, eight, two, xid
from captured import captured, captures, examined

from rigright.base.tables import DATA
from rigright.doctor.examine import case_of, chosen, examine
from rigright.doctor.record import Finding, Fine, NotSeen
from rigright.report.formats.text import render
from rigright.report.pages.doctor import page
from rigright.report.screen import Screen

MOST_LINES = 12
KINDS = ("nvidia-smi-xml/*.xml", "nvidia-smi-text/*.txt", "amd/*.json", "pci/*.txt", "logs/*.log")
FAULTS = {  # what is really wrong with what was captured
    "dmesg-with-xid-119.log": {"xid_events", "log_driver"},
}


def sound(folder):
    return sorted(path for kind in KINDS for path in (folder / "captures").glob(kind))


def test_every_capture_is_examined_and_sound_ones_have_no_fault(shared):
    seen = 0
    for path in sound(shared):
        found = examined(path)
        seen += 1
        assert broken(found.checks) == [], path.name
        faults = {check for check, finding in found.findings if finding.severity == "fault"}
        assert faults <= FAULTS.get(path.name, set()), path.name
    assert seen >= 14


def test_what_is_sound_is_told_in_twelve_lines_with_the_answer_first(shared):
    """Of every capture, the new ones too; what has a fault begins with it."""
    seen = 0
    for path in captures(shared):
        found = examined(path)
        if found is None:
            continue
        first, *rest = render(page(found), Screen(width=100)).splitlines()
        bad = [finding for _, finding in found.findings if finding.severity != "note"]
        assert first.startswith(("✗", "!")) == bool(bad), first
        assert not first.startswith("✓") or found.fine, first
        assert bad or len(rest) < MOST_LINES, path.name
        seen += not bad
    assert seen >= 30


def test_cards_of_captures_are_recognised(shared):
    names = {
        "a10g.xml": "a10g",
        "a100-sxm4-v12.xml": "a100-sxm4-80gb",
        "tesla-t4.xml": "t4",
        "rtx-3090-v12.xml": "rtx-3090",
    }
    for name, chip in names.items():
        case = case_of(captured(shared / "captures" / "nvidia-smi-xml" / name))
        assert [one and one.id for one in case.chips] == [chip]


def test_a_card_cut_into_slices_is_told_as_such(shared):
    """The second opinion: nvidia-smi's own words beside ours."""
    path = shared / "captures" / "nvidia-smi-xml" / "a100-sxm4-v12.xml"
    assert "<current_mig>Enabled</current_mig>" in path.read_text()
    (mig,) = examine(case_of(captured(path)), ("mig_slices",)).checks
    assert all(isinstance(verdict, Fine | Finding) for verdict in mig.verdicts)
    assert mig.verdicts


@pytest.mark.parametrize(
    ("file", "shown", "check"),
    [
        ("tesla-t4.xml", "<persistence_mode>Disabled</persistence_mode>", "gpu_persistence"),
        ("tesla-t4.xml", "<current_link_width>8x</current_link_width>", "pcie_width"),
    ],
)
def test_what_nvidia_smi_shows_is_found(shared, file, shown, check):
    path = shared / "captures" / "nvidia-smi-xml" / file
    assert shown in path.read_text()
    assert check in {name for name, _ in examined(path).findings}


def commands():
    """Every nvidia-smi line that findings of faulty machines name."""
    bad = {
        "recovery": "gpu reset", "persistence": False, "compute_mode": "prohibited", "vbios": "x",
        "display": True, "mig_after_reset": True,
        "thermal__gpu_c": 95, "thermal__fans": (0.6, 0.0), "power__limit_w": 300,
        "ecc__uncorrected_volatile": 1, "ecc__on_after_reboot": False, "mem_used_bytes": 3e10,
    }  # fmt: skip
    machines = [eight({3: bad}, events=(xid(79), xid(48))), two({1: {"thermal__fans": (0.6, 0.0)}})]
    for machine in machines:
        for one in examine(case_of(machine)).checks:
            for verdict in one.verdicts:
                yield from lines_of(verdict)


def lines_of(verdict):
    if isinstance(verdict, Finding):
        yield from (item.command for item in (*verdict.evidence, *verdict.fix) if item.command)
        yield from (verdict.verify,) if verdict.verify else ()
    elif isinstance(verdict, NotSeen) and verdict.see:
        yield verdict.see


def listed(pattern):
    """Every part of the comma lists that the pattern finds in those lines."""
    return {part for line in commands() for found in re.findall(pattern, line) for part in found.split(",")}


def test_every_field_that_is_asked_of_nvidia_smi_is_one(shared):
    """Against the lists of fields that real drivers printed."""
    known = set()
    for path in (shared / "captures" / "nvidia-smi-text").glob("*.txt"):
        known |= set(re.findall(r"^([a-z_.0-9]+)$", path.read_text(), flags=re.MULTILINE))
    asked = listed(r"--query-gpu=(\S+)")
    assert asked
    assert sorted(asked - known - {"index"}) == []


def test_every_section_that_is_asked_of_nvidia_smi_is_one(shared):
    text = (shared / "captures" / "nvidia-smi-text").glob("*h100*.txt")
    told = next(text).read_text()
    sections = listed(r" -d ([A-Z_,]+)")
    assert sections
    assert [one for one in sections if one not in told] == []


def test_checks_that_benchmarks_point_to_exist():
    with (DATA / "bench_expected.csv").open(encoding="utf-8") as file:
        named = {name for row in csv.DictReader(file) for name in row["checks"].split()}
    missing = []
    for name in sorted(named):
        try:
            chosen((name,))
        except Exception:  # noqa: BLE001 - the list of them is what the test shows
            missing.append(name)
    assert missing == []

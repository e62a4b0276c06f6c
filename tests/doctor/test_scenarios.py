"""Every scenario through the doctor: the faults of its [expect] are found, and nothing else is an alarm."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache

import pytest
from boxes import broken
from judged import told

import scenes
from rigright.base.patience import NAME
from rigright.base.words import CHINESE, tell
from rigright.doctor.examine import RANKS, case_of, examine
from rigright.doctor.record import NotSeen
from rigright.machine.probe import probe
from rigright.report.formats import text
from rigright.report.pages import doctor as pages
from rigright.report.screen import Screen


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """A scenario's machine, examined, once for all tests."""

    @cache
    def examined(name):
        world = scenes.remembered(name, tmp_path_factory.mktemp("played"))
        if name.startswith("hung"):  # with what hangs less is waited for
            world = replace(world, env={**world.env, NAME: "0.5"})
        return examine(case_of(probe(world)))

    return examined


def test_a_scenario_in_memory_reads_as_one_on_the_disk(seen, tmp_path):
    """The files, the commands and the driver are the same ones."""
    both = probe(scenes.scene("nvlink_down", tmp_path)), seen("nvlink_down").case.machine
    grown, remembered = (replace(one, system=replace(one.system, now_s=None)) for one in both)
    for one in fields(grown):
        if one.name not in {"devices", "environment"}:  # which live, and which has its own folders
            assert getattr(grown, one.name) == getattr(remembered, one.name), one.name
    assert [one.uuid for one in grown.devices] == [one.uuid for one in remembered.devices]


@pytest.mark.parametrize("name", scenes.names())
def test_planted_faults_are_found_and_nothing_else_alarms(name, seen):
    examined = seen(name)
    worst = {}
    for check, finding in examined.findings:
        if finding.severity != "note":
            worst[check] = min(worst.get(check, "note"), finding.severity, key=RANKS.index)
    assert worst == scenes.scenario(name)["expect"]
    assert told(examined.case.machine) == []  # no verb contradicts another
    assert broken(examined.checks) == []
    page = pages.page(examined, everything=True)
    for language in ("en", "zh"):
        assert text.render(page, Screen(language=language)).count("\n") > len(worst)
    assert tell(pages.page(examined).parts[0].text, CHINESE)


def test_every_scenario_says_what_is_expected():
    assert [name for name in scenes.names() if "expect" not in scenes.scenario(name)] == []


def test_the_fault_is_on_the_card_it_was_planted_on(seen):
    about = {one.about for check, one in seen("row_remap_pending").findings if check == "rows_remapped"}
    assert about == {"gpu 7"}


HEALTHY = ("healthy_8xh100", "healthy_2x4090", "healthy_4xl40s", "gb10", "healthy_gh200")
NOTES = {  # what is worth knowing of a healthy machine, and no more
    "healthy_2x4090": {
        ("gpu_display", "gpu 0"),
        ("gpu_persistence", "gpu 1"),
        ("pcie_slot", "gpu 0"),
        ("pcie_slot", "gpu 1"),
    },
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_machine_is_seen_whole_and_hardly_spoken_of(name, seen):
    examined = seen(name)
    assert {(check, one.about) for check, one in examined.findings} == NOTES.get(name, set())
    hidden = {
        one.check for one in examined.checks for verdict in one.verdicts if isinstance(verdict, NotSeen)
    }
    assert hidden == {"bench_slow"}


def test_cards_that_start_anew_for_each_program_are_worth_knowing_and_no_more(seen):
    examined = seen("slow_start")
    assert {check for check, _ in examined.findings} == {"gpu_persistence"}
    assert examined.exit_code == 0


def test_a_silent_card_is_told_once_with_its_place(seen):
    ((check, lost),) = seen("lost_gpu").findings
    assert (check, lost.about) == ("gpu_answers", "gpu 3")
    assert "0000:5d:00.0" in " ".join(str(one.shows) for one in lost.evidence)


def test_a_driver_that_is_not_loaded_is_told_once(seen):
    ((check, _),) = seen("not_loaded").findings
    assert check == "gpu_driver"

"""Doctor, diagnose, upgrade, fleet and alerts never contradict each other, whatever the machine."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import test_one_fault as planted
from boxes import box, eight, h100, two, xid
from captured import captured, captures
from judged import ALERTS, at_work, codes, contradictions, told

from rigright.doctor.binding.judge import judge
from rigright.doctor.binding.judgement import conclude, in_order, tick_of, watched
from rigright.doctor.examine import EXIT_FAULT, RANKS, case_of, examine
from rigright.faces.cli.main import main
from rigright.facts.faults import xids
from rigright.machine.host import Sensor
from rigright.machine.stored import plain
from rigright.verbs.diagnose import in_file
from rigright.verbs.upgrade import upgraded

LOST = {"state": "lost", "name": None}
TOGETHER = {
    "braked, and slow for it": {3: {"slowed_by": ("hw_power_brake",), "clocks__sm_hz": 870e6}},
    "hot": {index: {"slowed_by": ("sw_thermal", "hw_thermal")} for index in range(8)},
    "stuck at low clocks": {5: {"clocks__sm_hz": 345e6}},
    "lost, and asked to be reset": {2: LOST | {"recovery": "gpu reset"}},
    "rows failed on a braked card": {1: {"retired__rows_failed": True, "slowed_by": ("hw_slowdown",)}},
}


def four(changes=None, **fields):
    """Four of the eight: as good for two verbs to differ about, and half the work."""
    return box([h100(index, **(changes or {}).get(index, {})) for index in range(4)], **fields)


def test_no_planted_fault_is_judged_in_two_ways():
    wrong = {}
    for check, severity, changed in planted.PLANTED:
        for found in told(four({3: changed})):
            wrong[f"{check} {severity} {changed}"] = found
    for name, changes in TOGETHER.items():
        for found in told(eight(changes)):
            wrong[name] = found
    assert wrong == {}


@pytest.mark.parametrize("card", [2, None], ids=["listed", "gone"])
def test_no_xid_is_judged_in_two_ways(card):
    wrong = {}
    kinds = {(one.action, one.next, one.hardware): code for code, one in xids().items()}
    for code in {*kinds.values(), 46, 63, 94, 109, 110, 119, 120, 154}:
        events = (xid(code),)
        machine = four(events=events) if card else four({2: LOST}, events=events)
        for found in contradictions(machine):
            wrong[code] = found
    assert wrong == {}


def test_no_capture_is_judged_in_two_ways(shared):
    wrong, count = {}, 0
    for file in captures(shared):
        machine = captured(file)
        if machine is None:
            continue
        count += 1
        for found in told(machine):
            wrong[file.name] = found
    assert wrong == {}
    assert count > 20


def at_rest(machine):
    """The same machine with nothing on its cards."""
    devices = tuple(replace(one, busy_share=0.0, programs=()) for one in machine.devices)
    return replace(machine, devices=devices)


FILES = {  # what a file shows -> the check that every verb begins with
    "at work, braked": (at_work(eight(TOGETHER["braked, and slow for it"])), "gpu_throttled"),
    "at rest, a card lost": (at_rest(eight({2: LOST}, events=(xid(79),))), "xid_events"),
    "at rest, and sound": (at_rest(eight()), None),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_diagnosed_as_the_doctor_sees_it(name, tmp_path, capsys):
    machine, check = FILES[name]
    file = tmp_path / "box.json"
    file.write_text(json.dumps(plain(machine)), encoding="utf-8")
    told = {}
    for verb in ("doctor", "diagnose", "upgrade"):
        main([verb, "--from", str(file), "--json"])
        told[verb] = json.loads(capsys.readouterr().out)
    assert next((one["check"] for one in told["doctor"]["causes"]), None) == check
    for verb in ("diagnose", "upgrade"):
        assert (told[verb]["lead"] or {}).get("check") == check
    if check is not None:
        title = told["doctor"]["causes"][0]["title"]
        assert title in told["diagnose"]["verdict"]
        assert title in told["upgrade"]["lead"]["title"]


def test_work_beside_a_lost_card_is_told_of_it():
    """Seven cards compute: that is what binds, and the fault of the eighth leads all the same."""
    found = in_file(case_of(at_work(eight({2: LOST}, events=(xid(79),)))))
    assert found.judgement.first.check == "xid_events"
    assert found.diagnosis.bounds[0].cause.name == "compute"
    assert found.exit_code == EXIT_FAULT


@pytest.mark.parametrize("working", [True, False])
def test_a_fault_leads_before_a_warning_of_a_card_that_works(working):
    machine = eight({2: LOST, 0: {"slowed_by": ("hw_thermal",)}}, events=(xid(79),))
    case = case_of(at_work(machine) if working else machine)
    diagnosed = in_file(case)
    leads = {found.severity for found in (conclude(examine(case)).first, diagnosed.judgement.first)}
    assert leads == {"fault"}
    assert upgraded(case, diagnosed=diagnosed).lead.check == diagnosed.judgement.first.check
    assert upgraded(case, diagnosed=diagnosed).exit_code == diagnosed.exit_code == EXIT_FAULT


def test_a_file_is_not_watched(tmp_path, capsys):
    file = tmp_path / "box.json"
    file.write_text(json.dumps(plain(eight())), encoding="utf-8")
    assert main(["diagnose", "--from", str(file), "--for", "30s"]) == 2
    assert "--from" in capsys.readouterr().err


def test_alerts_page_by_what_the_catalog_asks_for():
    page = codes(ALERTS["RigGpuXid"])
    assert {46, 48, 79, 95, 109, 110, 119, 120} <= page
    assert page.isdisjoint({13, 31, 43, 45, 63, 94})
    warned, repeated = codes(ALERTS["RigGpuXidWears"]), codes(ALERTS["RigGpuXidOfProgram"])
    alone = {"fault": page, "warning": warned}
    assert alone == {
        level: {code for code, one in xids().items() if one.severity() == level} for level in alone
    }
    worse = {code for code, one in xids().items() if one.severity(times=3) != one.severity()}
    assert repeated == worse
    assert {13, 31} <= repeated


def concluded(machine):
    case = case_of(machine)
    ticks = (tick_of(case),)
    return conclude(examine(watched(case, ticks)), judge(ticks, case))


def test_a_brake_on_one_card_of_eight_is_the_cause_and_what_follows_is_told_under_it():
    machine = at_work(eight(TOGETHER["braked, and slow for it"]))
    found = concluded(machine)
    assert found.lead.check == "gpu_throttled"
    assert found.lead.about == {"gpu 3"}
    shown = " ".join(str(one.shows) for one in found.lead.finding.evidence)
    assert "870" in shown
    assert "1,980 MHz" in shown
    assert [one.cause.name for one in found.diagnosis.bounds][:2] == ["compute", "brake"]
    alone = replace(machine, devices=machine.devices[3:4])
    assert concluded(alone).diagnosis.bounds[0].cause.name == "brake"


def test_a_card_far_below_its_like_is_named_where_nobody_tells_a_reason():
    machine = at_work(eight({3: {"clocks__sm_hz": 870e6}}))
    silent = [
        replace(one, slowed_by=None, clocks=replace(one.clocks, sm_max_hz=None)) for one in machine.devices
    ]
    found = concluded(replace(machine, devices=tuple(silent)))
    assert (found.lead.check, found.lead.about) == ("clocks_low", {"gpu 3"})


def test_a_lost_card_explains_what_is_missing_with_it():
    found = concluded(eight({2: LOST}, events=(xid(79),)))
    (root,) = [one for one in found.bad if one.check == "xid_events"]
    assert "gpu_answers" in {check for check, _ in root.consequences}
    assert concluded(two()).bad == ()


def test_a_supply_at_its_limit_is_told_beside_the_brake_that_it_leads_to():
    meter = Sensor(name="PSU1 Input Power", kind="power", value=3250.0, high=3300.0, source="ipmi")
    found = concluded(eight({3: {"slowed_by": ("hw_power_brake",)}}, sensors=(meter,)))
    assert [one.check for one in found.causes][:2] == ["gpu_throttled", "supply_load"]
    assert "3.2 kW of 3.3 kW" in str(found.causes[1].finding.title)
    assert concluded(eight(sensors=(replace(meter, value=3000.0),))).bad == ()


def test_the_first_of_the_list_is_the_first_of_the_page():
    for name, changes in TOGETHER.items():
        examined = examine(case_of(eight(changes)))
        listed, first = in_order(examined), conclude(examined).first
        assert sorted(map(str, listed)) == sorted(map(str, examined.findings)), name
        assert listed[0].finding is first.finding, name
        ranks = [RANKS.index(row.finding.severity) for row in listed[1:]]
        assert ranks == sorted(ranks), name

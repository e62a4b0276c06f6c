"""Small things of the machine's pages: room before a finding, pictures of what moved, files whole."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from desk import machine, probed
from rigright.base.page import Strips
from rigright.base.words import say
from rigright.doctor.binding.causes import causes
from rigright.doctor.binding.judgement import Judgement
from rigright.doctor.binding.record import Bound, Diagnosis
from rigright.doctor.examine import case_of, checks, examine
from rigright.doctor.record import Evidence
from rigright.export.targets import alerts, prometheus
from rigright.faces.cli.front import verbs
from rigright.faces.cli.main import main, verb_parser
from rigright.machine.device import Device
from rigright.machine.host import Memory
from rigright.machine.record import Machine
from rigright.machine.stored import plain
from rigright.machine.system import System
from rigright.report.formats.text import render
from rigright.report.pages import diagnose as diagnose_page
from rigright.report.pages import doctor as doctor_page
from rigright.report.pages import measure as measure_page
from rigright.report.screen import Screen
from rigright.verbs.diagnose import BottleneckReport
from rigright.verbs.measure.ticks import Course, Measured
from rigright.verbs.probe import save
from rigright.verbs.setup.verb import _SILENT, SetupWish, setup
from rigright.verbs.watch.verb import Watch, WatchWish
from spoken import same, values

SWAPPY = Machine(
    devices=(Device(index=0, vendor="nvidia", name="NVIDIA H100 80GB HBM3"),),
    memory=Memory(total_bytes=2.0**39, swap_total_bytes=2.0**33),
    system=System(kernel="6.8.0", settings=(("vm.swappiness", "90"),)),
)


@pytest.fixture
def swappy(tmp_path):
    file = tmp_path / "box.json"
    file.write_text(json.dumps(plain(SWAPPY)))
    return str(file)


def examined(**asked):
    found = examine(case_of(SWAPPY), ("swappiness",))
    assert found.findings
    return render(doctor_page.page(found, everything=True, **asked), Screen(width=100))


def test_a_single_finding_stands_apart_from_the_verdict():
    first, verdict, *_ = examined().split("\n\n")
    found = examine(case_of(SWAPPY), ("swappiness",))
    assert first == f"! {found.findings[0][1].title}"
    assert "vm.swappiness is 90; 10 " in first
    assert "1x NVIDIA H100 80GB HBM3; 1 " in verdict
    assert "\n" not in verdict


def test_lines_that_go_on_stay_together():
    told = doctor_page.page(examine(case_of(SWAPPY), ("swappiness",)))
    assert next(part.apart for part in told.parts if hasattr(part, "apart")) is False


MANUAL = " ".join(checks()["swappiness"].manual.split())


def test_why_tells_what_the_check_that_spoke_goes_by(swappy, capsys):
    ask = ["doctor", "--from", swappy, "--only", "swappiness", "--all", "--width", "100"]
    main(ask)
    bare = capsys.readouterr().out
    main([*ask, "--why"])
    told = capsys.readouterr().out
    assert MANUAL[:40] not in " ".join(bare.split())
    for piece in MANUAL.split(". "):
        assert piece.strip(" .") in " ".join(told.split())
    main([*ask, "--why", "--json"])
    (one,) = json.loads(capsys.readouterr().out)["findings"]
    assert " ".join(one["manual"].split()) == MANUAL


OF_MACHINES = {
    "probe",
    "bench",
    "measure",
    "watch",
    "history",
    "diagnose",
    "upgrade",
    "setup",
    "export",
    "fleet",
}


def test_why_is_offered_where_it_tells_something():
    offered = {verb for verb in verbs() if "--why" in verb_parser(verb, "en")._option_string_actions}
    assert offered >= {"plan", "explain", "doctor"}
    assert not offered & OF_MACHINES


def course(name, unit, peak):
    values = (0.0, peak)
    return Course(
        name=name,
        label=say("{text}", text=name),
        unit=unit,
        peak=peak,
        median=peak / 2,
        mean=peak,
        values=values,
    )  # fmt: skip


def measured(*courses):
    return Measured(
        command=("true",), exit_code=0, by_signal=None, at_s=0.0, lasted_s=2.0, samples=2, every_s=1.0,
        courses=courses, gpu_peak_bytes=(), host_peak_bytes=None, cpu_s=None, read_bytes=None,
        written_bytes=None, energy_j=(), slowed_s=(), chips=(),
    )  # fmt: skip


def strips(*courses):
    (found,) = [part for part in measure_page.page(measured(*courses)).parts if isinstance(part, Strips)]
    return [str(one.label) for one in found.strips]


def test_a_disk_that_did_nothing_is_not_drawn():
    busy = course("cpu", "cores", 0.0)
    read, written = course("disk read", "bytes_per_s", 0.0), course("disk write", "bytes_per_s", 4096.0)
    assert strips(busy, read, written) == ["cpu", "disk write"]
    rows = measure_page.sheet(measured(busy, read, written)).parts[0].rows
    assert [row[0] for row in rows] == ["cpu", "disk read", "disk write"], "a script gets all of them"


def test_a_small_flow_is_told_in_its_own_size():
    told = render(
        measure_page.page(measured(course("disk write", "bytes_per_s", 2_500_000.0))), Screen(width=90)
    )
    assert " 2.5 MB/s" in told
    assert "e-0" not in told


def test_all_that_would_be_written_is_printed_each_file_under_its_name(capsys):
    assert main(["export", "prometheus"]) == 0
    out = capsys.readouterr().out
    assert main(["export", "prometheus", "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert set(files) > {prometheus.CONFIG, alerts.RULES}
    for name, text in files.items():
        assert f"# {name}\n{text}" in out


def test_what_is_one_file_is_printed_as_it_is(capsys):
    assert main(shlex.split("export grafana")) == 0
    assert json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("name", "bus", "shown"), [("one_of_eight_missing", 8, 7), ("hung_driver", 8, 0)])
def test_watch_tells_of_a_card_that_no_driver_shows(name, bus, shown, tmp_path, monkeypatch):
    """A page that lists seven cards of eight as ok, and no more, says that all is well."""
    monkeypatch.setenv("RIGRIGHT_HOME", str(tmp_path))
    with Watch(WatchWish(every_s=1.0, keep=False), world=machine(name)) as moments:
        notes = [values(note) for note in moments.look(2.0).notes]
    assert {"bus": str(bus), "shown": str(shown)} in notes


def test_watch_is_quiet_where_all_cards_are_there(tmp_path, monkeypatch):
    monkeypatch.setenv("RIGRIGHT_HOME", str(tmp_path))
    with Watch(WatchWish(every_s=1.0, keep=False), world=machine("healthy_8xh100")) as moments:
        assert not [note for note in moments.look(5.0).notes if "bus" in values(note)]


@pytest.mark.parametrize(
    ("name", "cards", "told"),
    [("not_loaded", "2x GeForce RTX 4090", "8.9"), ("hung_driver", "8x H100 SXM5 80GB", "9.0")],
)
def test_setup_knows_cards_that_no_driver_shows(name, cards, told, tmp_path):
    """Who needs a driver most is sent here by the doctor, and must not be told that there is no card."""
    file = tmp_path / "box.json"
    save(probed(name), str(file))
    found = setup(SetupWish(from_file=str(file)))
    assert str(found.system.shown) == cards
    assert [f"{major}.{minor}" for (major, minor), _ in found.system.capabilities] == [told]
    assert found.steps
    assert found.already is None, "a driver that shows no card is not right as it is"
    assert _SILENT in found.notes


def test_a_card_that_is_lost_has_no_name_in_setup(tmp_path):
    file = tmp_path / "box.json"
    save(probed("lost_gpu"), str(file))
    assert str(setup(SetupWish(from_file=str(file))).system.shown) == "7x H100 SXM5 80GB"


def bound(share):
    cause = next(one for one in causes() if one.name == "compute")
    evidence = Evidence(shows=say("{text}", text="busy"))
    return Bound(cause=cause, share=share, evidence=evidence, seen=True)


@pytest.mark.parametrize(("share", "told"), [(0.6, "2.5x"), (0.9, "10x"), (0.97, ""), (1.0, "")])
def test_what_the_counters_cannot_tell_is_not_reckoned_from_them(share, told):
    diagnosis = Diagnosis(lasted_s=9.0, moments=9, idle=0, busy_share=share, bounds=(bound(share),))
    result = BottleneckReport(
        source=say("{text}", text="now"), judgement=Judgement(diagnosis=diagnosis), ticks=()
    )
    text = render(diagnose_page.page(result), Screen(width=100))
    assert re.findall(r"\b[\d.]+x\b", text) == ([told] if told else [])


def test_a_question_that_kills_is_not_told_as_one_that_hangs():
    (one,) = [finding for _, finding in examine(case_of(probed("aborts")), ("gpu_answers",)).findings]
    assert one.about == "gpu 2"
    hung = [one for _, one in examine(case_of(probed("hung")), ("gpu_answers",)).findings]
    assert not any(same(one.title, other.title) for other in hung)
    assert str(one.evidence[0].shows).startswith("links.crc_flit: ")


@pytest.mark.parametrize(("as_root", "see"), [(True, "nvidia-smi"), (False, "sudo rigright doctor")])
def test_root_is_not_sent_to_ask_as_root(as_root, see):
    card = Device(index=0, vendor="nvidia", state="denied")
    machine = Machine(devices=(card,), system=System(as_root=as_root))
    (verdict,) = examine(case_of(machine), ("gpu_answers",)).checks[0].verdicts
    assert verdict.see == see

"""From files that came any other way: our own, a log, what `nvidia-smi` wrote; and what is none of these."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kept_answers import keep
from rigright.base.errors import AskError, DataError
from rigright.doctor.reference import BaselineFigure
from rigright.faces.cli.main import main
from rigright.machine.bench.record import Result
from rigright.machine.device import Device
from rigright.machine.record import Machine
from rigright.machine.remote.envelope import lines
from rigright.machine.stored import plain
from rigright.machine.system import System
from rigright.machine.traits import TRAITS
from rigright.verbs.bench.record import BenchRun, save_results
from rigright.verbs.doctor import doctor
from rigright.verbs.fleet.jobs import FleetWish
from rigright.verbs.fleet.nodes import NodeReport
from rigright.verbs.fleet.verb import fleet

MACHINE = Machine(
    devices=(Device(index=0, vendor="nvidia", name="NVIDIA H100 80GB HBM3"),), system=System(host="n1")
)


def read(folder, what="probe"):
    return fleet(what, wish=FleetWish(over="folder", where=str(folder)))


def test_every_kind_of_file_is_a_node(tmp_path):
    (tmp_path / "n1.json").write_text(json.dumps(plain(MACHINE)), encoding="utf-8")
    log = "".join(lines({"node": "n2", "machine": plain(MACHINE)}))
    (tmp_path / "pod.log").write_text(f"noise\n{log}more noise\n", encoding="utf-8")
    (tmp_path / "n3.txt").write_text("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n", encoding="utf-8")
    (tmp_path / ".hidden").write_text("x", encoding="utf-8")
    found = read(tmp_path)
    assert [one.node for one in found.nodes] == ["n1", "n3", "n2"]
    assert all(one.machine.devices[0].name == "NVIDIA H100 80GB HBM3" for one in found.told)
    assert found.exit_code == 0


def test_captures_of_other_machines_are_a_fleet(shared):
    folder = shared / "captures" / "nvidia-smi-xml"
    if not folder.is_dir():
        pytest.skip("there are no captures of nvidia-smi")
    files = list(folder.glob("*.xml"))
    found = read(folder, "doctor")
    told = {one.node for one in found.told}
    assert {one.stem for one in files} <= told, [str(one.trouble) for one in found.silent]


def test_what_is_saved_is_read_by_doctor_and_by_the_fleet(tmp_path):
    figure = Result(part="gemm", what="bf16", on="gpu 0", value=1.0, unit="s", low=1.0, high=1.0, repeats=3)
    NodeReport(node="n1", machine=MACHINE, results=(figure,)).save(tmp_path)
    alone = doctor(str(tmp_path / "n1.json"), only=("gpu_answers",))
    assert alone.case.machine.devices == MACHINE.devices
    (again,) = read(tmp_path, "bench").nodes
    assert again.results == (figure,)
    assert replace(again.machine, origin="live") == MACHINE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_loses_the_copy_and_not_the_answer(tmp_path):
    answers, copies = tmp_path / "answers", tmp_path / "copies"
    for folder in (answers, copies):
        folder.mkdir()
    for node in ("n1", "n2"):
        NodeReport(node=node, machine=MACHINE).save(answers)
    (copies / "n1.json").symlink_to("/dev/full")
    found = fleet("probe", wish=FleetWish(over="folder", where=str(answers), save=str(copies)))
    assert [node.node for node in found.told] == ["n1", "n2"]
    assert json.loads((copies / "n2.json").read_text(encoding="utf-8"))["node"] == "n2"
    with pytest.raises(DataError):
        fleet("probe", wish=FleetWish(over="folder", where=str(answers), save=str(answers / "n1.json")))


def test_what_bench_saves_on_each_node_is_compared(tmp_path):
    for number, value in enumerate((7e14, 7.01e14, 3e14), 1):
        figure = Result(
            part="gemm",
            what="bf16",
            on="gpu 0",
            value=value,
            unit="flops_per_s",
            low=1.0,
            high=1.0,
            repeats=3,
        )
        held = BaselineFigure(result=figure, verdict="unknown")
        made = BenchRun(machine=MACHINE, results=(held,), skipped=(), titles=(), quick=True, seconds=1.0)
        save_results(made, str(tmp_path / f"n{number}.json"))
    found = read(tmp_path, "bench")
    assert [(one.node, one.on) for one in found.stragglers] == [("n3", "gpu 0")]
    assert found.exit_code == 10


def test_a_broken_file_is_told_and_the_rest_is_read(tmp_path):
    (tmp_path / "n1.json").write_text(json.dumps(plain(MACHINE)), encoding="utf-8")
    (tmp_path / "n2.json").write_text(json.dumps(plain(MACHINE))[:-20], encoding="utf-8")
    (tmp_path / "n3.json").write_text('{"schema": 1, "devices": [{"index": "x"}]}', encoding="utf-8")
    (tmp_path / "n4.xml").write_text('<!DOCTYPE x [<!ENTITY a "b">]><nvidia_smi_log>&a;</nvidia_smi_log>')
    (tmp_path / "n5.json").symlink_to(os.devnull if os.name == "nt" else "/dev/zero")
    found = read(tmp_path)
    assert [one.node for one in found.told] == ["n1"]
    assert {one.node for one in found.silent} == {"n2", "n3", "n4", "n5"}
    assert all(str(one.trouble) for one in found.silent)
    assert found.exit_code == 20


@pytest.mark.parametrize("make", [False, True])
def test_no_folder_or_an_empty_one(tmp_path, make):
    if make:
        (tmp_path / "answers").mkdir()
    with pytest.raises(AskError):
        read(tmp_path / "answers")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(max_size=300), st.text(max_size=200).map(str.encode)))
def test_any_file_is_a_node_or_a_trouble(tmp_path, content):
    (tmp_path / "n1").write_bytes(content)
    (one,) = read(tmp_path).nodes
    assert isinstance(one, NodeReport)
    assert (one.machine is None) != (one.trouble is None)


MANY = 64


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Saved answers of many: six with another kernel, one with a card less, two that cannot be read."""
    folder = tmp_path_factory.mktemp("answers")
    card = MACHINE.devices[0]
    for number in range(MANY):
        cards = tuple(replace(card, index=index) for index in range(3 if number == 57 else 4))
        system = System(kernel="5.15" if number in {5, 6, 7, 8, 9, 30} else "6.8.0", host=f"n{number:03}")
        text = json.dumps(plain(Machine(devices=cards, system=system)))
        (folder / f"n{number:03}.json").write_text(text if number not in {40, 41} else text[:-9])
    return folder


def test_many_nodes_fit_on_a_screen_and_all_of_them_are_in_the_json(many, monkeypatch, capsys):
    keep(monkeypatch, {}, of={"fleet"})
    for language, width in (("en", "60"), ("zh", "120")):
        words = ["fleet", "probe", "--from", str(many), "--lang", language, "--width", width]
        assert main(words) == 20
        page = capsys.readouterr().out
        assert len(page.splitlines()) < 45
        whole = "".join(page.split())
        for said in ("n[005-009,030]", "n057", "n[040-041]", "6.8.0"):
            assert said in whole, (said, language)
    main(["fleet", "probe", "--from", str(many), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert len(told["nodes"]) == MANY
    names = {trait.key: str(trait.name) for trait in TRAITS}
    (kernel,) = [one for one in told["differs"] if one["trait"] == names["kernel"]]
    assert (kernel["usual"], kernel["n_usual"]) == ("6.8.0", MANY - 6 - 2)

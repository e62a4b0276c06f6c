"""All parts in turn: their order, their share of the time, what they need, and what stays behind."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from refusals import refused
from rigright.base.errors import MissingError
from rigright.machine.bench import session
from rigright.machine.bench.record import BenchWish, Result, Skipped
from rigright.machine.bench.session import measured, scratch
from rigright.machine.bench.table import GROUPS, NO_TORCH, PARTS, pick
from rigright.machine.record import Machine


class Played:
    """Children that answer at once and remember what they were asked."""

    asked: tuple = ()
    ends: tuple = ()
    closed = 0
    interrupts: str | None = None

    def __init__(self, python, env):
        self.python, self.env = python, env

    def run(self, ask, end):
        Played.ends += (end,)
        Played.asked += ((self.python, ask),)
        if ask.folder is not None:
            (Path(ask.folder) / "left").write_text("x", encoding="utf-8")
        if ask.part == Played.interrupts:
            raise KeyboardInterrupt
        yield Result(part=ask.part, what="x", on="cpu", value=1, unit="s", low=1, high=1, repeats=1)

    def close(self):
        Played.closed += 1


@pytest.fixture
def played(monkeypatch):
    monkeypatch.setattr(session, "BenchChild", Played)
    monkeypatch.setattr(session, "torch_python", lambda *_, **__: "/other/python")
    Played.asked, Played.ends, Played.closed, Played.interrupts = (), (), 0, None
    return Played


def run(parts, wish=None, told=None, began_s=None):
    return list(
        measured(
            parts,
            wish or BenchWish(),
            machine=Machine(),
            env=dict(os.environ),
            progress=(lambda *_: None) if told is None else lambda *place: told.append(place),
            began_s=began_s,
        )
    )


def test_parts_come_in_the_order_of_their_groups():
    groups = [GROUPS.index(part.group) for part in PARTS.values()]
    assert groups == sorted(groups)
    assert set(groups) == set(range(len(GROUPS)))


def test_every_part_bears_a_share_and_needs_that_are_understood():
    words = {"torch", "accelerator", "two accelerators", "folder", "endpoint", "nccl-tests", "nvbandwidth"}
    words |= {"meeting", "numpy"}
    for part in PARTS.values():
        assert part.share > 0
        assert set(part.needs) <= words


def test_no_part_loads_anything_heavy_before_it_runs():
    import subprocess

    code = """
import sys
from rigright.machine.bench import session
session.measured
print(*{"torch", "ray", "pynvml"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_parts_are_named_loosely_and_measured_in_their_own_order():
    assert pick(["disk,GEMM", "cpu-gemm"], BenchWish()) == ("gemm", "cpu_gemm", "disk")
    assert "endpoint" not in pick([], BenchWish())
    assert "endpoint" in pick([], BenchWish(endpoint="http://x"))
    assert set(pick([], BenchWish(endpoint="http://x"))) == set(PARTS) - {"nodes"}, "those need a meeting"


def test_parts_that_make_nothing_of_pytorch_run_in_rigrights_own_python(played):
    """Those that can do without it are asked where it is all the same: with --python they once were not."""
    run(["gemm", "transformer", "ram"])
    assert [(python, ask.part) for python, ask in played.asked] == [
        ("/other/python", "gemm"),
        ("/other/python", "transformer"),
        (sys.executable, "ram"),
    ]
    assert played.closed == 2


@pytest.mark.usefixtures("played")
def test_what_is_missing_is_told_and_the_rest_is_measured(monkeypatch):
    monkeypatch.setattr(session, "torch_python", lambda *_, **__: None)
    found = run(["gemm", "ram"])
    assert [type(one) for one in found] == [Skipped, Result]
    assert found[0].why == NO_TORCH


def test_a_quick_run_gives_every_part_its_least_however_slow_the_start_was(played, monkeypatch):
    clock = iter([100.0] * 50)
    monkeypatch.setattr("rigright.machine.bench.tasks.time.monotonic", lambda: next(clock))
    run(["ram", "network"], BenchWish(quick=True), began_s=79.0)
    assert [ask.spare_s for _, ask in played.asked] == [session.LEAST_S] * 2


@pytest.mark.usefixtures("played")
def test_somebody_looks_on():
    told = []
    run(["ram", "network"], told=told)
    assert told == [("ram", (0, 2)), ("network", (1, 2)), ("", (2, 2))]


def test_the_folder_is_gone_at_the_end_however_it_ends(played, tmp_path):
    run(["disk"], BenchWish(disk=str(tmp_path)))
    ((_, ask),) = played.asked
    assert Path(ask.folder).parent == tmp_path
    assert ask.shown_folder == str(tmp_path)
    assert list(tmp_path.iterdir()) == []
    played.interrupts = "memmap"
    with pytest.raises(KeyboardInterrupt):
        run(["disk", "memmap"], BenchWish(disk=str(tmp_path)))
    assert list(tmp_path.iterdir()) == []
    assert played.closed == 2


def test_nothing_is_made_where_nothing_writes(played, tmp_path):
    run(["ram"], BenchWish(disk=str(tmp_path / "nosuch")))
    assert played.asked[0][1].folder is None


def test_a_disk_that_was_named_and_cannot_be_written_is_an_error(tmp_path):
    with (
        refused(MissingError, tmp_path / "nosuch", "No such file"),
        scratch(str(tmp_path / "nosuch"), needed=True),
    ):
        pass


def test_where_we_may_not_write_the_home_is_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = session.tempfile.mkdtemp
    refused = []

    def mkdtemp(prefix, dir):  # noqa: A002 - the library's name
        if str(dir) == str(tmp_path):
            refused.append(dir)
            raise PermissionError(13, "Permission denied")
        return made(prefix=prefix, dir=tmp_path)

    monkeypatch.setattr(session.tempfile, "mkdtemp", mkdtemp)
    with scratch(None, needed=True) as (folder, _):
        assert refused
        assert Path(folder).is_dir()
    assert not Path(folder).exists()

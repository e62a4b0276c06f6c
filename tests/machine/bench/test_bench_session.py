"""All parts in turn: names, order, what they need, their share of the time, an end that nothing outlives."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusals import refused
from rigright.base.errors import AskError, MissingError
from rigright.machine.bench import session, tasks
from rigright.machine.bench.child import GRACE_S
from rigright.machine.bench.record import BenchWish, Result, Skipped
from rigright.machine.bench.session import measured, scratch
from rigright.machine.bench.table import GROUPS, NO_TORCH, PARTS, pick
from rigright.machine.record import Machine
from spoken import values

PROMISED_S = 30.0  # of a quick run
START_S = 2.0  # of Python itself and of the page, before and after
BEGAN_S = 1000.0
FREE = tuple(part.name for part in PARTS.values() if set(part.needs) <= {"torch"})  # that run anywhere


class Played:
    """Children that remember what they were asked, and take as long as they shall on a played clock."""

    now_s = BEGAN_S
    takes = staticmethod(lambda _ask: 0.0)
    asked: tuple = ()
    closed = 0
    interrupts: str | None = None

    def __init__(self, python, env):
        self.python, self.env = python, env

    def run(self, ask, end):
        Played.asked += ((self.python, ask),)
        if ask.folder is not None:
            (Path(ask.folder) / "left").write_text("x", encoding="utf-8")
        if ask.part == Played.interrupts:
            raise KeyboardInterrupt
        until = min(Played.now_s + ask.spare_s * 1.5 + GRACE_S, end.at_s)
        Played.now_s = max(Played.now_s, min(until, Played.now_s + Played.takes(ask)))
        yield Result(part=ask.part, what="x", on="cpu", value=1, unit="s", low=1, high=1, repeats=1)

    def close(self):
        Played.closed += 1


@pytest.fixture(scope="module")
def clocked():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "BenchChild", Played)
        patch.setattr(session, "torch_python", lambda *_, **__: "/other/python")
        patch.setattr(tasks.time, "monotonic", lambda: Played.now_s)
        yield Played


@pytest.fixture
def played(clocked):
    clocked.now_s, clocked.takes = BEGAN_S, staticmethod(lambda _ask: 0.0)
    clocked.asked, clocked.closed, clocked.interrupts = (), 0, None
    return clocked


def run(parts, wish=None, told=None, began_s=BEGAN_S):
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


def timed(clocked, parts, wish, takes, *, late_s=0.0):
    """Seconds it took since it was asked for, what it gave, and what each part was asked."""
    clocked.now_s, clocked.asked, clocked.takes = BEGAN_S + late_s, (), staticmethod(takes)
    found = run(parts, wish)
    return clocked.now_s - BEGAN_S, found, [ask for _, ask in clocked.asked]


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


def test_a_quick_run_gives_every_part_its_least_however_slow_the_start_was(played):
    run(["ram", "network"], BenchWish(quick=True), began_s=BEGAN_S - 21.0)
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


# ---- time


lasting = st.lists(st.floats(0, 500), min_size=len(FREE), max_size=len(FREE))


@given(lasting, st.floats(0, 25))
def test_a_quick_run_ends_in_half_a_minute_however_slow_the_machine_and_the_start_are(clocked, times, late_s):
    takes = dict(zip(FREE, times, strict=True))
    took_s, found, asked = timed(
        clocked, FREE, BenchWish(quick=True), lambda ask: takes[ask.part], late_s=late_s
    )
    assert took_s + START_S <= PROMISED_S
    assert {one.part for one in found} == set(FREE)
    whys = {one.why for one in found if isinstance(one, Skipped)}
    assert len(whys) <= 1, "all that is left out is left out for want of time"
    begun = {ask.part for ask in asked}
    assert not any(one.part in begun for one in found if isinstance(one, Skipped))


@given(lasting, st.floats(1, 3600))
def test_a_budget_is_kept_but_for_the_grace_of_the_last_part(clocked, times, budget_s):
    takes = dict(zip(FREE, times, strict=True))
    took_s, _, _ = timed(clocked, FREE, BenchWish(budget_s=budget_s), lambda ask: takes[ask.part])
    assert took_s <= budget_s + GRACE_S + 1e-6


@given(st.floats(30, 3600))
def test_parts_that_keep_to_their_share_all_get_one(clocked, budget_s):
    took_s, found, asked = timed(clocked, FREE, BenchWish(budget_s=budget_s), lambda ask: ask.spare_s)
    assert not [one for one in found if isinstance(one, Skipped)]
    assert took_s <= budget_s + session.LEAST_S * len(FREE)
    shares = {name: PARTS[name].share for name in FREE}
    whole = sum(shares.values())
    for ask in asked:
        told = max(session.LEAST_S, budget_s * shares[ask.part] / whole)
        assert ask.spare_s == pytest.approx(told, rel=0.2, abs=session.LEAST_S * len(FREE))


@given(lasting)
def test_what_a_part_leaves_goes_to_those_after_it(clocked, times):
    takes = dict(zip(FREE, times, strict=True))
    wish = BenchWish(budget_s=600)
    *_, modest = timed(clocked, FREE, wish, lambda ask: min(takes[ask.part], ask.spare_s))
    *_, greedy = timed(clocked, FREE, wish, lambda ask: ask.spare_s)
    assert all(a.spare_s >= b.spare_s - 1e-6 for a, b in zip(modest, greedy, strict=True))


def test_a_slow_start_is_taken_from_the_budget(clocked):
    *_, (ask,) = timed(clocked, ["ram"], BenchWish(budget_s=100), lambda _: 0.0, late_s=40.0)
    assert ask.spare_s == pytest.approx(60.0)


def test_quick_with_a_budget_keeps_the_budget(clocked):
    took_s, found, asked = timed(
        clocked, ["ram", "network"], BenchWish(quick=True, budget_s=5), lambda _: 6.0
    )
    assert took_s == pytest.approx(6.0)
    assert [type(one) for one in found] == [Result, Skipped]
    assert asked[0].quick


# ---- names


@pytest.mark.parametrize(
    ("word", "part"),
    [
        ("dataloader", "data_loader"), ("DataLoader", "data_loader"), ("data-loader", "data_loader"),
        ("GEMM", "gemm"), ("nccl-tests", "nccl_tests"), ("cpugemm", "cpu_gemm"), ("Train-Step", "train_step"),
    ],
)  # fmt: skip
def test_parts_are_named_as_people_write_them(word, part):
    assert pick([word], BenchWish()) == (part,)


@given(st.sampled_from(sorted(PARTS)), st.randoms())
def test_any_case_and_any_dash_names_the_same_part(name, chance):
    word = "".join(chance.choice((one.upper(), one.lower())) for one in name)
    assert pick([chance.choice((word, word.replace("_", "-"), word.replace("_", "")))], BenchWish()) == (
        name,
    )


@given(st.text(max_size=30))
def test_any_other_word_is_told_with_names_that_are_there(word):
    try:
        found = pick([word], BenchWish())
    except AskError as error:
        told = values(error.sentence)["known"].split(", ")
        assert set(told) <= set(PARTS)
        assert told
        return
    assert set(found) <= set(PARTS)


@pytest.mark.parametrize(
    ("word", "near"), [("memory", "device_memory"), ("train", "train_step"), ("disc", "disk")]
)
def test_a_wrong_word_names_the_nearest(word, near):
    with pytest.raises(AskError) as caught:
        pick([word], BenchWish())
    assert near in str(caught.value)


def _texts(folder: Path):
    """Every text of the package: strings of its code, its tables, and the documents."""
    for path in sorted(folder.rglob("*.py")):
        code = path.read_text(encoding="utf-8")
        if "rigright bench" not in PIECES.sub("", code):
            continue
        for one in ast.walk(ast.parse(code)):
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                yield path, one.value
    for ending in ("*.toml", "*.csv", "*.md"):
        for path in sorted(folder.rglob(ending)):
            yield path, path.read_text(encoding="utf-8")


PIECES = re.compile(r'"\s*f?"')  # a string that goes on in the next line
COMMAND = re.compile(r"rigright bench((?: +[a-z][\w,-]*)*)")
NOT_PARTS = {"compares", "disk", "page", "part"}  # words that follow the command in a sentence


def test_every_command_that_is_printed_names_parts_that_exist(root):
    """`rigright bench dataloader` stood in five places while the part was called otherwise."""
    seen = 0
    for folder in (root / "src", root / "docs"):
        for path, text in _texts(folder):
            for match in COMMAND.finditer(text):
                words = [one for one in shlex.split(match.group(1)) if one not in NOT_PARTS]
                if "`" in text[match.start() - 1 : match.start()] or text.strip().startswith("rigright"):
                    seen += bool(words)
                    assert pick(words, BenchWish()), path
    assert seen >= 5

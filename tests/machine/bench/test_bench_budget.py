"""Time is a promise: shares of what is left, an end that nothing outlives, loose names of parts."""

from __future__ import annotations

import ast
import os
import re
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import AskError
from rigright.machine.bench import session, tasks
from rigright.machine.bench.child import GRACE_S
from rigright.machine.bench.record import BenchWish, Result, Skipped
from rigright.machine.bench.session import measured
from rigright.machine.bench.table import PARTS, pick
from rigright.machine.record import Machine
from spoken import values

PROMISED_S = 30.0  # of a quick run
START_S = 2.0  # of Python itself and of the page, before and after
BEGAN_S = 1000.0
FREE = tuple(
    part.name for part in PARTS.values() if not set(part.needs) - {"torch"}
)  # parts that run anywhere


class Clocked:
    """Children that take as long as they are told to, on a played clock, and never longer than they may."""

    now_s = BEGAN_S
    takes = staticmethod(lambda _ask: 0.0)
    asked: tuple = ()

    def __init__(self, python, env):
        self.python, self.env = python, env

    def run(self, ask, end):
        Clocked.asked += (ask,)
        until = min(Clocked.now_s + ask.spare_s * 1.5 + GRACE_S, end.at_s)
        ends = Clocked.now_s + Clocked.takes(ask)
        Clocked.now_s = max(Clocked.now_s, min(until, ends))
        yield Result(part=ask.part, what="x", on="cpu", value=1, unit="s", low=1, high=1, repeats=1)

    def close(self):
        pass


@pytest.fixture(scope="module")
def clocked():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "BenchChild", Clocked)
        patch.setattr(session, "torch_python", lambda *_, **__: "/python")
        patch.setattr(tasks.time, "monotonic", lambda: Clocked.now_s)
        yield Clocked


def run(clocked, parts, wish, takes, *, late_s=0.0):
    """Seconds it took since it was asked for, and what it gave."""
    clocked.now_s, clocked.asked, clocked.takes = BEGAN_S + late_s, (), staticmethod(takes)
    rest = {"machine": Machine(), "env": dict(os.environ), "progress": lambda *_: None}
    found = list(measured(parts, wish, began_s=BEGAN_S, **rest))
    return clocked.now_s - BEGAN_S, found


lasting = st.lists(st.floats(0, 500), min_size=len(FREE), max_size=len(FREE))


@given(lasting, st.floats(0, 25))
def test_a_quick_run_ends_in_half_a_minute_however_slow_the_machine_and_the_start_are(clocked, times, late_s):
    takes = dict(zip(FREE, times, strict=True))
    took_s, found = run(clocked, FREE, BenchWish(quick=True), lambda ask: takes[ask.part], late_s=late_s)
    assert took_s + START_S <= PROMISED_S
    assert {one.part for one in found} == set(FREE)
    whys = {one.why for one in found if isinstance(one, Skipped)}
    assert len(whys) <= 1, "all that is left out is left out for want of time"
    assert not any(
        one.part in {asked.part for asked in clocked.asked} for one in found if isinstance(one, Skipped)
    )


@given(lasting, st.floats(1, 3600))
def test_a_budget_is_kept_but_for_the_grace_of_the_last_part(clocked, times, budget_s):
    takes = dict(zip(FREE, times, strict=True))
    took_s, _ = run(clocked, FREE, BenchWish(budget_s=budget_s), lambda ask: takes[ask.part])
    assert took_s <= budget_s + GRACE_S + 1e-6


@given(st.floats(30, 3600))
def test_parts_that_keep_to_their_share_all_get_one(clocked, budget_s):
    took_s, found = run(clocked, FREE, BenchWish(budget_s=budget_s), lambda ask: ask.spare_s)
    assert not [one for one in found if isinstance(one, Skipped)]
    assert took_s <= budget_s + session.LEAST_S * len(FREE)
    shares = {name: PARTS[name].share for name in FREE}
    whole = sum(shares.values())
    for ask in clocked.asked:
        told = max(session.LEAST_S, budget_s * shares[ask.part] / whole)
        assert ask.spare_s == pytest.approx(told, rel=0.2, abs=session.LEAST_S * len(FREE))


@given(lasting)
def test_what_a_part_leaves_goes_to_those_after_it(clocked, times):
    takes = dict(zip(FREE, times, strict=True))
    run(clocked, FREE, BenchWish(budget_s=600), lambda ask: min(takes[ask.part], ask.spare_s))
    modest = [ask.spare_s for ask in clocked.asked]
    run(clocked, FREE, BenchWish(budget_s=600), lambda ask: ask.spare_s)
    greedy = [ask.spare_s for ask in clocked.asked]
    assert all(a >= b - 1e-6 for a, b in zip(modest, greedy, strict=True))


def test_a_slow_start_is_taken_from_the_budget(clocked):
    run(clocked, ["ram"], BenchWish(budget_s=100), lambda _: 0.0, late_s=40.0)
    assert clocked.asked[0].spare_s == pytest.approx(60.0)


def test_quick_with_a_budget_keeps_the_budget(clocked):
    took_s, found = run(clocked, ["ram", "network"], BenchWish(quick=True, budget_s=5), lambda _: 6.0)
    assert took_s == pytest.approx(6.0)
    assert [type(one) for one in found] == [Result, Skipped]
    assert clocked.asked[0].quick


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

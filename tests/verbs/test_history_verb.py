"""`rigright history`: figures weighed by time, pictures, exports; and the keeper behind a watch."""

from __future__ import annotations

import csv
import io
import re
import shlex
import sqlite3
import time
from contextlib import closing
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import MissingError
from rigright.base.words import say
from rigright.faces.cli.main import main
from rigright.machine.bench.record import Result
from rigright.machine.device import Device
from rigright.machine.history.store import open_history
from rigright.machine.record import Machine
from rigright.machine.system import Event, Software, System
from rigright.machine.tick import DeviceTick, HostTick, Tick
from rigright.machine.world import World
from rigright.report.pages import history as pages
from rigright.verbs.history import Series, energy_j, figures, history, series
from rigright.verbs.watch.record import AGAIN_S, MOST_WAITING, Keeper, MachineMoment
from rigright.verbs.watch.verb import Watch, WatchWish, from_driver

NOW_S = 1_790_000_000.0


def card(index=0, **more):
    return DeviceTick(**{"index": index, "vendor": "nvidia", "name": "H100", "uuid": f"u{index}", **more})


def tick(at_s, *cards, **host):
    return Tick(at_s=at_s, clock_s=at_s, devices=cards, host=HostTick(**host))


@pytest.fixture
def file(tmp_path):
    """A card that works, one that is lost in the last ten minutes, and a gap of half an hour before."""
    place = tmp_path / "history.db"
    with open_history(place) as kept:
        for n in range(0, 600, 5):
            kept.add_tick(tick(NOW_S - 4000 + n, card(busy_share=0.0, power_w=100.0), cpu_share=0.1))
        for n in range(0, 1800, 5):
            lost = n >= 1200
            second = card(1, state="lost") if lost else card(1, busy_share=0.5, power_w=300.0)
            slow = ("sw_power_cap", "idle") if n % 10 == 0 else ()
            first = card(busy_share=1.0, power_w=600.0, energy_j=600.0 * n, slowed_by=slow)
            kept.add_tick(tick(NOW_S - 1800 + n, first, second, cpu_share=0.5))
        kept.add_events([Event(kind="xid", code=79, text="fallen off", pci="0000:19:00.0", at_s=NOW_S - 600)])
        kept.add_machine(
            Machine(
                system=System(host="n1", kernel="6.8", now_s=NOW_S),
                software=Software(driver="550.54"),
                devices=(Device(index=0, vendor="nvidia", name="H100"),) * 2,
            )
        )
    return place


def test_the_figures_of_a_time(file):
    span = history(file=str(file)).span
    assert span.n_moments == 120 + 360
    assert span.seen_s == pytest.approx(2400, abs=10), "the gap is not counted"
    first, second = span.cards
    busy = next(one for one in first.figures if one.column == "gpu0.busy_share")
    assert busy.mean == pytest.approx(0.75, abs=0.01)
    assert (busy.least, busy.most, busy.p95) == (0.0, 1.0, 1.0)
    assert None in busy.values, "the gap is seen in the picture"
    assert first.energy_j == pytest.approx(600 * 1795)
    assert second.energy_j == pytest.approx(300 * 1200, rel=0.01)
    assert second.away_s == pytest.approx(600, abs=10)
    assert first.away_s == 0
    assert dict(first.slowed_s) == {"sw_power_cap": pytest.approx(900, abs=10)}


def test_a_time_may_be_cut_out(file):
    span = history(since_s=NOW_S - 700, until_s=NOW_S - 300, file=str(file)).span
    assert span.n_moments == 81
    assert span.since_s == NOW_S - 700
    past = history(since_s=NOW_S + 10, file=str(file))
    assert past.span.n_moments == 0
    assert pages.page(past).tone != "good"
    assert pages.page(past).title != pages.page(history(since_s=NOW_S - 700, file=str(file))).title


@given(st.lists(st.tuples(st.floats(0.5, 4), st.floats(0, 1)), min_size=2, max_size=60))
def test_means_and_percentiles_are_weighed_by_time(steps):
    stands = np.array([step for step, _ in steps])
    values = np.array([value for _, value in steps])
    found = Series(
        at_s=np.cumsum(stands).tolist(), stands_s=stands.tolist(), numbers={"x": values.tolist()}, words={}
    )
    told = figures(found, "x")
    assert told.mean == pytest.approx(float((stands * values).sum() / stands.sum()))
    assert told.least <= told.p95 <= told.most
    below = stands[values <= told.p95].sum() / stands.sum()
    assert below >= 0.95 - 1e-9
    assert stands[values < told.p95].sum() / stands.sum() <= 0.95 + 1e-9
    assert figures(found, "nothing") is None


def test_a_counter_that_begins_anew_takes_nothing_away():
    counter = [100.0, 200.0, None, 300.0, 10.0, 60.0]
    found = Series(at_s=range(6), stands_s=[1.0] * 6, numbers={"gpu0.energy_j": counter}, words={})
    assert energy_j(found, "gpu0") == 250
    assert energy_j(found, "gpu1") is None


def test_thinned_stretches_stand_for_their_time():
    coarse = {
        "at": [0.0, 60.0, 120.0],
        "gpu0.power_w": [100.0, 100.0, 100.0],
        "gpu0.power_w>": [100.0, 900.0, 100.0],
    }
    fine = {"at": [180.0, 181.0, 182.0], "gpu0.power_w": [400.0, None, 400.0]}
    found = series([fine, coarse])
    told = figures(found, "gpu0.power_w")
    assert told.mean == pytest.approx((180 * 100 + 2 * 400) / 182)
    assert told.most == 900.0, "the peak within a minute is remembered"


# --- the command


@pytest.fixture
def ask(file, capsys, monkeypatch):
    monkeypatch.setenv("RIGRIGHT_HOME", str(file.parent))
    for name in ("LANG", "LC_ALL", "LC_MESSAGES", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def asking(line):
        code = main(["history", *shlex.split(line)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return asking


def test_every_page_keeps_to_the_screen(ask):
    for of in ("ticks", "bench", "machines", "events"):
        for language in ("en", "zh"):
            for width in (40, 100):
                code, out, err = ask(f"--since all --of {of} --lang {language} --width {width}")
                assert (code, err) == (0, ""), (of, language, width)
                for line in out.splitlines():
                    wide = len(line) + len(re.findall(r"[\u2e80-\u9fff\uff00-\uff60\u3000-\u303f]", line))
                    assert wide <= width or "history.db" in line, (of, language, width, line)


def test_the_page_tells_of_absence_energy_and_brakes(ask):
    out = ask("--since all --width 140")[1]
    assert re.search(r"✗ gpu1 .* 10", out)
    assert "kWh" in out
    assert "█" in out
    assert "550.54" in ask("--since all --of machines")[1]
    assert "2x H100" in ask("--since all --of machines")[1]
    assert "fallen off" in ask("--since all --of events")[1]


def test_energy_is_shown_in_kilowatt_hours():
    assert pages._energy(9e6) == "2.500 kWh"


def test_a_sheet_has_a_row_for_each_moment_of_each_card(ask):
    rows = list(csv.DictReader(io.StringIO(ask("--since all --csv --every 1s")[1])))
    assert len(rows) == 120 + 2 * 360
    assert {one.name for one in fields(DeviceTick)} - set(rows[0]) <= {"programs", "index", "vendor"}
    assert rows[-1]["state"] == "lost"
    assert rows[-1]["power_w"] == ""
    fewer = list(csv.DictReader(io.StringIO(ask("--since all --csv --every 1min")[1])))
    assert len(fewer) == pytest.approx(len(rows) / 12, rel=0.1)


def test_a_wrong_question_is_told_of(ask):
    for line, code, told in (
        ("--since yesterday", 2, '"yesterday"'),
        ("--since 1h --until 2h", 2, "--until"),
        ("--file /no/such/history.db", 4, "rigright watch"),
    ):
        found, out, err = ask(line)
        assert (found, out) == (code, ""), line
        assert told in err, line


# --- the keeper


class Broken:
    """A history whose disk is full."""

    def __init__(self):
        self.closed = False

    def add_events(self, _events):
        """Fewer bytes than there is room for."""

    def add_tick(self, _tick):
        raise MissingError(say("the disk of {path} is full; free some space", path="x"))

    def close(self):
        self.closed = True


def test_a_full_disk_ends_no_watch_and_is_tried_again(tmp_path):
    now, broken, tried = [0.0], Broken(), []

    def start():
        tried.append(now[0])
        return broken if len(tried) == 1 else open_history(tmp_path / "history.db")

    keeper = Keeper(start, clock=lambda: now[0])
    for _ in range(10):
        keeper.add(tick(now[0]))
        now[0] += 1
    assert tried == [0.0]
    assert broken.closed
    assert not keeper.is_up
    assert keeper.problem is not None
    now[0] = AGAIN_S + 1
    keeper.add(tick(now[0]))
    assert (keeper.is_up, keeper.problem) == (True, None)
    keeper.add_machine(Machine(system=System(host="a")))
    keeper.add_machine(Machine(system=System(host="a")))
    keeper.close()
    with open_history(tmp_path / "history.db", writes=False) as kept:
        assert len(list(kept.ticks())) == 11, "what was seen meanwhile is kept too"
        assert len(kept.machines()) == 1, "once an hour is enough"


def test_while_another_holds_the_history_nothing_is_lost(tmp_path):
    """Ten seconds of another writer: what was seen meanwhile waits, and is kept once and in order."""
    file, now = tmp_path / "history.db", [0.0]
    keeper = Keeper(lambda: open_history(file, patience_s=0.05), clock=lambda: now[0])
    event = Event(kind="xid", text="NVRM: Xid 79", code=79, up_s=3.0, at_s=NOW_S + 3)
    keeper.add(tick(now[0]))
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for second in range(1, 11):
            now[0] = float(second)
            keeper.add(tick(now[0]), [event])
        assert str(file) in str(keeper.problem)
        other.execute("ROLLBACK")
    now[0] = AGAIN_S + 2
    keeper.add(tick(now[0]))
    keeper.close()
    with open_history(file, writes=False) as kept:
        assert [one.at_s for one in kept.ticks()] == [*map(float, range(11)), AGAIN_S + 2]
        assert kept.events() == (event,)


def test_what_waits_is_kept_at_the_end_and_is_bounded(tmp_path):
    now, open_now = [0.0], [False]

    def start():
        if not open_now[0]:
            raise MissingError(say("the disk of {path} is full; free some space", path="x"))
        return open_history(tmp_path / "history.db")

    keeper = Keeper(start, clock=lambda: now[0])
    for second in range(MOST_WAITING + 5):
        keeper.add(tick(float(second)))
    open_now[0] = True
    keeper.close()
    with open_history(tmp_path / "history.db", writes=False) as kept:
        assert [one.at_s for one in kept.ticks()] == [float(n) for n in range(5, MOST_WAITING + 5)]


def test_a_clock_that_is_set_back_a_year_hides_nothing_and_mixes_nothing(tmp_path):
    """The watch ran with a wrong year; `--since 1h` is of the last hour, `all` is of all there is."""
    year_s = 365 * 86_400.0
    file, real = tmp_path / "kept.db", time.time()
    with open_history(file) as kept:
        for second in range(20):
            kept.add_tick(tick(real + year_s + second, card(power_w=600.0)))
        for second in range(20):
            kept.add_tick(tick(real - 30 + second, card(power_w=100.0)))
        box = Machine(system=System(host="a"))
        for value, at_s in ((9.0, real + year_s), (5.0, real - 20)):
            told = {"part": "x", "what": "y", "on": "cpu", "unit": "s", "low": 1.0, "high": 9.0, "repeats": 2}
            kept.add_results([Result(**told, value=value, at_s=at_s)], box)
        assert [one.value for one in kept.last_results(box)] == [5.0], "the newest is what was kept last"
    for since_s, moments, most_w in ((real - 3600, 20, 100.0), (None, 40, 600.0)):
        span = history(since_s=since_s, file=str(file)).span
        (power,) = (one for one in span.cards[0].figures if one.column == "gpu0.power_w")
        assert (span.n_moments, power.most) == (moments, most_w)


def test_a_machine_is_kept_though_the_clock_was_a_year_ahead(tmp_path):
    ahead, back = (Machine(system=System(host="a", now_s=at_s)) for at_s in (NOW_S + 365 * 86_400, NOW_S))
    keeper = Keeper(lambda: open_history(tmp_path / "history.db"))
    for machine in (ahead, back, back):
        keeper.add_machine(machine)
    keeper.close()
    with open_history(tmp_path / "history.db", writes=False) as kept:
        assert [one.at_s for one in kept.machines()] == [NOW_S, NOW_S + 365 * 86_400]


def test_an_xid_that_only_the_driver_tells_is_news_once():
    old, new = tick(0.0, card(last_xid=31)), tick(1.0, card(last_xid=79, pci="0000:19:00.0"))
    (event,) = from_driver(old, new)
    assert (event.kind, event.code, event.pci, event.at_s) == ("xid", 79, "0000:19:00.0", 1.0)
    assert from_driver(new, replace(new, at_s=2.0)) == ()
    assert from_driver(None, new) == (), "what was there before the watch is no news"


def test_missed_moments_are_left_out_and_the_pace_is_kept(tmp_path):
    now = [0.0]
    wish = WatchWish(every_s=1.0, keep=False, for_s=10.0)
    with Watch(wish, world=World(root=tmp_path), clock=lambda: now[0], wall=lambda: NOW_S + now[0]) as watch:
        assert isinstance(watch.look(), MachineMoment)
        assert watch.rest_s() == 1.0
        now[0] = 4.3
        watch.look()
        assert watch.rest_s() == pytest.approx(0.7)
        assert not watch.is_over
        now[0] = 10.0
        watch.look()
        assert watch.is_over

"""The history keeps what it was given, finely first and coarsely later, whatever happens to its writers."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from threading import Timer

import pytest
from hypothesis import given
from hypothesis import strategies as st
from moments import BEGAN_S, card, moment, ticks

from rigright.base.errors import DataError, MissingError, RigError
from rigright.base.patience import NAME
from rigright.base.words import say
from rigright.machine.bench.record import Result
from rigright.machine.device import Device
from rigright.machine.history import file as history_file
from rigright.machine.history import grains as history_grains
from rigright.machine.history.blocks import columns_of, packed, unpacked
from rigright.machine.history.columns import DEVICE_KINDS, NOT_KEPT, Rows, tick_of
from rigright.machine.history.file import default_path
from rigright.machine.history.grains import BLOCK_ROWS, Grain, tidy
from rigright.machine.history.store import machine_key, open_history
from rigright.machine.history.thinning import thinned
from rigright.machine.host import Cpu
from rigright.machine.record import Machine
from rigright.machine.system import Event, System
from rigright.machine.tick import DeviceTick, HostTick


def flat(tick, rows=None):
    return json.loads((rows or Rows()).text(tick))


@pytest.fixture
def file(tmp_path):
    return tmp_path / "kept" / "history.db"


def sound(file):
    """Whether SQLite itself finds the file whole."""
    with sqlite3.connect(file) as connection:
        found = connection.execute("PRAGMA integrity_check").fetchall()
    connection.close()
    return found == [("ok",)]


# --- what is kept comes back


@given(ticks)
def test_a_moment_comes_back_as_it_was(tick):
    assert tick_of(flat(tick)) == tick


@given(st.lists(ticks, min_size=2, max_size=6), st.lists(st.integers(0, 5), max_size=8))
def test_what_stays_is_written_as_if_it_were_new(found, order):
    """One writer for a whole day says of each moment what a fresh one would."""
    rows = Rows()
    for place in order:
        tick = found[place % len(found)]
        assert flat(tick, rows) == flat(tick)
        stale = replace(tick, devices=tuple(replace(one, state="stale") for one in tick.devices))
        assert flat(stale, rows) == flat(stale)


def test_every_field_of_a_moment_is_kept():
    """A field that somebody adds is kept too, or this test tells them how."""
    values = {"int": 3, "bool": True, "str": "x", "tuple[str, ...]": ("idle",)}
    told = {name: values.get(kind, ()) for name, kind in DEVICE_KINDS.items() if kind != "float"}
    sizes = {
        name: 64e6 if name.endswith("_hz") else 2.0**26 if "bytes" in name else 0.5 for name in DEVICE_KINDS
    }
    rest = {name: sizes[name] for name, kind in DEVICE_KINDS.items() if kind == "float"}
    whole = DeviceTick(**{**rest, **told, "vendor": "amd", "state": "ok", "energy_j": 5.0})
    assert all(getattr(whole, one.name) is not None for one in fields(DeviceTick) if one.name not in NOT_KEPT)
    host = HostTick(**{one.name: 0.5 if "bytes" not in one.name else 2.0**30 for one in fields(HostTick)})
    tick = moment(1, devices=(whole,), host=host)
    assert tick_of(flat(tick)) == tick


def test_figures_are_kept_to_a_step_that_is_finer_than_anybody_reads():
    odd = card(0, power_w=612.3456, mem_used_bytes=1.0e10 / 3, busy_share=0.98765, sm_hz=1.9804321e9)
    (back,) = tick_of(flat(moment(0, devices=(odd,)))).devices
    assert back.power_w == pytest.approx(odd.power_w, abs=0.05)
    assert back.mem_used_bytes == pytest.approx(odd.mem_used_bytes, abs=2**19)
    assert back.busy_share == pytest.approx(odd.busy_share, abs=0.0005)
    assert back.sm_hz == pytest.approx(odd.sm_hz, abs=5e5)


def test_old_readings_of_a_card_are_not_kept_as_if_they_were_new():
    (back,) = tick_of(flat(moment(0, devices=(card(0, state="stale", age_s=12.0),)))).devices
    assert (back.state, back.age_s, back.power_w, back.busy_share) == ("stale", 12.0, None, None)
    assert back.uuid == "GPU-00000000"


def test_nan_and_infinity_are_not_readings():
    odd = card(0, power_w=float("nan"), gpu_c=float("inf"))
    (back,) = tick_of(flat(moment(0, devices=(odd,)))).devices
    assert (back.power_w, back.gpu_c) == (None, None)


NUMBERS, WORDS = ["at", "gpu0.power_w", "host.cpu_share"], ["gpu0.state", "gpu11.name"]
rows = st.lists(
    st.fixed_dictionaries(
        {},
        optional={name: st.integers(-(2**61), 2**61) for name in NUMBERS}
        | {name: st.text(max_size=8) for name in WORDS},
    ).filter(bool),
    max_size=30,
)


@given(rows)
def test_rows_packed_and_unpacked_are_the_same(found):
    assert unpacked(packed(found)) == found


@given(st.binary(max_size=200))
def test_a_damaged_block_is_told_of(block):
    with pytest.raises(DataError):
        columns_of(block)


@given(st.data())
def test_a_block_with_a_wrong_byte_is_told_of_or_read(data):
    block = bytearray(packed([flat(moment(n)) for n in range(5)]))
    place = data.draw(st.integers(0, len(block) - 1))
    block[place] ^= data.draw(st.integers(1, 255))
    with suppress(DataError):
        columns_of(bytes(block))


def test_blocks_are_small():
    """Eight cards, every second, for a day: some 10 MB."""
    rng = random.Random(7)  # noqa: S311 - no secret
    found = [
        flat(moment(n, devices=tuple(card(i, n, power_w=600 + rng.gauss(0, 20)) for i in range(8))))
        for n in range(BLOCK_ROWS)
    ]
    a_day = len(packed(found)) * 86_400 / BLOCK_ROWS
    assert a_day < 15e6


# --- thinning


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=200), st.sampled_from([5, 60]))
def test_thinned_rows_keep_mean_peak_and_count(shares, step_s):
    found = [{"at": n * 1000, "host.cpu_share": share} for n, share in enumerate(shares)]
    thin = thinned(found, step_s)
    assert sum(row["ticks"] for row in thin) == len(found)
    assert max(row["host.cpu_share>"] for row in thin) == max(shares)
    whole = sum(row["host.cpu_share"] * row["ticks"] for row in thin) / len(found)
    assert whole == pytest.approx(sum(shares) / len(shares), abs=0.51)
    again = thinned(thin, step_s * 3)
    assert max(row["host.cpu_share>"] for row in again) == max(shares)


def test_a_minute_remembers_that_a_card_was_lost_and_why_it_was_slow():
    found = [
        flat(
            moment(
                n,
                devices=(card(0, n, state="lost" if n == 20 else "ok", links_active=17 if n == 30 else 18),),
            )
        )
        for n in range(60)
    ]
    found[40]["gpu0.slowed_by"] = "hw_thermal"
    (row,) = thinned(found, 3600)
    assert row["gpu0.state"] == "lost"
    assert set(row["gpu0.slowed_by"].split(",")) == {"sw_power_cap", "hw_thermal"}
    assert row["gpu0.links_active"] == 17
    assert row["gpu0.energy_j"] == found[-1]["gpu0.energy_j"]
    tick, peaks = tick_of(row), tick_of(row, peaks=True)
    assert tick.devices[0].power_w < peaks.devices[0].power_w


@pytest.fixture
def quick(monkeypatch):
    """Days in minutes: seconds are kept for 20 minutes, minutes for 12 hours, hours for 4 days."""
    grains = (
        Grain(step_s=0, keep_s=1200),
        Grain(step_s=60, keep_s=12 * 3600),
        Grain(step_s=3600, keep_s=4 * 86_400),
    )
    monkeypatch.setattr(history_grains, "GRAINS", grains)


@pytest.mark.usefixtures("quick")
def test_old_moments_grow_coarse_and_the_oldest_go(file):
    with open_history(file) as history:
        for n in range(5 * BLOCK_ROWS):
            history.add_tick(moment(n, 1, step_s=4))
        at = [tick.at_s for tick in history.ticks()]
        steps = {round(after - before) for before, after in pairwise(at)}
        assert at == sorted(at)
        assert steps >= {4, 60}
        assert at[0] == BEGAN_S
        assert len(at) < 1500
        assert [t.at_s for t in history.ticks(since_s=BEGAN_S + 11_960)] == [
            BEGAN_S + n for n in range(11_960, 12_000, 4)
        ]
    assert sound(file)


@pytest.mark.usefixtures("quick")
def test_a_week_switched_off_and_a_clock_that_jumps_thin_nothing(file):
    with open_history(file) as history:
        for n in range(BLOCK_ROWS):
            history.add_tick(moment(n, 1))
        for n in range(BLOCK_ROWS, 2 * BLOCK_ROWS):
            history.add_tick(moment(n, 1, at_s=BEGAN_S + 10 * 365 * 86_400 + n))  # a wild clock
        for n in range(2 * BLOCK_ROWS, 3 * BLOCK_ROWS):
            history.add_tick(moment(n, 1, at_s=BEGAN_S + 100 + n))  # and back
        assert sum(1 for _ in history.ticks()) == 3 * BLOCK_ROWS


def test_the_file_stays_within_its_bound(file):
    with open_history(file, most_bytes=300_000) as history:
        for n in range(5 * BLOCK_ROWS):
            history.add_tick(moment(n, 2))
    assert file.stat().st_size < 3_000_000  # what waits to be packed, and one block in hand
    assert sound(file)


# --- killed, crowded, full, closed, foreign


class Writer:
    """Another process that writes moment after moment, and tells of each when it is safe."""

    def __init__(self, file, start):
        heard, told = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            with suppress(BaseException):
                os.close(heard)
                with open_history(file) as history:
                    for n in itertools.count(start):
                        history.add_tick(moment(n, 1))
                        os.write(told, f"{n}\n".encode())
            os._exit(1)
        os.close(told)
        self.lines = os.fdopen(heard)

    def hear(self, count):
        """The number of the last of so many moments."""
        return [int(self.lines.readline()) for _ in range(count)][-1]

    def kill(self):
        """End it as the system does, wherever it is; the number of the last moment it told of."""
        os.kill(self.pid, signal.SIGKILL)
        rest = self.lines.read().split("\n")[:-1]
        self.lines.close()
        os.waitpid(self.pid, 0)
        return int(rest[-1]) if rest else -1


posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes of POSIX")


@posix
def test_who_is_killed_loses_at_most_the_last_moment_and_never_the_file(file):
    start = 0
    for count in (1, 300, 290, 40, BLOCK_ROWS):  # around the places where blocks are packed, and anywhere
        process = Writer(file, start)
        told = max(process.hear(count), process.kill())
        with open_history(file, writes=False) as history:
            kept = {round(tick.at_s - BEGAN_S) for tick in history.ticks()}
        assert set(range(told + 1)) <= kept, "whatever was told to be safe is safe"
        assert max(kept) <= told + 1
        start = max(kept) + 1
    assert start > BLOCK_ROWS, "blocks were packed meanwhile"
    assert sound(file)


@posix
def test_two_may_write_at_once(file):
    both = [Writer(file, 0), Writer(file, 1_000_000)]  # two clocks, too
    for _ in range(10):
        last = [process.hear(15) for process in both]
    for process in both:
        process.kill()
    with open_history(file, writes=False) as history:
        kept = {round(tick.at_s - BEGAN_S) for tick in history.ticks()}
    assert set(range(last[0])) <= kept
    assert set(range(1_000_000, last[1])) <= kept
    assert sound(file)


def test_a_full_disk_is_told_of_and_the_file_lives(file):
    with open_history(file) as history:
        history.add_tick(moment(0))
        pages = history._open.execute("PRAGMA page_count").fetchone()[0]
        history._open.execute(f"PRAGMA max_page_count = {pages + 3}")
        with pytest.raises(MissingError, match=str(file)):
            [history.add_tick(moment(n)) for n in range(1, 2000)]
        history._open.execute("PRAGMA max_page_count = 1000000")
        history.add_tick(moment(5000))
        assert history._open.in_transaction is False
    assert sound(file)


@pytest.mark.parametrize(
    "what", [b"hello, this is somebody's letter", b"SQLite format 3\x00" + b"\xff" * 5000]
)
def test_a_foreign_file_is_left_alone(file, what):
    file.parent.mkdir()
    file.write_bytes(what)
    for writes in (True, False):
        with pytest.raises(RigError, match=str(file)):
            open_history(file, writes=writes)
    assert file.read_bytes() == what


def test_a_database_of_others_is_left_alone(file):
    file.parent.mkdir()
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE tick (mine TEXT)")
    other.close()
    before = file.read_bytes()
    with pytest.raises(DataError, match=history_file.HOME):  # where ours would lie instead
        open_history(file)
    assert file.read_bytes() == before


def test_a_newer_history_is_not_touched(file):
    open_history(file).close()
    with sqlite3.connect(file) as other:
        other.execute("PRAGMA user_version = 99")
    other.close()
    before = file.read_bytes()
    with pytest.raises(DataError, match=str(file)):
        open_history(file)
    assert file.read_bytes() == before


def test_a_reader_is_not_held_up_by_a_writer_and_a_second_writer_is_told(file):
    open_history(file).close()
    with sqlite3.connect(file, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with open_history(file, writes=False) as reader:
            assert list(reader.ticks()) == []
        with open_history(file, patience_s=0.05) as second:
            with pytest.raises(MissingError, match=str(file)):
                second.add_tick(moment(0))
            other.execute("COMMIT")
            second.add_tick(moment(0))  # whoever was told may add it again: it is kept once
            assert len(list(second.ticks())) == 1
    other.close()


def test_whoever_has_patience_outlasts_another_writer(file, monkeypatch):
    """A benchmark of minutes is not lost because a watch wrote for longer than others wait."""
    monkeypatch.setenv(NAME, "0.1")
    open_history(file).close()
    with closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        leaves = Timer(1.5 * 0.1 * history_file.PATIENCE_S, lambda: other.execute("COMMIT"))
        with open_history(file, patience_s=300.0) as history:
            leaves.start()
            history.add_results([result(1.0)], BOX)
            assert [one.value for one in history.last_results(BOX)] == [1.0]
        leaves.join()


def test_an_older_history_is_brought_up_to_date_whole_or_not_at_all(file, monkeypatch):
    with open_history(file) as history:
        history.add_tick(moment(0))
    older = history_file._SCHEMA
    broken = (*older, "CREATE TABLE more (n INTEGER); CREATE TABLE tick (n INTEGER)")
    monkeypatch.setattr(history_file, "_SCHEMA", broken)
    with pytest.raises(MissingError, match="table tick already exists"):
        open_history(file)
    with closing(sqlite3.connect(file)) as other:
        assert other.execute("PRAGMA user_version").fetchone() == (len(older),)
        assert other.execute("SELECT count(*) FROM sqlite_master WHERE name = 'more'").fetchone() == (0,)
    monkeypatch.setattr(history_file, "_SCHEMA", (*older, "CREATE TABLE more (n INTEGER)"))
    for _ in range(2):
        with open_history(file) as history:
            assert len(list(history.ticks())) == 1
    monkeypatch.setattr(history_file, "_SCHEMA", older)
    for writes in (True, False):
        with pytest.raises(DataError, match=str(file)):
            open_history(file, writes=writes)
    assert sound(file)


@pytest.mark.live
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may mount")
def test_a_disk_that_is_truly_full_or_read_only_is_told_of(tmp_path):
    """Not played by SQLite's own bound: a small disk of its own, filled by another program."""
    place = tmp_path / "disk"
    place.mkdir()
    line = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if not shutil.which("mount") or subprocess.run(line, check=False, capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        file = place / "history.db"
        with open_history(file) as history:
            history.add_tick(moment(0))
            with suppress(OSError), (place / "films").open("wb") as other:
                while True:
                    other.write(bytes(4096))
                    other.flush()
            with pytest.raises(MissingError, match=str(file)):
                [history.add_tick(moment(n)) for n in range(1, 2000)]
            kept = len(list(history.ticks()))
            (place / "films").unlink()
            history.add_tick(moment(5000))
            assert len(list(history.ticks())) == kept + 1
        subprocess.run(["mount", "-o", "remount,ro", place], check=True, capture_output=True)
        assert n_moments(file) == kept + 1
        for wanted in (file, place / "deeper" / "history.db"):
            with pytest.raises(MissingError, match=str(wanted.parent)):
                open_history(wanted)
    finally:
        subprocess.run(["umount", place], check=True, capture_output=True)


def test_a_history_damaged_in_the_midst_is_told_of(file):
    with open_history(file) as history:
        for n in range(3 * BLOCK_ROWS):
            history.add_tick(moment(n, 1))
    whole = bytearray(file.read_bytes())
    whole[4096 : len(whole) // 2] = os.urandom(len(whole) // 2 - 4096)
    file.write_bytes(whole)
    with pytest.raises(RigError, match=str(file)), open_history(file) as history:
        assert not list(history.ticks())


def test_a_place_that_cannot_be_is_told_of(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(MissingError, match=str(tmp_path / "file")):
        open_history(tmp_path / "file" / "history.db")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_closed_folder_is_told_of(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(MissingError, match=str(tmp_path)):
        open_history(tmp_path / "kept" / "history.db")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="users of POSIX")
def test_a_history_in_a_folder_where_we_may_not_write_is_read_all_the_same():
    """A copy on a read-only disk, or that of a colleague."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "history.db"
        with open_history(file) as history:
            for n in range(3):
                history.add_tick(moment(n))
        file.chmod(0o444)
        Path(place).chmod(0o555)
        try:
            assert as_nobody(lambda: n_moments(file)) == 3
        finally:
            Path(place).chmod(0o700)
        assert [one.name for one in Path(place).iterdir()] == ["history.db"]


def n_moments(file):
    with open_history(file, writes=False) as history:
        return len(list(history.ticks()))


def as_nobody(ask):
    """What a user without rights is told: root may write anywhere."""
    child = os.fork()
    if child == 0:
        code = 99
        with suppress(BaseException):
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            code = ask()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_nobody_makes_a_history_by_reading_one(file):
    with pytest.raises(MissingError, match="rigright watch"):
        open_history(file, writes=False)
    assert not file.exists()


def test_a_history_that_lies_in_another_folder_is_found():
    assert str(default_path({"RIGRIGHT_HOME": "/x"})).endswith("history.db")
    mine = default_path({"XDG_STATE_HOME": "/state", "LOCALAPPDATA": "/state"})
    assert "rigright" in mine.parts


# --- machines, results, events

BOX = Machine(
    system=System(host="n1", now_s=BEGAN_S, product="box"),
    cpu=Cpu(name="EPYC"),
    devices=(Device(index=0, vendor="nvidia", uuid="a"), Device(index=1, vendor="nvidia", uuid="b")),
)


def test_a_machine_keeps_its_key_when_a_card_is_lost():
    assert machine_key(BOX) == machine_key(replace(BOX, devices=BOX.devices[:1]))
    assert machine_key(BOX) != machine_key(replace(BOX, system=System(host="n2", product="box")))


def result(value, **more):
    told = {"part": "gemm", "what": "bf16", "on": "gpu 0", "unit": "flops_per_s", "low": value, "high": value}
    return Result(**{**told, "value": value, "repeats": 3, "notes": (say("when"),), **more})


def test_the_last_figure_of_each_thing_is_found(file):
    other = replace(BOX, system=System(host="n2"))
    with open_history(file) as history:
        history.add_results([result(1.0, at_s=10.0), result(5.0, at_s=10.0, on="gpu 1")], BOX)
        history.add_results([result(2.0, at_s=20.0)], BOX)
        history.add_results([result(9.0)], other)
        assert {one.on: one.value for one in history.last_results(BOX)} == {"gpu 0": 2.0, "gpu 1": 5.0}
        assert [one.value for one in history.results(15.0, machine=BOX)] == [2.0]
        (found,) = history.last_results(other)
        assert found.at_s == pytest.approx(time.time(), abs=60)
        assert found.notes == result(2.0).notes


def test_a_machine_comes_back_whole_and_is_kept_thirty_times(file):
    with open_history(file) as history:
        assert history.add_machine(BOX) == machine_key(BOX)
        (seen,) = history.machines()
        assert (seen.machine, seen.at_s) == (BOX, BEGAN_S)
        for n in range(40):
            history.add_machine(replace(BOX, system=replace(BOX.system, now_s=BEGAN_S + n)))
        assert len(history.machines()) == 30
        assert history.machines()[-1].at_s == BEGAN_S + 39


def test_an_event_is_kept_once_however_often_it_is_read(file):
    event = Event(kind="xid", text="NVRM: Xid 79", code=79, up_s=12.5, at_s=BEGAN_S)
    moved = replace(event, at_s=BEGAN_S + 3600)  # the clock was set meanwhile; the log counts from the boot
    with open_history(file) as history:
        assert history.add_events([event, event]) == 1
        assert history.add_events([moved]) == 0
        assert history.add_events([replace(event, up_s=99.0, at_s=BEGAN_S + 90)]) == 1
        assert [one.up_s for one in history.events(BEGAN_S + 1)] == [99.0]
        assert history.events(until_s=BEGAN_S + 1) == (event,)


def test_columns_are_the_ticks_in_si_units(file):
    with open_history(file) as history:
        for n in range(BLOCK_ROWS + 50):
            history.add_tick(moment(n, 1))
        tidy(history._open)
        power = [
            v
            for part in history.columns(wanted=lambda name: name == "gpu0.power_w")
            for v in part["gpu0.power_w"]
        ]
        assert power == [tick.devices[0].power_w for tick in history.ticks()]
        some = list(history.columns(BEGAN_S + 590, BEGAN_S + 610))
        assert sum(len(part["at"]) for part in some) == 21

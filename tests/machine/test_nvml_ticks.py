"""Ticks: the same figures as a full reading, counters as rates, and little work."""

from __future__ import annotations

import ctypes
import os
import struct
import time
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import THOROUGH
from fake_driver import Driver, driver_env
from rigright.machine.nvml import session
from rigright.machine.nvml.hands import Failure, _Numbered
from rigright.machine.nvml.readings import plans, readings
from rigright.machine.nvml.session import Session
from rigright.machine.nvml.ticks import TickKeeper
from rigright.machine.tick import DeviceTick


def opened(play):
    env = play.env if isinstance(play, Driver) else driver_env(play)
    return Session({**os.environ, **env})


@pytest.mark.parametrize(
    "scenario", ["throttled", "hot", "healthy_4xl40s", "a100_pcie_pairs", "gb10", "old_driver", "ecc", "mig"]
)
def test_a_tick_and_a_full_reading_say_the_same(scenario):
    with opened(scenario) as live:
        ticks = live.tick()
        devices = dict(live.devices().fields)["devices"]
    for tick, card in zip(ticks, devices, strict=True):
        assert (tick.index, tick.uuid, tick.name, tick.pci) == (card.index, card.uuid, card.name, card.pci)
        assert (tick.busy_share, tick.mem_busy_share) == (card.busy_share, card.mem_busy_share)
        assert (tick.mem_used_bytes, tick.mem_total_bytes) == (card.mem_used_bytes, card.mem_total_bytes)
        assert (tick.power_w, tick.power_limit_w) == (card.power.draw_w, card.power.limit_w)
        assert (tick.gpu_c, tick.mem_c) == (card.thermal.gpu_c, card.thermal.mem_c)
        assert tick.fan_share == max(card.thermal.fans, default=None)
        assert (tick.sm_hz, tick.mem_hz) == (card.clocks.sm_hz, card.clocks.mem_hz)
        assert (tick.pcie_gen, tick.pcie_lanes) == (card.pcie.gen, card.pcie.lanes)
        assert (tick.slowed_by, tick.recovery) == (card.slowed_by, card.recovery)
        assert tick.links_active == (sum(link.active for link in card.links) if card.links else None)
        links = [(link.is_up, link.errors) for link in tick.links or ()]
        assert links == [(link.active, link.errors) for link in card.links or ()]
        held = tuple(replace(one, sm_share=None, encoder_share=None) for one in tick.programs or ())
        assert held == (card.programs or ()), "what each takes of the card is watched only"
        if card.ecc is not None:
            assert tick.ecc_uncorrected == card.ecc.uncorrected_volatile
        if card.retired is not None:
            assert (tick.rows_pending, tick.rows_failed) == (
                card.retired.rows_pending,
                card.retired.rows_failed,
            )


def test_what_changes_is_seen_at_the_next_tick(tmp_path):
    play = Driver.play("healthy_2x4090", tmp_path)
    with opened(play) as live:
        assert [one.busy_share for one in live.tick()] == [0.98, 0.98]
        play.change(1, busy=3, slowed=1, clock__sm=210, power__draw=21000)
        first, second = live.tick()
        assert (first.busy_share, second.busy_share) == (0.98, 0.03)
        assert (second.slowed_by, second.sm_hz, second.power_w) == (("idle",), 210e6, 21)
        play.change(1, pcie__lanes=1)
        assert live.tick()[1].pcie_lanes == 1


def test_what_a_card_begins_to_support_is_seen_in_its_turn(tmp_path, monkeypatch):
    play = Driver.play({"like": "healthy_2x4090", "each": {"busy": "-"}}, tmp_path)
    with opened(play) as live:
        assert live.tick()[0].busy_share is None
        live.tick()
        play.change(busy=50)
        monkeypatch.setattr(session, "RARE_S", 1e-9)
        assert [one.busy_share for one in live.tick()] == [0.5, 0.5]


def test_what_hardly_changes_is_read_now_and_then_of_every_card(tmp_path):
    """Each card once in so many seconds, however far apart the ticks are; until then as it was last told."""
    play = Driver.play("healthy_8xh100", tmp_path)
    with opened(play) as live:
        live.tick()
        live.tick()
        play.change(ecc__uncorrected_volatile=2, rows__pending=1, power__limit=650000)
        assert {(one.ecc_uncorrected, one.power_limit_w) for one in live.tick()} == {(0, 700)}
        live._asked_s = time.monotonic() - session.RARE_S / 2
        seen = Counter((one.ecc_uncorrected, one.rows_pending, one.power_limit_w) for one in live.tick())
        assert seen == {(2, True, 650): 4, (0, False, 700): 4}
        live._asked_s = time.monotonic() - session.RARE_S / 2
        assert {one.rows_pending for one in live.tick()} == {True}


@pytest.mark.parametrize(("count", "step_s"), [(8, 1.0), (8, 0.05), (3, 1.0), (1, 1.0), (16, 4.0), (5, 60.0)])
def test_every_card_has_its_turn_in_time(count, step_s):
    live = Session({})
    live._asking._process = SimpleNamespace(pid=7)
    live._fresh = 7
    asked = {device: [0.0] for device in range(count)}
    ticks = [n * step_s for n in range(1, int(3 * session.RARE_S / step_s) + 3)]
    for now_s in ticks:
        due = live._rare(list(range(count)), now_s)
        assert len(set(due)) == len(due)
        for device in due:
            asked[device].append(now_s)
    for times in asked.values():
        waits = [after - before for before, after in pairwise([*times, ticks[-1]])]
        assert max(waits) <= max(session.RARE_S, step_s) + step_s + 1e-6
    most = len(ticks) * step_s / session.RARE_S + 1
    assert all(len(times) - 1 <= max(most, len(ticks)) for times in asked.values())


def test_a_program_that_comes_or_goes_is_seen_at_once(tmp_path):
    """It takes memory or gives it back; nothing else makes its list worth reading."""
    play = Driver.play("healthy_2x4090", tmp_path)
    with opened(play) as live:
        live.tick()
        before = live.tick()[1].programs
        play.change(1, programs__0__pid=777, memory__used=5_000_000_000, programs__0__mem=4_000_000_000)
        (now,) = live.tick()[1].programs
        assert (now.pid, now.mem_bytes) == (777, 4e9)
        assert before[0].pid != 777
        assert live.tick()[1].programs == (now,)


def test_what_each_program_takes_of_a_card(tmp_path):
    """The newest sample; one without a sample of late rests; where the driver tells none nothing is known."""
    play = Driver.play("healthy_2x4090", tmp_path)
    play.change(1, programs__0__pid=777, programs__0__sm=83, programs__1__pid=778, programs__1__sm=40,
                programs__1__sm_age=60, programs__2__pid=779)  # fmt: skip
    with opened(play) as live:
        found = {one.pid: one.sm_share for one in live.tick()[1].programs}
        assert found == {777: 0.83, 778: 0.0, 779: 0.0}
        play.change(1, busy="-")
        assert {one.sm_share for one in live.tick()[1].programs} == {None}


def test_counters_of_traffic_become_rates():
    with opened("healthy_8xh100") as live:
        assert {one.pcie_rx_bytes_per_s for one in live.tick()} == {None}  # a rate needs two moments
        time.sleep(0.3)
        for one in live.tick():
            assert one.pcie_rx_bytes_per_s == pytest.approx(1.204e9, rel=0.5)
            assert one.pcie_rx_bytes_per_s > one.pcie_tx_bytes_per_s


def test_a_card_without_such_counters_is_measured_by_the_driver():
    with opened("healthy_2x4090") as live:
        live.tick()
        assert {one.pcie_rx_bytes_per_s for one in live.tick()} == {1436230e3}


COUNTED = st.integers(0, 2**63).filter(
    lambda count: count != 2**32 - 1
)  # what a driver writes for "not known"


@given(st.lists(st.tuples(st.floats(0.001, 100), st.one_of(st.none(), COUNTED)), min_size=1, max_size=6))
def test_a_rate_is_never_below_zero_and_never_from_nothing(moments):
    keeper = TickKeeper(0)
    now_s, before, then_s = 0.0, None, 0.0
    for pause_s, rx in moments:
        now_s += pause_s
        numbers = [None, None, None, rx, rx]
        told = {"handle": True, "numbers": numbers, "clock": now_s}
        tick = keeper.tick(told, owner=lambda _: None, names={})
        if rx is None or before is None or rx < before:
            assert tick.pcie_rx_bytes_per_s is None
        else:
            assert tick.pcie_rx_bytes_per_s == pytest.approx((rx - before) / (now_s - then_s))
        if rx is not None:
            before, then_s = rx, now_s


def test_a_device_that_was_not_read_shows_no_old_figures():
    keeper = TickKeeper(3)
    told = {"handle": True, "name": "a card", "mem": [10, 4, 6], "busy": [50, 5], "thermal.gpu_c": 40}
    assert keeper.tick(told, owner=lambda _: None, names={}).mem_used_bytes == 6
    assert keeper.absent("stale") == DeviceTick(index=3, name="a card", vendor="nvidia", state="stale")


def test_a_tick_asks_little():
    """One call a reading; and what only a few ticks or a change bring is not in it."""
    fast = {row[0] for row in plans()["tick"]}
    assert len(fast) <= 10
    assert not fast & {row[0] for name in ("rare", "moved") for row in plans()[name]}
    asked_for = {row[0] for row in plans()["activity"]}
    assert asked_for == {"activity"}
    assert {one.reading for one in readings()} == {row[0] for row in plans()["full"]} | asked_for


def test_readings_by_number_are_laid_out_as_the_library_has_them():
    """Against the binding's own record: every kind of value, and what a device does not have."""
    nvml = pytest.importorskip("pynvml")
    kinds = ["dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal"]
    values = [2.5, 2**32 - 1, 2**31, 2**63 + 1, -7, -3, 65535]

    def play(_handle, count, place):
        fields = ctypes.cast(place, ctypes.POINTER(nvml.c_nvmlFieldValue_t))
        assert [fields[n].fieldId for n in range(count.value)] == [100 + n for n in range(8)]
        assert fields[3].scopeId == 5
        for kind, name in enumerate(kinds):
            fields[kind].valueType = kind
            setattr(fields[kind].value, name, values[kind])
        fields[7].nvmlReturn = nvml.NVML_ERROR_NOT_SUPPORTED
        return 0

    room = _Numbered([(100 + n, 5 if n == 3 else 0) for n in range(8)])
    assert room.read(play, None) == [*values, None]
    assert struct.calcsize("=IIqqII8s") == ctypes.sizeof(nvml.c_nvmlFieldValue_t)
    with pytest.raises(Failure) as why:
        room.read(lambda *_: 15, None)
    assert why.value.code == 15


def test_ticks_leave_nothing_behind():
    """Hundreds of them: no memory, no files."""
    turns = 600 if THOROUGH else 260
    with opened("healthy_2x4090") as live:
        live._off.add("flow")  # twenty milliseconds each
        sizes = Counter()
        for turn in range(turns):
            live.tick()
            if turn in {100, turns - 1}:
                sizes[turn] = (resident(live.child), files(os.getpid()), files(live.child))
    first, last = sizes[100], sizes[turns - 1]
    assert last[1:] == first[1:]
    assert last[0] - first[0] < 1_000_000


def resident(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def files(pid):
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))

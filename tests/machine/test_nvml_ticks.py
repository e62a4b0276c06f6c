"""Ticks: the same figures as a full reading, counters as rates, and little work."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_driver import Driver, driver_env
from rigright.machine.nvml.readings import readings
from rigright.machine.nvml.session import Session
from rigright.machine.nvml.ticks import Keeper
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
        assert tick.programs == card.programs
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


def test_what_a_card_begins_to_support_is_seen_in_its_turn(tmp_path):
    play = Driver.play({"like": "healthy_2x4090", "each": {"busy": "-"}}, tmp_path)
    with opened(play) as live:
        assert live.tick()[0].busy_share is None
        live.tick()
        play.change(busy=50)
        seen = [[one.busy_share for one in live.tick()] for _ in range(3)]
    assert seen[-1] == [0.5, 0.5]


def test_counters_of_traffic_become_rates():
    with opened("healthy_8xh100") as live:
        assert {one.pcie_rx_bytes_per_s for one in live.tick()} == {None}  # a rate needs two moments
        time.sleep(0.05)
        for one in live.tick():
            assert one.pcie_rx_bytes_per_s == pytest.approx(1.204e9, rel=0.5)
            assert one.pcie_rx_bytes_per_s > one.pcie_tx_bytes_per_s


def test_a_card_without_such_counters_is_measured_by_the_driver():
    with opened("healthy_2x4090") as live:
        live.tick()
        assert {one.pcie_rx_bytes_per_s for one in live.tick()} == {1436230e3}


@given(
    st.lists(
        st.tuples(st.floats(0.001, 100), st.one_of(st.none(), st.integers(0, 2**63))), min_size=1, max_size=6
    )
)
def test_a_rate_is_never_below_zero_and_never_from_nothing(moments):
    keeper = Keeper(0)
    now_s, before, then_s = 0.0, None, 0.0
    for pause_s, rx in moments:
        now_s += pause_s
        numbers = [None, None, None, None, None, None, None, None, rx, rx]
        told = {"handle": True, "numbers": numbers, "clock": now_s}
        tick = keeper.tick(told, owner=lambda _: None, names={})
        if rx is None or before is None or rx < before:
            assert tick.pcie_rx_bytes_per_s is None
        else:
            assert tick.pcie_rx_bytes_per_s == pytest.approx((rx - before) / (now_s - then_s))
        if rx is not None:
            before, then_s = rx, now_s


def test_a_device_that_was_not_read_shows_no_old_figures():
    keeper = Keeper(3)
    told = {"handle": True, "name": "a card", "mem": [10, 4, 6], "busy": [50, 5], "thermal.gpu_c": 40}
    assert keeper.tick(told, owner=lambda _: None, names={}).mem_used_bytes == 6
    assert keeper.absent("stale") == DeviceTick(index=3, name="a card", vendor="nvidia", state="stale")


def test_a_tick_asks_little():
    """Each reading is one call a device and tick, and no process is started."""
    per_device = len({one.reading for one in readings() if one.when == "both"})
    assert per_device <= 18
    with opened("healthy_8xh100") as live:
        live.tick()
        child = live.child
        for _ in range(20):
            live.tick()
        assert live.child == child


def test_ticks_leave_nothing_behind():
    """A thousand of them: no memory, no files, no threads."""
    with opened("healthy_2x4090") as live:
        live._off.add("flow")  # twenty milliseconds each
        sizes = Counter()
        for turn in range(600):
            live.tick()
            if turn in {100, 599}:
                sizes[turn] = (resident(live.child), files(os.getpid()), files(live.child))
    first, last = sizes[100], sizes[599]
    assert last[1:] == first[1:]
    assert last[0] - first[0] < 1_000_000


def resident(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def files(pid):
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))

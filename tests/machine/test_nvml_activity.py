"""What the parts of a card do, by the driver's own counters; MIG instances; the fabric: at every moment."""

from __future__ import annotations

import os
import time

import pytest

from fake_driver import Driver
from rigright.machine.nvml import session
from rigright.machine.nvml.hands import APART_S
from rigright.machine.nvml.session import Session

DONE = {
    "gpm": {"sm": 87.5, "occupancy": 31, "tensor": 52.25, "dram": 64, "nvlink_rx": 2048, "nvlink_tx": "-"}
}


def opened(play, *, activity=True):
    return Session({**os.environ, **play.env}, activity=activity)


def two(live):
    """A tick after another: what was done is told between two."""
    live.tick()
    time.sleep(APART_S)
    return live.tick()


def test_what_the_parts_of_a_card_did_between_two_ticks(tmp_path):
    play = Driver.play({"like": "healthy_8xh100", "each": DONE}, tmp_path)
    with opened(play) as live:
        assert {one.activity for one in live.tick()} == {()}, "the first sample has none before it"
        time.sleep(APART_S)
        for one in live.tick():
            (whole,) = one.activity
            assert whole.gpu_instance is None
            assert (whole.sm_share, whole.occupied_share) == (0.875, 0.31)
            assert (whole.tensor_share, whole.dram_share) == (0.5225, 0.64)
            assert (whole.nvlink_rx_bytes_per_s, whole.nvlink_tx_bytes_per_s) == (2048 * 2**20, None)


def test_two_ticks_close_together_take_no_second_sample(tmp_path):
    """The driver renews its counters every tenth of a second: sooner they tell nothing."""
    with opened(Driver.play({"like": "healthy_2x4090", "each": DONE}, tmp_path)) as live:
        two(live)
        assert {one.activity for one in live.tick()} == {()}


def test_who_does_not_ask_takes_no_sample(tmp_path):
    play = Driver.play({"like": "healthy_8xh100", "each": DONE}, tmp_path)
    with opened(play, activity=False) as live:
        assert {one.activity for one in two(live)} == {None}


def test_a_card_before_hopper_and_an_old_driver_tell_nothing(tmp_path):
    with opened(Driver.play("healthy_2x4090", tmp_path)) as live:
        assert {one.activity for one in two(live)} == {None}
    absent = ["nvmlGpmQueryDeviceSupport", "nvmlGpmMetricsGet", "nvmlGpmSampleGet"]
    with opened(Driver.play({"like": "healthy_8xh100", "absent": absent, "each": DONE}, tmp_path)) as live:
        assert {(one.state, one.activity) for one in two(live)} == {("ok", None)}


def test_samples_are_given_back(tmp_path):
    """The played driver has room for twelve: two cards, one sample each between ticks."""
    play = Driver.play({"like": "healthy_2x4090", "each": DONE}, tmp_path)
    with opened(play) as live:
        for _ in range(16):
            time.sleep(APART_S)
            ticks = live.tick()
    assert [len(one.activity) for one in ticks] == [1, 1]


@pytest.mark.parametrize("fault", ["!hang", "!999"])
def test_a_sample_that_hangs_or_fails_hides_nothing_else(tmp_path, fault):
    play = Driver.play({"like": "healthy_2x4090", "each": DONE}, tmp_path)
    play.change(0, gpm__sm=fault)
    with Session({**os.environ, **play.env}, patience_s=0.8, activity=True) as live:
        first, second = two(live)
        assert (first.busy_share, second.busy_share) == (0.98, 0.98)
        assert not first.activity


def test_mig_instances_and_what_each_of_them_does(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "RARE_S", 1e-9)
    play = Driver.play({"like": "mig"}, tmp_path)
    play.change(0, slices__0__gpm__sm=40, slices__0__gpm__tensor=12, slices__2__gpm__sm=3)
    play.change(0, gpm__sm=21)
    with opened(play) as live:
        first, *others = two(live)
        assert {one.slices for one in others} == {None}
        assert [(one.gpu_instance, one.profile) for one in first.slices] == [
            (1, "3g.40gb"), (5, "2g.20gb"), (9, "1g.10gb"),
        ]  # fmt: skip
        assert first.slices[0].mem_used_bytes == 21474836480
        done = {one.gpu_instance: (one.sm_share, one.tensor_share) for one in first.activity}
        assert done == {None: (0.21, None), 1: (0.4, 0.12), 9: (0.03, None)}
        play.change(0, slices__0__memory__used=1 << 30, slices__2__uuid="-")
        first = two(live)[0]
        assert [(one.gpu_instance, one.mem_used_bytes) for one in first.slices] == [(1, 2**30), (5, 13631488)]
        assert {one.gpu_instance for one in first.activity} == {None, 1}


def test_the_fabric_is_seen_when_it_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "RARE_S", 1e-9)
    play = Driver.play("healthy_8xh100", tmp_path)
    with opened(play) as live:
        assert {one.fabric.state for one in live.tick()} == {"completed"}
        play.change(3, fabric__state=2, fabric__summary=2)
        assert [(one.fabric.state, one.fabric.health) for one in two(live)][3] == ("in progress", "unhealthy")


BLACKWELL = {  # as a driver tells the links of B200: no counters by the old calls
    "replay": "-", "recovery": "-", "crc_flit": "-", "crc_data": "-", "tx_kib": "-", "rx_kib": "-",
    "tx_bytes": 1 << 40, "rx_bytes": 5, "malformed": 0, "overrun": 0, "rx": 3, "rx_remote": 0,
    "rx_general": 0, "integrity": 0, "discards": 0, "recovery_failed": 0, "recovery_events": 0,
    "effective": 7, "symbol": 0,
}  # fmt: skip


def test_links_of_blackwell_are_counted_by_number(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "RARE_S", 1e-9)
    play = Driver.play({"like": "healthy_8xh100", "each": {"link": BLACKWELL}}, tmp_path)
    play.change(2, **{"link__recovery_events.4": 6, "link__recovery_failed.4": 1})
    with opened(play) as live:
        ticks = live.tick()
    first, sick = ticks[0].links[0], ticks[2].links[4]
    assert (first.tx_bytes, first.rx_bytes) == (1 << 40, 5)
    assert dict(first.errors)["effective"] == 7
    assert "tx_bytes" not in dict(first.errors)
    assert (dict(sick.errors)["recovery"], dict(sick.errors)["recovery_failed"]) == (6, 1)
    assert dict(ticks[2].links[3].errors)["recovery"] == 0

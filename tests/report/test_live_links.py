"""Links and activity in the live view: drawn from what a played driver tells."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest

from fake_driver import Driver
from rigright.base.words import say
from rigright.machine.device import Device, DirectLink
from rigright.machine.nvml import session
from rigright.machine.nvml.hands import APART_S
from rigright.machine.nvml.session import Session
from rigright.machine.record import Machine
from rigright.machine.sampling.ports import PortUse
from rigright.machine.tick import DeviceTick, LinkTick, Tick
from rigright.report.live.keys import View
from rigright.report.live.lists import LinkRow, link_rows
from rigright.report.live.recent import Recent
from rigright.report.live.view import draw
from rigright.report.screen import Screen
from rigright.verbs.watch.record import Detail, MachineMoment

GB = 1e9
CARD = DeviceTick(index=0, vendor="nvidia", name="NVIDIA H100", links_active=2)


def link(index=0, *, up=True, rx=None, tx=None, **errors):
    return LinkTick(index=index, is_up=up, rx_bytes=rx, tx_bytes=tx, errors=tuple(errors.items()))


def seen(*moments):
    """What is remembered of links, one reading every two seconds."""
    recent = Recent()
    for n, told in enumerate(moments):
        tick = Tick(at_s=2.0 * n, clock_s=2.0 * n, devices=(replace(CARD, links=told),))
        recent.add(MachineMoment(tick=tick, host_name="n1"))
    return recent


def table(recent, detail=None, moment=None):
    moment = moment or replace(recent.moment, detail=detail)
    return {row.name: row for row in link_rows(recent, moment)}


ONE = LinkRow(name="gpu0:0", up="up", rx_bytes_per_s=None, tx_bytes_per_s=None)


def test_rates_and_new_errors_are_those_since_a_reading_before():
    told = table(
        seen(
            (link(0, rx=0.0, tx=0.0, replay=5), link(1, rx=0.0, tx=0.0, replay=0)),
            (link(0, rx=2.0**31, tx=2.0**30, replay=9), link(1, rx=2.0**30, tx=0.0, replay=0)),
        )
    )
    first = replace(
        ONE, up=say("up"), rx_bytes_per_s=2.0**30, tx_bytes_per_s=2.0**29, new_errors=4, errors="replay 9"
    )
    assert told["gpu0:0"] == first
    assert told["gpu0"] == replace(first, name="gpu0", up="2/2", rx_bytes_per_s=1.5 * 2**30, fabric="-")
    assert (told["gpu0:1"].new_errors, told["gpu0:1"].errors) == (0, "0")


def test_links_that_were_not_read_again_keep_their_rate():
    """Links are read every ten seconds, moments come every second: the same reading is no standstill."""
    before, now = (link(rx=0.0),), (link(rx=2.0**30),)
    once = table(seen(before, now))["gpu0:0"].rx_bytes_per_s
    assert table(seen(before, now, now, now))["gpu0:0"].rx_bytes_per_s == once == 2.0**29


def test_new_errors_are_those_of_all_readings_and_a_rate_is_of_the_last_two():
    now = table(seen(*((link(rx=n * 2.0**30 * n, replay=n),) for n in range(5))))["gpu0:0"]
    assert (now.new_errors, now.rx_bytes_per_s) == (4, (16 - 9) * 2.0**29)


def test_a_counter_that_began_anew_has_no_rate_and_no_new_errors():
    now = table(seen((link(rx=9.0 * GB, replay=7),), (link(rx=1.0, replay=1),)))["gpu0:0"]
    assert (now.rx_bytes_per_s, now.new_errors) == (None, 0)


def test_one_reading_has_no_rate_and_no_counter_is_no_zero():
    assert table(seen((link(rx=1.0, tx=1.0),)))["gpu0:0"] == replace(ONE, up=say("up"))


def test_links_to_look_at_come_first_after_the_cards():
    recent = seen((link(0, replay=0), link(1, replay=3), link(2, up=False)))
    assert list(table(recent)) == ["gpu0", "gpu0:1", "gpu0:2", "gpu0:0"]


def test_a_driver_that_is_not_asked_at_each_moment_shows_links_as_they_were_probed():
    device = Device(index=0, vendor="amd", links=(DirectLink(index=0, active=True),))
    tick = Tick(at_s=0.0, clock_s=0.0, devices=(DeviceTick(index=0, vendor="amd"),))
    probed = Detail(machine=Machine(devices=(device,)))
    assert table(Recent(), moment=MachineMoment(tick=tick, detail=probed))["amd0"].up == "1/1"
    assert table(Recent(), moment=MachineMoment(tick=tick)) == {}


def test_network_ports_stand_between_cards_and_single_links():
    port = PortUse(name="mlx5_0/1", kind="infiniband", state="active", bytes_per_s=50 * GB,
                   rx_bytes_per_s=2.0**30, errors=9, new_errors=2)  # fmt: skip
    found = table(seen((link(0),)), Detail(ports=(port,)))
    assert list(found) == ["gpu0", "mlx5_0/1", "gpu0:0"]
    assert found["mlx5_0/1"] == LinkRow(
        name="mlx5_0/1", up="active", rx_bytes_per_s=2.0**30, tx_bytes_per_s=None,
        fabric="infiniband 400 Gb/s", new_errors=2, errors="9",
    )  # fmt: skip


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """Three readings of eight cards that compute, with a link down, one that counts errors."""
    done = {"gpm": {"sm": 87.5, "tensor": 52.25, "dram": 64, "nvlink_rx": 2048, "nvlink_tx": 1024}}
    play = Driver.play({"like": "nvlink_down", "each": done}, tmp_path_factory.mktemp("played"))
    recent = Recent()
    with pytest.MonkeyPatch.context() as patch, Session({**os.environ, **play.env}, activity=True) as live:
        patch.setattr(session, "RARE_S", 1e-9)
        for n in range(3):
            if n == 2:
                play.change(3, fabric__state=2)
            tick = Tick(at_s=float(n), clock_s=float(n), devices=live.tick())
            recent.add(MachineMoment(tick=tick, host_name="n1"))
            time.sleep(APART_S)
    return recent


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("width", "unicode"), [(40, True), (80, False), (120, True), (200, True)])
def test_what_the_played_driver_tells_is_drawn_on_any_screen(watched, language, width, unicode):
    screen = Screen(width=width, unicode=unicode, language=language)

    def shown(view, height=40):
        lines = draw(watched, view, screen=screen, height=height).lines
        return [line for line in lines if line.startswith("gpu")]

    nvlink = [line for line in shown(View(links=True), 34) if line.startswith("gpu2")]
    assert any("16/18" in line for line in nvlink)
    assert [line.split()[0] for line in nvlink][-3:] == ["gpu2:4", "gpu2:7", "gpu2:11"]
    assert any("replay 83,412" in line for line in nvlink)
    cards = [line for line in shown(View(), 14) if line.startswith("gpu4 ")]
    assert all(("88 %" in line and "52 %" in line) == (width >= 80) for line in cards)
    assert cards


def test_the_fabric_is_told_as_it_is_now(watched):
    told = table(watched)
    assert str(told["gpu3"].fabric).startswith("in progress")
    assert str(told["gpu0"].fabric).startswith("completed")
    assert (told["gpu0"].rx_bytes_per_s, told["gpu0"].tx_bytes_per_s) == (2.0**31, 2.0**30)

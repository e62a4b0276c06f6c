"""Links and activity in the live view: drawn from what a played driver tells."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest

from fake_driver import Driver
from rigright.machine.device import DirectLink
from rigright.machine.nvml import session
from rigright.machine.nvml.hands import APART_S
from rigright.machine.nvml.session import Session
from rigright.machine.sampling.ports import PortUse
from rigright.machine.tick import DeviceTick, LinkTick, Tick
from rigright.report.live.lists import link_rows
from rigright.report.live.recent import Recent
from rigright.report.live.state import View
from rigright.report.live.view import draw
from rigright.report.screen import Screen
from rigright.verbs.watch.watched import MachineMoment

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


def table(recent, probed=None, devices=None):
    found = link_rows(recent, devices or recent.moment.tick.devices, probed=probed or {})
    return {str(row[0]): tuple(map(str, row[1:])) for row in found}


def test_rates_and_new_errors_are_those_since_a_reading_before():
    told = table(
        seen(
            (link(0, rx=0.0, tx=0.0, replay=5), link(1, rx=0.0, tx=0.0, replay=0)),
            (link(0, rx=2.0**31, tx=2.0**30, replay=9), link(1, rx=2.0**30, tx=0.0, replay=0)),
        )
    )
    assert told["gpu0"] == ("2/2", "1.50 GiB/s", "512 MiB/s", "-", "+4", "replay 9")
    assert told["gpu0:0"] == ("up", "1.00 GiB/s", "512 MiB/s", "", "+4", "replay 9")
    assert told["gpu0:1"][4:] == ("+0", "0")


def test_links_that_were_not_read_again_keep_their_rate():
    """Links are read every ten seconds, moments come every second: the same reading is no standstill."""
    before, now = (link(rx=0.0),), (link(rx=2.0**30),)
    assert table(seen(before, now, now, now))["gpu0:0"][1] == table(seen(before, now))["gpu0:0"][1] != "-"


def test_a_counter_that_began_anew_has_no_rate_and_no_new_errors():
    told = table(seen((link(rx=9.0 * GB, replay=7),), (link(rx=1.0, replay=1),)))
    assert told["gpu0:0"][1] == "-"
    assert told["gpu0:0"][4] == "+0"


def test_one_reading_has_no_rate_and_no_counter_is_no_zero():
    told = table(seen((link(rx=1.0, tx=1.0),)))
    assert told["gpu0:0"] == ("up", "-", "-", "", "-", "-")


def test_links_to_look_at_come_first_after_the_cards():
    recent = seen((link(0, replay=0), link(1, replay=3), link(2, up=False)))
    assert list(table(recent)) == ["gpu0", "gpu0:1", "gpu0:2", "gpu0:0"]


def test_a_driver_that_is_not_asked_at_each_moment_shows_links_as_they_were_probed():
    probed = {"amd0": type("Device", (), {"links": (DirectLink(index=0, active=True),), "fabric": None})}
    tick = DeviceTick(index=0, vendor="amd")
    assert table(Recent(), probed, [tick])["amd0"][0] == "1/1"
    assert table(Recent(), {}, [tick]) == {}


def test_network_ports_stand_between_cards_and_single_links():
    port = PortUse(name="mlx5_0/1", kind="infiniband", state="active", bytes_per_s=50 * GB,
                   rx_bytes_per_s=2.0**30, errors=9, new_errors=2)  # fmt: skip
    found = link_rows(recent := seen((link(0),)), recent.moment.tick.devices, probed={}, ports=[port])
    assert [row[0] for row in found] == ["gpu0", "mlx5_0/1", "gpu0:0"]
    assert found[1][1:] == ("active", "1.00 GiB/s", "-", "infiniband 400 Gb/s", "+2", "9")


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
    assert table(watched)["gpu3"][3].startswith("in progress")
    assert table(watched)["gpu0"][3].startswith("completed")
    assert table(watched)["gpu0"][1:3] == ("2.00 GiB/s", "1.00 GiB/s")

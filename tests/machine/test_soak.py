"""A day by a clock that runs fast: nothing that a watch holds grows, whatever comes and goes meanwhile."""

from __future__ import annotations

import gc
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from moments import card, moment

from examples import THOROUGH
from rigright.machine.device import Program
from rigright.machine.exporter.page import Pages
from rigright.machine.exporter.tally import MetricsTally, WatchSettings
from rigright.machine.history.store import open_history
from rigright.machine.system import Event
from rigright.machine.world import World
from rigright.report.live.keys import View
from rigright.report.live.recent import Recent
from rigright.report.live.view import draw
from rigright.report.screen import Screen
from rigright.verbs.watch.record import MachineMoment

# a day, or as many looks in two hours of it; benchmarks/watch.py does it every second
EVERY_S, LOOKS = 30, 2880 if THOROUGH else 320


def look(n):
    """Programs come and go, a card is lost now and then, the clock is set back at noon, XIDs come."""
    programs = tuple(Program(pid=n * 3 + k, name=f"train{n % 97}.py", mem_bytes=1e9) for k in range(3))
    state = "lost" if LOOKS * 5 < n * 16 < LOOKS * 16 // 3 else "ok"
    at = moment(n, step_s=EVERY_S, devices=(card(0, n, programs=programs), card(1, n, state=state)))
    event = Event(kind="xid", code=n % 200, text=f"line {n}", pci="0000:10:00.0", up_s=float(n))
    return replace(at, at_s=at.at_s - (5000 if n > LOOKS // 2 else 0)), (event,) if n % 7 == 0 else ()


def own_bytes():
    """Memory that this process alone holds."""
    words = Path("/proc/self/statm").read_text(encoding="utf-8").split()
    return (int(words[1]) - int(words[2])) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts open files in /proc")
def test_a_day_leaves_nothing_behind(tmp_path):
    tally, recent = (
        MetricsTally(World(root=tmp_path), WatchSettings(every_s=EVERY_S), clock=lambda: 0.0),
        Recent(),
    )
    pages, held, files, page_sizes = Pages(tally), [], [], []
    with open_history(tmp_path / "history.db") as history:
        for n in range(LOOKS):
            tick, events = look(n)
            tally.add(tick, 0.01)
            tally.add_events(events)
            recent.add(MachineMoment(tick=tick, events=events))
            history.add_tick(tick)
            history.add_events(events)
            if n % 40 == 0:
                page_sizes.append(len(pages.page()[0]))
                assert draw(recent, View(), screen=Screen(), height=40).lines
            if n % (LOOKS // 4) == LOOKS // 4 - 1:
                gc.collect()
                held.append(own_bytes())
                files.append(len(list(Path("/proc/self/fd").iterdir())))
        assert sum(1 for _ in history.ticks()) == LOOKS
    assert held[-1] < held[0] + 8e6, held  # a moment a look that stayed would be twice that
    assert len(set(files)) == 1, files
    assert max(page_sizes) < 3 * page_sizes[2], "series are bounded"
    size = sum(path.stat().st_size for path in tmp_path.glob("history*"))
    assert size < 12e6

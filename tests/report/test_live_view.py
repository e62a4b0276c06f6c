"""The live view: never larger than the screen, what is wrong beside its card, foreign text steers nothing."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.page import Table
from rigright.base.words import say
from rigright.machine.device import Program
from rigright.machine.host import NodePower
from rigright.machine.system import Event
from rigright.machine.tick import Activity, DeviceTick, HostTick, LinkTick, Tick
from rigright.report import readings
from rigright.report.live.keys import View
from rigright.report.live.recent import EVENTS, KEPT, Recent
from rigright.report.live.view import draw
from rigright.report.pages import watch as pages
from rigright.report.screen import Screen
from rigright.verbs.watch.record import MachineMoment
from spoken import pairs_whole, values

CARD = DeviceTick(
    index=0, name="NVIDIA H100 80GB HBM3", vendor="nvidia", busy_share=0.97, mem_used_bytes=62.5 * 2**30,
    mem_total_bytes=79.6 * 2**30, power_w=612.0, power_limit_w=700.0, gpu_c=52.0, mem_c=68.0, sm_hz=1.98e9,
    pcie_gen=5, pcie_lanes=16, slowed_by=(),
)  # fmt: skip
HOST = HostTick(
    cpu_share=0.37, busiest_core_share=1.0, mem_used_bytes=2.0**37, mem_total_bytes=2.0**38, wait_share=0.2
)


def moment(*cards, **more):
    tick = Tick(at_s=0.0, clock_s=0.0, devices=cards, host=HOST)
    return MachineMoment(**{"tick": tick, "host_name": "n1", **more})


def drawn(*cards, width=100, height=40, times=1, language="en", unicode=True, view=None, **more):
    recent = Recent()
    for _ in range(times):
        recent.add(moment(*cards, **more))
    return lines(recent, Screen(width=width, unicode=unicode, language=language), height=height, view=view)


def lines(recent, screen, *, height, view=None):
    return draw(recent, view or View(), screen=screen, height=height).lines


def wide(line):
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in line)


def eight(**more):
    return tuple(replace(CARD, index=n, **more) for n in range(8))


def crowd(count, state):
    program = Program(pid=1, name="/opt/venv/bin/python -m vllm.entrypoints", user="ada", mem_bytes=2e10)
    for n in range(count):
        own = {"state": state if n % 3 == 0 else "ok", "slowed_by": ("hw_thermal",) * (n % 2)}
        yield replace(CARD, index=n, ecc_uncorrected=n, programs=(program,), **own)


sizes = st.tuples(st.integers(20, 300), st.integers(4, 100), st.integers(1, 3))
views = st.builds(
    View,
    links=st.booleans(),
    words=st.text(max_size=8),
    typing=st.none() | st.text(max_size=8),
    top=st.integers(0, 500),
    help=st.booleans(),
)


@pytest.mark.parametrize(("language", "unicode"), [("en", True), ("zh", True), ("en", False)])
@given(sizes, st.integers(0, 16), st.sampled_from(["ok", "lost", "hung", "stale"]), views)
def test_nothing_is_larger_than_the_screen(language, unicode, size, count, state, view):
    width, height, times = size
    cards = tuple(crowd(count, state))
    events = (Event(kind="xid", code=79, pci="0000:19:00.0", text="GPU has fallen off the bus " * 5),)
    notes_ = (say("q quit"),) * (count % 3)
    shown = drawn(
        *cards, width=width, height=height, times=times, language=language, unicode=unicode, view=view,
        events=events, notes=notes_,
    )  # fmt: skip
    assert len(shown) <= height
    assert max(map(wide, shown)) <= width
    assert unicode or "".join(shown).isascii()


def test_each_card_has_a_line_with_its_figures():
    for size in ((80, 20), (120, 40)):
        shown = [one for one in drawn(*eight(), width=size[0], height=size[1]) if one.startswith("gpu")]
        assert len(shown) == 8
        assert all("97 %" in one and "62.5/79.6 GiB" in one and "612/700 W" in one for one in shown)


def test_what_no_card_reports_has_no_column():
    counted = eight(activity=(Activity(sm_share=0.5),))
    for cards, is_seen in ((eight(), False), (counted, True)):
        (head,) = [one for one in drawn(*cards, width=160) if one.startswith("card ")]
        assert (" SM " in head) == is_seen
        assert "tensor" not in head


def test_a_column_that_finds_no_room_goes_by_its_rank():
    (head,) = [line for line in drawn(*eight(), width=80) if line.startswith("card ")]
    assert "heat" in head
    assert "recent load" in head
    assert "clock" not in head


def test_cards_that_find_no_room_are_counted():
    shown = drawn(*eight(), width=80, height=8)
    (last,) = [
        place
        for place, line in enumerate(shown)
        if line.startswith("gpu") and not shown[place + 1].startswith("gpu")
    ]
    left = 8 - sum(line.startswith("gpu") for line in shown)
    assert left > 0
    assert re.search(rf"\b{left}\b", shown[last + 1])


def test_cards_in_trouble_find_room_first():
    cards = [replace(CARD, index=n) for n in range(16)]
    cards[12] = replace(cards[12], state="lost")
    cards[15] = replace(cards[15], slowed_by=("hw_thermal",))
    shown = drawn(*cards, width=80, height=10)
    told = [line.split()[0] for line in shown if line.startswith("gpu")]
    assert told[:3] == ["gpu12", "gpu15", "gpu0"]
    whole = drawn(*cards, width=80, height=40)
    assert [line.split()[0] for line in whole if line.startswith("gpu")] == [f"gpu{n}" for n in range(16)]


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (100, 20), (200, 20)])
@pytest.mark.parametrize("unicode", [True, False])
def test_a_hot_card_says_so_on_any_screen(size, unicode):
    """A picture of the past, or a figure, is no reason to leave out that the card brakes."""
    width, height = size
    cards = [replace(CARD, index=n) for n in range(8)]
    cards[6] = replace(CARD, index=6, slowed_by=("hw_thermal",), gpu_c=93.0)
    shown = drawn(*cards, width=width, height=height, times=50, unicode=unicode)
    (line,) = [line for line in shown if line.startswith("gpu6")]
    assert line.endswith(str(readings.slowed_by(cards[6])[0]))
    assert "97 %" in line


def test_what_is_wrong_stands_beside_the_card():
    cards = (
        replace(CARD, state="lost"),
        replace(CARD, index=1, slowed_by=("hw_thermal", "sw_power_cap")),
        replace(CARD, index=2, recovery="gpu reset"),
        replace(CARD, index=3, state="stale", age_s=42.0),
        replace(CARD, index=4, rows_pending=True),
    )
    for height in (12, 60):
        told = [line for line in drawn(*cards, width=140, height=height) if line.startswith("gpu")]
        for card, line in zip(cards, told, strict=True):
            wrong, _ = readings.trouble(card) or readings.slowed_by(card)
            assert str(wrong) in line
    both = [one for _, one in pairs_whole(readings.slowed_by(cards[1])[0])]
    assert readings.reason("hw_thermal") in both
    assert readings.reason("sw_power_cap") in both
    assert values(readings.trouble(cards[2])[0]) == {"action": "gpu reset"}
    assert values(readings.trouble(cards[3])[0]) == {"seconds": "42"}


@pytest.mark.parametrize(
    ("loads", "shown"),
    [([1.0] * 70, "█" * 20), ([0.0] * 16 + [1.0] * 4, "▁" * 16 + "█" * 4), ([1.0, None] * 9, "█ " * 9)],
)
def test_on_a_wide_screen_a_card_has_a_picture_of_its_past(loads, shown):
    """The newest stands at the right; a time without an answer is a gap."""
    recent = Recent()
    for load in loads:
        recent.add(moment(replace(CARD, busy_share=load or 0.0, state="lost" if load is None else "ok")))
    (line,) = [line for line in lines(recent, Screen(width=160), height=40) if line.startswith("gpu0 ")]
    assert shown.strip() in line


def test_no_colour_unless_asked_for():
    assert "\x1b" not in "".join(drawn(*eight()))
    recent = Recent()
    recent.add(moment(*eight()))
    assert "\x1b[" in "".join(lines(recent, Screen(width=100, colour=True), height=40))


def test_names_of_others_steer_no_terminal():
    evil = "x\x1b[2J\x1b]0;owned\x07\u202e"
    card = replace(CARD, name=evil, programs=(Program(pid=1, name=evil, user="u", mem_bytes=1.0),))
    event = Event(kind="xid", code=1, text=evil)
    for height in (10, 40):
        told = "".join(drawn(card, height=height, events=(event,)))
        assert not re.search(r"[\x00-\x1f\x7f\u202e]", told)
    now = moment(card, events=(event,))
    assert not re.search(
        r"[\x00-\x1f\u202e]", "".join([*pages.log_readings(now, "en"), *pages.log_events(now, "en")])
    )


def test_what_is_remembered_is_bounded():
    recent = Recent()
    for n in range(2 * KEPT):
        card = replace(CARD, links=(LinkTick(index=0, rx_bytes=float(n)),))
        recent.add(moment(card, events=(Event(kind="oom", text=str(n)),)))
    assert [links[0].rx_bytes for _, links in recent.links["gpu0"]] == [0, 2 * KEPT - 2, 2 * KEPT - 1]
    assert len(recent.past("gpu0")) == KEPT
    assert len(recent.events) == EVENTS


def test_before_the_first_moment_something_is_said():
    first, *_, last = lines(Recent(), Screen(width=60), height=10)
    assert first.endswith(" ...")
    assert last.startswith("q ")


def test_the_log_has_a_line_for_each_card_and_each_event():
    now = moment(*eight(state="hung")[:2], CARD, events=(Event(kind="xid", code=79, pci="a", text="b"),))
    assert len(list(pages.log_readings(now, "en"))) == 4
    (news,) = pages.log_events(now, "en")
    assert news.endswith("XID 79 on a: b")


def test_the_page_of_one_look():
    page = pages.page(moment(CARD, replace(CARD, index=1, state="lost")))
    table = next(part for part in page.parts if isinstance(part, Table))
    assert table.tones == ("plain", "bad")
    assert [row[0] for row in table.rows] == ["gpu0", "gpu1"]
    assert pages.page(moment()).parts[0].tone == "dim"


def test_a_moment_for_scripts_has_every_reading_in_si_units():
    told = pages.plain(moment(CARD), "zh")
    assert told["devices"][0]["power_w"] == 612.0
    assert told["devices"][0]["fan_share"] is None
    assert set(told) >= {"host_name", "at_s", "devices", "host", "events", "notes", "on_bus"}


def test_what_the_node_draws_is_told():
    power = NodePower(watts=5980.0, source="dcmi")
    for language in ("en", "zh"):
        host = drawn(*eight(), width=120, height=24, language=language, power=power)[1]
        assert re.search(r"6\.0 kW\D*4\.9 kW", host)
    assert " kW" not in drawn(*eight(), width=120, height=24)[1]


def test_the_newest_events_stand_above_the_keys():
    events = [Event(kind="xid", code=code, pci="a", text="b") for code in range(40, 50)]
    shown = drawn(CARD, height=24, events=tuple(events))[-4:-1]
    assert [re.search(r"XID (\d+)", line).group(1) for line in shown] == ["47", "48", "49"]
    assert not any("XID" in line for line in drawn(CARD, height=12, events=tuple(events)))

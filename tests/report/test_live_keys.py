"""Keys of the live view: a pure step from one setting to the next, and what it shows of programs then."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.machine.device import Program
from rigright.machine.sampling.programs import ProgramUse
from rigright.machine.tick import DeviceTick, Tick
from rigright.report import readings
from rigright.report.live.keys import KEYS, Frame, View, keys_of, press
from rigright.report.live.lists import ORDERS, cards_of, program_rows
from rigright.report.live.recent import Recent
from rigright.report.live.view import draw, verdict
from rigright.report.readings import clock
from rigright.report.screen import Screen
from rigright.verbs.watch.record import Detail, MachineMoment
from spoken import pairs_whole, values

FRAME = Frame(most_top=50, page=10, now_s=1000.0)
CARD = DeviceTick(index=0, vendor="nvidia", busy_share=0.9, gpu_c=50.0, slowed_by=(), programs=())
known_keys = st.sampled_from([*"qjkgGlsSr/[]?hx", "up", "down", "pgup", "pgdn", "home", "esc", "end"])


def pressed(*keys, view=None, frame=FRAME):
    view = view or View()
    for key in keys:
        view = press(view, key, frame=frame)
    return view


def moment(*devices, at_s=1000.0, uses=None, **more):
    tick = Tick(at_s=at_s, clock_s=at_s, devices=devices, **more)
    return MachineMoment(tick=tick, host_name="n1", detail=Detail(uses=uses or {}))


def of(*programs, **more):
    return replace(CARD, programs=tuple(Program(pid=pid, **told) for pid, told in programs), **more)


@given(st.lists(known_keys, max_size=30))
def test_no_key_leads_astray(keys):
    view = pressed(*keys)
    assert view.sort in ORDERS
    assert 0 <= view.top <= FRAME.most_top
    assert view.at_s is None or view.at_s < FRAME.now_s


def test_no_key_kills():
    assert not any("kill" in str(said).lower() or "signal" in str(said).lower() for _, said, _ in KEYS)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("jk", ["j", "k"]),
        ("\x1b[A\x1bOB\x1b[5~", ["up", "down", "pgup"]),
        ("\x1b", ["esc"]),
        ("\x1b[H\r\x7f\x03", ["home", "enter", "backspace", "ctrl-c"]),
        ("\x1b[1;5Cq", ["q"]),
        ("\x1b[", []),
        ("\x00\x01中", ["中"]),
    ],
)
def test_letters_of_a_terminal_are_keys(text, keys):
    assert keys_of(text) == keys


def test_the_filter_is_written_letter_by_letter_and_q_is_a_letter_of_it():
    view = pressed("/", "q", "x", "backspace")
    assert (view.words, view.typing, view.over) == ("q", "q", False)
    assert pressed("enter", view=view).typing is None
    assert pressed("esc", view=view).words == ""
    assert pressed("enter", "esc", view=view).words == ""
    assert pressed("ctrl-c", view=view).over


def test_links_are_chosen_and_left_by_one_key():
    view = pressed("G", "l")
    assert (view.links, view.top) == (True, 0)
    assert pressed("l", view=view).links is False
    assert pressed("/", view=view).links is False, "programs are filtered, so they are shown"


def test_scrolling_stays_within_the_rows():
    assert pressed("up").top == 0
    assert pressed("pgdn", "pgdn").top == 20
    assert pressed("G", "down").top == 50
    assert pressed("G", "g").top == 0
    assert pressed("up", view=View(top=10**6)).top == 49


def test_the_list_is_drawn_from_the_row_scrolled_to():
    recent = Recent([moment(of(*((pid, {"mem_bytes": 1.0}) for pid in range(100, 150))))])
    shown = draw(recent, View(top=7), screen=Screen(), height=20).lines
    (place,) = [place for place, line in enumerate(shown) if "PID" in line]
    assert " 107 " in shown[place + 1]
    assert pressed("?", "j") == View()


def test_the_past_is_left_by_its_end():
    assert pressed("left").at_s == 990.0
    assert pressed("[", "[").at_s == -200.0
    assert pressed("left", "right").at_s is None
    assert pressed("left", "end").at_s is None
    assert pressed("left", "esc").at_s is None


def test_every_order_and_its_reverse():
    now = moment(
        of((3, {"user": "bob", "mem_bytes": 5.0, "sm_share": 0.1}), (1, {"user": "ada", "mem_bytes": 9.0})),
        of((2, {"user": None, "mem_bytes": None, "sm_share": 0.7}), index=1),
        uses={
            1: ProgramUse(run_s=5.0, cpu_share=2.0, mem_bytes=2.0, command="b"),
            2: ProgramUse(run_s=50.0, mem_bytes=3.0),
            3: ProgramUse(run_s=9.0, command="/bin/a"),
        },
    )
    told = {sort: "".join(str(row.pid) for row in program_rows(now, sort=sort)) for sort in ORDERS}
    assert told == {
        "memory": "132",
        "sm": "231",
        "user": "132",
        "pid": "123",
        "time": "231",
        "cpu": "132",
        "ram": "213",
        "command": "312",
    }
    assert "".join(str(row.pid) for row in program_rows(now, reverse=True)) == "312"


@given(st.lists(st.tuples(st.integers(1, 99), st.integers(0, 3)), unique_by=lambda one: one[0]))
def test_equal_ones_keep_their_order_both_ways(held):
    now = moment(of(*((pid, {"mem_bytes": float(size)}) for pid, size in held)))
    for back in (False, True):
        found = program_rows(now, reverse=back)
        for size in range(4):
            of_size = [pid for pid, other in held if other == size]
            assert [row.pid for row in found if row.mem_bytes == size] == of_size


def test_a_program_on_several_cards_is_one_row():
    now = moment(*(of((7, {"mem_bytes": 2.0, "sm_share": n / 10}), index=n) for n in (0, 1, 2, 5)))
    (row,) = program_rows(now)
    assert (cards_of(row.cards), row.mem_bytes) == ("gpu0-2,5", 8.0)
    assert row.sm_share == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("words", "pids"),
    [
        ("", [1, 2, 3]), ("user:ad", [1]), ("gpu:1", [3]), ("gpu:gpu0 BOB", [2]), ("train", [1]), ("99", []),
        ("gpu:", []),
    ],
)  # fmt: skip
def test_filters(words, pids):
    now = moment(
        of((1, {"user": "ada", "name": "train.py"}), (2, {"user": "bob", "name": "x"})),
        of((3, {"user": "bob", "name": "y"}), index=1),
    )
    assert sorted(row.pid for row in program_rows(now, words=words)) == pids
    recent = Recent()
    recent.add(now)
    shown = draw(recent, View(words=words), screen=Screen(width=100), height=30).lines
    assert any("PID" in line for line in shown), "the head stays"


def said(*devices, times=1, **more):
    recent = Recent()
    for n in range(times):
        recent.add(moment(*devices, at_s=1000.0 + n, **more))
    return verdict(recent, recent.moment)


ALL_FINE = {"count": "4", "share": "90 %", "heat": "50 °C"}
OTHERS = {"cards": "gpu1", "count": "3"}


@pytest.mark.parametrize(
    ("ill", "times", "told", "tone"),
    [
        ({}, 1, ALL_FINE, "good"),
        ({"slowed_by": ("sw_thermal",)}, 1, OTHERS, "warn"),
        ({"slowed_by": ("hw_thermal",)}, 121, OTHERS | {"time": "2.0 min"}, "bad"),
        ({"slowed_by": ("sw_power_cap",)}, 9, ALL_FINE, "good"),
        ({"state": "lost"}, 1, OTHERS, "bad"),
        ({"rows_failed": True}, 1, OTHERS, "bad"),
        ({"slowed_by": None}, 1, ALL_FINE, "plain"),
    ],
)
def test_line_one_is_the_answer(ill, times, told, tone):
    cards = [replace(CARD, index=n) for n in range(4)]
    cards[1] = replace(cards[1], **ill)
    line, its_tone = said(*cards, times=times)
    assert (values(line), its_tone) == (told, tone)
    wrong = readings.trouble(cards[1]) or readings.hurt_by(cards[1])
    inside = [one for _, one in pairs_whole(line)]
    assert wrong is None or wrong[0] in inside, "what is wrong is said"
    if ill == {"slowed_by": None}:
        fine, _ = said(*(replace(CARD, index=n) for n in range(4)))
        assert line != fine, "that nobody tells what slows it is no news of a card that is fine"


def test_line_one_where_no_card_is():
    line, tone = said()
    assert (values(line), tone) == ({}, "dim")
    line, tone = said(on_bus=2)
    assert (values(line), tone) == ({"count": "2"}, "bad")


def test_the_past_is_shown_as_it_was():
    recent = Recent()
    for n in range(30):
        recent.add(moment(replace(CARD, gpu_c=float(n)), at_s=1000.0 + n))
    then = recent.until(1010.4)
    assert then.moment.tick.at_s == 1010.0
    assert recent.until(999.0) is None
    shown = draw(then, View(at_s=1010.4), screen=Screen(width=100), height=20, now_s=1029.0)
    assert clock(1010.0) in shown.lines[0]
    assert "10 °C" in shown.lines[0]
    now = draw(then, View(), screen=Screen(width=100), height=20, now_s=1029.0)
    assert now.lines[0] != shown.lines[0], "that it is the past is said"
    assert shown.now_s == 1029.0

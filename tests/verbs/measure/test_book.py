"""What ticks say, summed up: who used which card, what it drew, what held it back."""

from __future__ import annotations

import pytest

from rigright.base.units import GIB
from rigright.machine.tick import DeviceTick, HostTick, Tick, TreeTick
from rigright.verbs.measure.ticks import TickLog


def tick(at_s, *devices, tree=None):
    return Tick(at_s=at_s, clock_s=at_s, devices=devices, host=HostTick(cpu_share=0.5), tree=tree)


def card(index=0, **more):
    return DeviceTick(index=index, name="H100", **{"mem_used_bytes": 2 * GIB, "busy_share": 0.0} | more)


def told(*ticks, before):
    book = TickLog(before)
    for one in ticks:
        book.take(one)
    return book


def test_memory_of_the_commands_own_programs_comes_before_what_the_card_gained():
    tree = TreeTick(n_processes=1, gpu_mem_bytes=((0, 3 * GIB),))
    book = told(tick(1, card(mem_used_bytes=9 * GIB), tree=tree), before=tick(0, card()))
    assert book.used() == (0,)
    assert book.added_bytes(0) == 3 * GIB


def test_where_no_program_is_told_the_gain_counts():
    book = told(tick(1, card(mem_used_bytes=9 * GIB)), tick(2, card()), before=tick(0, card()))
    assert book.added_bytes(0) == 7 * GIB


def test_a_card_nobody_touched_is_not_used():
    book = told(tick(1, card(), card(1, busy_share=0.9)), before=tick(0, card(), card(1)))
    assert book.used() == (1,)


def test_work_that_was_there_before_is_not_the_commands():
    book = told(tick(1, card(busy_share=0.9)), before=tick(0, card(busy_share=0.9)))
    assert book.used() == ()


def test_energy_is_the_counters_where_there_is_one_and_power_over_time_elsewhere():
    before = tick(0, card(energy_j=1000.0, power_w=70.0), card(1, power_w=70.0))
    book = told(
        tick(2, card(energy_j=1500.0, power_w=300.0), card(1, power_w=300.0)),
        tick(4, card(energy_j=2100.0, power_w=300.0), card(1, power_w=100.0)),
        before=before,
    )
    assert dict(book.joules((0, 1))) == {0: 1100.0, 1: pytest.approx(800.0)}


def test_a_counter_that_starts_anew_takes_nothing_back():
    book = told(tick(1, card(energy_j=10.0)), before=tick(0, card(energy_j=1000.0)))
    assert book.joules((0,)) == ()


def test_what_holds_a_card_back_is_counted_in_seconds_and_rest_is_not():
    before = tick(0, card())
    book = told(
        tick(1, card(slowed_by=("idle",))), tick(3, card(slowed_by=("sw_power_cap",))), tick(4, card()),
        before=before,
    )  # fmt: skip
    assert book.slowed() == (("gpu 0 sw_power_cap", 2.0),)


def test_a_card_that_is_lost_in_the_midst_leaves_its_gap():
    book = told(tick(1, card(busy_share=0.9)), tick(2), tick(3, card(busy_share=0.7)), before=tick(0, card()))
    busy = next(course for course in book.courses((0,)) if course.name == "gpu 0 busy")
    assert busy.peak == 0.9
    assert len(busy.values) == 2


def test_cards_that_are_seen_late_are_held_against_their_first_look():
    """The driver woke beside the command: what it said first stands for "before"."""
    book = told(tick(0.2), tick(0.4, card()), tick(0.6, card(mem_used_bytes=9 * GIB)), before=tick(0))
    assert book.before.clock_s == 0.4
    assert book.before.host == tick(0).host
    assert book.added_bytes(0) == 7 * GIB


def test_work_seen_long_after_the_start_is_not_taken_for_somebody_elses():
    late = told(tick(3, card(busy_share=0.9)), tick(4, card(busy_share=0.9)), before=tick(0))
    assert late.used() == (0,)
    soon = told(tick(0.3, card(busy_share=0.9)), tick(4, card(busy_share=0.9)), before=tick(0))
    assert soon.used() == ()


def test_power_at_work_leaves_out_the_time_without_work():
    """Ten seconds of loading at 90 W are no part of what training draws."""
    loads = [tick(n, card(busy_share=0.0, power_w=90.0)) for n in range(1, 11)]
    trains = [tick(n, card(busy_share=0.97, power_w=600.0 + 10 * (n % 2))) for n in range(11, 21)]
    book = told(*loads, *trains, before=tick(0, card(power_w=80.0)))
    assert dict(book.working_w((0,))) == {0: pytest.approx(605.0)}


def test_a_second_of_work_is_too_short_for_a_meter():
    assert told(tick(1, card(busy_share=0.9, power_w=300.0)), before=tick(0, card())).working_w((0,)) == ()

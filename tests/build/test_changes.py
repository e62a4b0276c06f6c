"""Changes to a machine: those that help what binds, that fit, the best for the money first."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base import shelf
from rigright.base.units import GIB, GIGA
from rigright.build.change import Change, Fit, Standing, gain, part_usd, ranked
from rigright.cost.estimate import Estimate
from rigright.doctor.binding.judge import causes
from rigright.facts.chips import by_id
from rigright.facts.cpus import cpus
from rigright.facts.parts import parts
from rigright.verbs.ordering import read_room
from spoken import values

TODAY = date(2026, 11, 22)
DESKTOP = Standing(
    today=TODAY,
    chips=(by_id()["rtx-3090"],) * 2,
    used_bytes=20 * GIB,
    slot_gen=4,
    free_slots=(8,),
    supply_w=1600.0,
    limit_share=1.0,
    cpu=next(cpu for cpu in cpus() if cpu.id == "amd-ryzen-5-5600"),
    sockets=1,
    mem_bytes=64 * GIB,
    mem_kind="DDR4",
    mem_registered=False,
    mem_places_free=2,
    disk_kinds=("ssd",),
    net_bytes_per_s=0.125 * GIGA,
)


def proposed(standing):
    found = shelf.load("rigright.build.changes", "propose").values()
    return [change for propose in found for change in propose(standing)]


def changed(**more):
    fields = {name: getattr(DESKTOP, name) for name in Standing.__slots__}
    return Standing(**fields | more)


def best(shares, standing=DESKTOP):
    return ranked(proposed(standing), shares)


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        ("disk", "disk"),
        ("compute", "cards"),
        ("gpu_memory", "cards"),
        ("cores", "processor"),
        ("network", "network"),
        ("main_memory", "memory"),
        ("cooling", "cooling"),
    ],
)
def test_what_is_bought_first_helps_what_binds(cause, kind):
    bought = [one.change for one in best({cause: 0.8}) if one.change.usd is not None]
    assert bought[0].kind == kind


def test_what_is_free_comes_first():
    costs = [one.gain_per_kusd for one in best({"disk": 0.6, "program": 0.3})]
    free = [cost is None for cost in costs]
    assert free == sorted(free, reverse=True)
    assert free[0]


def test_what_does_not_bind_is_not_bought():
    assert {one.change.kind for one in best({"network": 0.9})} == {"network"}
    assert best({}) == ()


def test_cards_that_are_part_of_a_board_are_not_swapped_in():
    for change in proposed(DESKTOP):
        if change.kind == "cards":
            assert "SXM" not in str(change.title)


def test_a_machine_whose_memory_is_shared_gets_no_cards():
    gb10 = by_id()["gb10"] if "gb10" in by_id() else next(c for c in by_id().values() if c.unified_memory)
    assert not [change for change in proposed(changed(chips=(gb10,))) if change.kind == "cards"]


def test_a_supply_that_is_too_small_speaks_against_a_hungry_card():
    tight = [change for change in proposed(changed(supply_w=900.0)) if change.kind == "cards"]
    assert any(not change.possible for change in tight)
    unknown = [change for change in proposed(changed(supply_w=None)) if change.kind == "cards"]
    supplies = [fit for change in unknown for fit in change.fits if values(fit.says).keys() == {"need"}]
    assert supplies
    assert all(fit.holds is None for fit in supplies)


@pytest.mark.parametrize(
    ("room", "able"),
    [("250V 1A", False), ("250V 45A", True), ("rack 2U", False), ("rack 4U", True), ("quiet", True)],
)
def test_a_place_that_is_too_weak_or_low_speaks_against_a_further_card(room, able):
    tried = [one for one in proposed(changed(room=read_room(room))) if "RTX 4090 " in f"{one.title} "]
    assert tried
    assert any(one.possible for one in tried) is able


def test_a_card_whose_memory_is_too_small_for_the_work_is_refused():
    for change in proposed(changed(used_bytes=30 * GIB)):
        if change.kind == "cards" and "old" in values(change.title) and change.possible:
            assert "4090" not in str(change.title)


def test_no_free_slot_no_further_card():
    (one,) = [c for c in proposed(changed(free_slots=())) if values(c.title) == {"chip": "GeForce RTX 3090"}]
    assert not one.possible


def test_a_newer_disk_in_an_old_slot_is_as_fast_as_the_slot():
    ratios = {
        gen: max(c.helps["disk"] for c in proposed(changed(slot_gen=gen)) if c.kind == "disk")
        for gen in (3, 4, 5)
    }
    assert ratios[3] < ratios[4] < ratios[5]


def moved(**more):
    """Changes of disks that buy nothing."""
    return [change for change in proposed(changed(**more)) if change.kind == "disk" and change.usd is None]


def test_nothing_is_bought_before_the_data_lie_on_the_faster_disk_that_is_there():
    """A backup disk beside an NVMe is no reason to buy another."""
    first = best({"disk": 0.6}, changed(disk_kinds=("hdd", "nvme")))[0].change
    assert [first.title] == [one.title for one in moved(disk_kinds=("hdd", "nvme"))]
    assert first.usd is None
    assert not moved(disk_kinds=("nvme", "nvme"))
    assert not moved(disk_kinds=("hdd",))
    assert not moved(disk_kinds=("hdd", "nvme"), disk_bytes_per_s=GIGA), "the disk of the data was measured"


def test_a_disk_as_fast_as_any_is_left_alone():
    assert not [c for c in proposed(changed(disk_bytes_per_s=13 * GIGA)) if c.kind == "disk"]


def test_a_power_limit_below_its_default_is_raised_for_nothing():
    (raised,) = [c for c in proposed(changed(limit_share=0.7)) if c.kind == "power"]
    assert raised.usd is None
    assert 1.0 < raised.helps["power"] < 1 / 0.7
    assert not [c for c in proposed(DESKTOP) if c.kind == "power"]


def test_every_change_helps_causes_that_exist_and_says_where_its_figure_is_from():
    known = {cause.name for cause in causes()}
    for change in proposed(changed(limit_share=0.7)):
        assert set(change.helps) <= known
        assert change.source
        assert change.usd is None or change.usd.low <= change.usd.value <= change.usd.high


@pytest.mark.parametrize("kind", ["nvme", "sata", "memory", "nic", "psu", "cooling"])
def test_every_part_has_a_price_with_its_date(kind):
    assert parts(kind)
    for part in parts(kind):
        assert 0 < part_usd(part).low <= part_usd(part).high
        assert part.as_of


shares = st.dictionaries(st.sampled_from(["disk", "compute", "network"]), st.floats(0, 0.33), max_size=3)
helps = st.dictionaries(st.sampled_from(["disk", "compute", "cores"]), st.floats(1, 100), max_size=3)


@given(shares=shares, helps=helps)
def test_no_change_makes_it_slower_nor_faster_than_all_it_touches_gone(shares, helps):
    touched = sum(share for cause, share in shares.items() if cause in helps)
    assert 1.0 - 1e-9 <= gain(shares, helps) <= 1 / (1 - touched) + 1e-9


@given(shares=shares, helps=helps, more=st.floats(1, 10))
def test_more_help_never_brings_less(shares, helps, more):
    better = {cause: ratio * more for cause, ratio in helps.items()}
    assert gain(shares, better) >= gain(shares, helps) - 1e-9


def test_for_the_same_gain_the_cheaper_comes_first():
    def one(usd, *fits):
        price = Estimate(value=usd, low=usd, high=usd)
        return Change(kind="x", title="x", helps={"disk": 4.0}, usd=price, fits=fits)

    order = [worth.change.usd.value for worth in ranked([one(900), one(300), one(600)], {"disk": 0.5})]
    assert order == [300, 600, 900]
    assert ranked([one(300, Fit(says="no", holds=False))], {"disk": 0.5}) == ()


@pytest.fixture(scope="module")
def edge():
    """What may stand in the place of a T4, and what may not."""
    changes = list(
        shelf.load("rigright.build.changes", "propose")["cards"](
            Standing(today=TODAY, chips=(by_id()["t4"],))
        )
    )
    possible = {
        one.possible: [values(two.title) for two in changes if two.possible is one.possible]
        for one in changes
    }
    return possible[True], possible[False]


def test_an_edge_node_takes_what_its_slot_feeds(edge):
    possible, refused = edge
    assert {"count": "1", "new": "L4", "old": "T4"} in possible
    assert {"count": "1", "new": "GeForce RTX 5090", "old": "T4"} in refused
    assert {one["new"] for one in possible if "new" in one} <= {"L4", "A2"}


def swaps(standing):
    """One other card in the place of the one that is there, by its name."""
    changes = shelf.load("rigright.build.changes", "propose")["cards"](standing)
    told = [(values(one.title), one) for one in changes]
    return {named["new"]: one for named, one in told if named.get("count") == "1"}


def test_a_server_bay_takes_no_card_that_is_wider_or_longer():
    standing = Standing(today=TODAY, chips=(by_id()["tesla-p40"],))
    found = swaps(standing)
    assert not found["GeForce RTX 4090"].possible
    assert found["RTX A6000"].possible


def test_a_desktop_card_is_replaced_as_its_case_allows():
    standing = Standing(today=TODAY, chips=(by_id()["rtx-2060-6gb"],))
    wide = swaps(standing)["GeForce RTX 4090"]
    assert wide.possible
    assert any(fit.holds is None and values(fit.says).keys() == {"slots"} for fit in wide.fits)

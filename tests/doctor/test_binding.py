"""What binds: planted bottlenecks are named, and time is shared out whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.units import GIB, GIGA, MEGA
from rigright.base.words import LANGUAGES, tell
from rigright.doctor.binding.causes import WEIGHED, causes, seen
from rigright.doctor.binding.judge import judge, split
from rigright.doctor.binding.record import LimitedMoment
from rigright.doctor.examine import case_of
from rigright.machine.device import Program
from rigright.machine.host import Port
from rigright.machine.record import Machine
from rigright.machine.tick import DeviceTick, HostTick, Tick

CASE = case_of(Machine(ports=(Port(name="eth0", kind="ethernet", state="up", bytes_per_s=1.25 * GIGA),)))
WORK = (Program(pid=1, mem_bytes=8 * GIB),)
CARD = {
    "busy_share": 0.98, "mem_busy_share": 0.35, "power_w": 620.0, "power_limit_w": 700.0, "gpu_c": 60.0,
    "slowed_by": (), "programs": WORK, "pcie_gen": 5, "pcie_lanes": 16, "pcie_rx_bytes_per_s": GIGA,
    "pcie_tx_bytes_per_s": GIGA, "mem_used_bytes": 40 * GIB, "mem_total_bytes": 80 * GIB,
}  # fmt: skip
HOST = {
    "cpu_share": 0.2, "busiest_core_share": 0.5, "disk_busy_share": 0.05, "disk_read_bytes_per_s": MEGA,
    "disk_write_bytes_per_s": 0.0, "net_rx_bytes_per_s": MEGA, "net_tx_bytes_per_s": MEGA,
    "swap_bytes_per_s": 0.0, "mem_pressure": 0.0, "io_pressure": 0.0, "cpu_pressure": 0.0,
}  # fmt: skip


def ticks(card=None, host=None, *, cards=1, count=10):
    devices = tuple(DeviceTick(index=index, **CARD | (card or {})) for index in range(cards))
    around = HostTick(**HOST | (host or {}))
    return tuple(Tick(at_s=at, clock_s=at, devices=devices, host=around) for at in range(count))


def names(diagnosis):
    return [bound.cause.name for bound in diagnosis.bounds]


STARVED = {"busy_share": 0.2, "mem_busy_share": 0.05, "power_w": 150.0}


@pytest.mark.parametrize(
    ("card", "host", "cause"),
    [
        ({}, {}, "compute"),
        ({"mem_busy_share": 0.9}, {}, "gpu_memory"),
        ({"slowed_by": ("sw_power_cap",)}, {}, "power"),
        ({"slowed_by": ("hw_power_brake",)}, {}, "brake"),
        ({"slowed_by": ("sw_thermal", "sw_power_cap"), "gpu_c": 88.0}, {}, "cooling"),
        ({"power_w": 160.0, "mem_busy_share": 0.1}, {}, "small_kernels"),
        (STARVED, {"disk_busy_share": 0.99, "io_pressure": 0.4}, "disk"),
        (STARVED, {"cpu_share": 0.98, "busiest_core_share": 1.0}, "cores"),
        (STARVED, {"cpu_share": 0.1, "busiest_core_share": 1.0}, "one_thread"),
        (STARVED, {"net_rx_bytes_per_s": 1.2 * GIGA}, "network"),
        (STARVED | {"pcie_rx_bytes_per_s": 52 * GIGA}, {}, "pcie"),
        (STARVED, {"swap_bytes_per_s": 80 * MEGA, "disk_busy_share": 1.0}, "main_memory"),
        (STARVED, {}, "program"),
    ],
)
def test_a_planted_bottleneck_is_named_first(card, host, cause):
    assert names(judge(ticks(card, host), CASE))[0] == cause


def test_rest_and_clocks_set_by_the_user_hold_nothing_back():
    diagnosis = judge(ticks({"slowed_by": ("idle", "app_clocks")}), CASE)
    assert names(diagnosis) == ["compute"]


def test_a_machine_at_rest_has_no_bottleneck():
    diagnosis = judge(ticks({"busy_share": 0.0, "programs": ()}), CASE)
    assert diagnosis.bounds == ()
    assert (diagnosis.moments, diagnosis.idle) == (0, 10)


def test_one_card_of_eight_at_work_is_judged_alone():
    resting = DeviceTick(index=7, **CARD | {"busy_share": 0.0, "programs": ()})
    mixed = tuple(
        Tick(at_s=one.at_s, clock_s=one.clock_s, devices=(*one.devices, resting), host=one.host)
        for one in ticks()
    )
    diagnosis = judge(mixed, CASE)
    assert diagnosis.devices == (0,)
    assert diagnosis.busy_share == pytest.approx(0.98)


def test_two_phases_are_both_told_with_their_shares():
    loading = ticks({"busy_share": 0.0, "mem_busy_share": 0.0}, {"disk_busy_share": 1.0}, count=6)
    diagnosis = judge((*loading, *ticks({"busy_share": 1.0}, count=4)), CASE)
    assert {bound.cause.name: round(bound.share, 2) for bound in diagnosis.bounds} == {
        "disk": 0.6,
        "compute": 0.4,
    }
    assert diagnosis.bounds[0].most_gain == pytest.approx(2.5)


def test_without_accelerators_the_host_is_judged():
    bare = tuple(Tick(at_s=at, clock_s=at, host=HostTick(**HOST | {"cpu_share": 1.0})) for at in range(5))
    diagnosis = judge(bare, CASE)
    assert names(diagnosis) == ["cores"]
    assert diagnosis.busy_share is None
    assert diagnosis.unseen == ()


@pytest.mark.parametrize("unread", [{"cpu_share": None}, {"cpu_share": 0.01}])
def test_without_accelerators_a_moment_of_rest_or_not_read_blames_nobody(unread):
    """The first moment of a watch has no rates yet: it is no time in which nothing was full."""
    quiet = HostTick(**HOST | {"busiest_core_share": None, "disk_busy_share": None} | unread)
    busy = HostTick(**HOST | {"cpu_share": 1.0})
    some = [Tick(at_s=at, clock_s=at, host=quiet if at == 0 else busy) for at in range(5)]
    assert names(judge(some, CASE)) == ["cores"]
    assert judge(some, CASE).idle == 1
    assert judge(some[:1], CASE).bounds == ()


def test_what_a_driver_does_not_tell_is_not_observed_and_blames_nobody():
    silent = dict.fromkeys(("mem_busy_share", "power_w", "power_limit_w", "slowed_by", "pcie_gen"))
    diagnosis = judge(ticks(silent, {"busiest_core_share": None}), CASE)
    assert names(diagnosis) == ["compute"]
    assert len(set(diagnosis.unseen)) >= 5
    assert any("PCIe" in str(one) for one in diagnosis.unseen)
    assert len(diagnosis.unseen) > len(judge(ticks(), CASE).unseen)


def test_a_full_memory_is_told_beside_the_bottleneck():
    notes = judge(ticks({"mem_used_bytes": 79 * GIB}), CASE).notes
    assert "99%" in str(notes[0])


shares = st.none() | st.floats(0, 1)
rates = st.none() | st.floats(0, 1e12)
devices = st.builds(
    DeviceTick,
    index=st.just(0),
    busy_share=shares,
    mem_busy_share=shares,
    power_w=rates,
    power_limit_w=rates,
    slowed_by=st.none() | st.just(("sw_thermal",)) | st.just(()),
    pcie_rx_bytes_per_s=rates,
)
hosts = st.builds(
    HostTick,
    cpu_share=shares,
    busiest_core_share=shares,
    disk_busy_share=shares,
    net_rx_bytes_per_s=rates,
    swap_bytes_per_s=rates,
    mem_pressure=shares,
)


@given(
    devices=st.lists(devices, max_size=3).map(tuple), host=hosts, net=st.none() | st.floats(1e6, 1e11),
)  # fmt: skip
def test_every_moment_is_shared_out_whole(devices, host, net):
    moment = LimitedMoment(devices=devices, host=host, net_bytes_per_s=net, link_bytes_per_s=((0, 3e10),))
    assert sum(split(moment).values()) == pytest.approx(1.0)


@given(busy=st.floats(0, 1), more=st.floats(0, 1))
def test_a_fuller_disk_never_binds_less(busy, more):
    low, high = sorted((busy, more))
    share = [
        split(LimitedMoment(devices=(), host=HostTick(**HOST | {"disk_busy_share": full}))).get("disk", 0.0)
        for full in (low, high)
    ]
    assert share[0] <= share[1]


def test_every_cause_names_a_remedy_and_a_side():
    for cause in causes():
        assert cause.remedies
        assert cause.side in {"working", "waiting"}
    assert {cause.name for cause in causes()} == set(WEIGHED)


def test_what_a_cause_says_of_moments_without_a_single_reading_has_no_gap():
    bare = (LimitedMoment(devices=(), host=HostTick()),)
    assert all("{" not in tell(cause.tell(bare).shows, word) for cause in causes() for word in LANGUAGES)
    assert seen(bare)["has_clock"] is False

"""What no sensor can have read is unknown in live moments, in kept ones, and in what nodes send."""

from __future__ import annotations

import math

import pytest

from rigright.base.units import GIB
from rigright.machine.device import Device
from rigright.machine.history.columns import tick_of
from rigright.machine.possible import possible_tick
from rigright.machine.record import Machine
from rigright.machine.stored import plain
from rigright.machine.tick import DeviceTick, HostTick, Tick, TreeTick
from rigright.verbs.fleet.nodes import report_of

WRONG = {
    "busy_share": (99.99, -0.1, math.nan),
    "power_w": (-50.0, 1e308, math.inf),
    "gpu_c": (-273.0, 1e9),
    "mem_used_bytes": (-81920.0 * 2**20, 81 * GIB, math.nan),
    "mem_total_bytes": (1.0, 1e308),
}


@pytest.mark.parametrize(("field", "value"), [(name, one) for name, many in WRONG.items() for one in many])
def test_of_a_live_moment_only_the_wrong_reading_goes(field, value):
    sound = {"busy_share": 0.5, "power_w": 300.0, "gpu_c": 60.0, "mem_used_bytes": GIB}
    good = DeviceTick(index=0, **sound, mem_total_bytes=80 * GIB)
    bad = DeviceTick(index=1, **{**sound, "mem_total_bytes": 80 * GIB, field: value})
    found = possible_tick(Tick(at_s=1e9, clock_s=5.0, devices=(good, bad)))
    assert found.devices[0] is good
    assert getattr(found.devices[1], field) is None
    assert found.devices[1].index == 1
    left = {name: held for name, held in sound.items() if name != field}
    assert {name: getattr(found.devices[1], name) for name in left} == left


def test_a_sound_moment_stays_the_same_record():
    tick = Tick(
        at_s=1e9,
        clock_s=5.0,
        host=HostTick(cpu_share=1.0, mem_used_bytes=GIB, mem_total_bytes=2 * GIB),
        tree=TreeTick(n_processes=3, cpu_share=63.5, mem_bytes=GIB),
        devices=(DeviceTick(index=0, fan_share=1.3, ecc_corrected=2**40, energy_j=1e9),),
    )
    assert possible_tick(tick) is tick


def test_of_a_kept_moment_only_the_wrong_readings_go():
    row = {"at": 10**12, "gpu0.power_w": -500, "gpu0.busy_share": 99_990, "gpu0.gpu_c": 600}
    tick = tick_of({**row, "host.cpu_share": -5, "host.mem_pressure": 250})
    assert (tick.devices[0].power_w, tick.devices[0].busy_share, tick.host.cpu_share) == (None, None, None)
    assert tick.devices[0].gpu_c == pytest.approx(60)
    assert tick.host.mem_pressure == pytest.approx(0.25)


def test_a_node_too():
    wrong = {"mem_used_bytes": -80 * GIB, "busy_share": 99.99}
    device = Device(index=0, vendor="nvidia", mem_total_bytes=80 * GIB, **wrong)
    told = report_of("n1", {"machine": plain(Machine(devices=(device,)))})
    assert told.machine.devices[0].mem_used_bytes is None
    assert told.machine.devices[0].busy_share is None
    assert told.machine.devices[0].mem_total_bytes == 80 * GIB
    assert {one.what for one in told.machine.unseen} >= {"devices.0.mem_used_bytes", "devices.0.busy_share"}

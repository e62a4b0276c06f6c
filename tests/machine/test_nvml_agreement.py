"""nvitop and gpustat look at the same played driver, and we read what they read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from importlib.util import find_spec

import pytest

from fake_driver import WAY, driver_env
from rigright.machine.nvml.session import Session

SCENARIOS = (
    *("healthy_8xh100", "healthy_2x4090", "idle_4090", "healthy_4xl40s", "x8_link", "throttled", "hot"),
    *("ecc", "unlike_power", "gb10", "lost_gpu", "nvlink_down"),
)
SOME = ("healthy_8xh100", "healthy_2x4090", "throttled", "lost_gpu")
OLDER = (
    "a100_sxm4_4x",
    "mig",
    "old_driver",
)  # their libraries lack calls, so each needs a process of its own
NVITOP = """
import json, os, sys
from nvitop.api import Device, NA
def told(value):
    return None if value is NA or value == 'N/A' else value
def all_of_them():
    found = []
    for device in Device.all():
        asked = {
            name: told(getattr(device, name)())
            for name in (
                'name', 'uuid', 'bus_id', 'serial', 'memory_total', 'memory_used', 'memory_free',
                'bar1_memory_total', 'gpu_utilization', 'memory_utilization', 'fan_speed', 'temperature',
                'power_usage', 'power_limit', 'sm_clock', 'memory_clock', 'max_sm_clock', 'max_memory_clock',
                'display_active', 'persistence_mode', 'performance_state', 'compute_mode', 'mig_mode',
                'total_volatile_uncorrected_ecc_errors', 'cuda_compute_capability', 'nvlink_link_count',
                'pcie_rx_throughput', 'pcie_tx_throughput',
            )
        }
        asked['pids'] = sorted(device.processes())
        asked['slices'] = [
            [told(one.uuid()), told(one.gpu_instance_id()), told(one.compute_instance_id()),
             told(one.memory_total()), told(one.memory_used())]
            for one in device.mig_devices()
        ] if told(device.mig_mode()) == 'Enabled' else []
        found.append(asked)
    driver, cuda = told(Device.driver_version()), told(Device.cuda_driver_version())
    return {'devices': found, 'driver': driver, 'cuda': cuda}
said = []
for path in sys.argv[1:]:
    os.environ['RIGRIGHT_FAKE_NVML'] = path
    said.append(all_of_them())
print(json.dumps(said))
"""
GPUSTAT = """
import json, os, sys
import gpustat
said = []
for path in sys.argv[1:]:
    os.environ['RIGRIGHT_FAKE_NVML'] = path
    said.append([one.entry for one in gpustat.new_query()])
print(json.dumps(said, default=str))
"""
WORDS = {
    "display_active": {"Enabled": True, "Disabled": False},
    "persistence_mode": {"Enabled": True, "Disabled": False},
    "mig_mode": {"Enabled": True, "Disabled": False},
    "compute_mode": {"Default": "default", "Exclusive Process": "exclusive process"},
}


@cache
def played(scenario):
    return driver_env(scenario)


@cache
def ours(scenario):
    with Session({**os.environ, **played(scenario)}) as session:
        return dict(session.devices().fields)


@cache
def say_all(code, scenarios):
    """What another tool says of several machines whose libraries have the same calls."""
    plays = [played(scenario) for scenario in scenarios]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *(play[WAY] for play in plays)],
        env={**os.environ, **plays[0]}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(zip(scenarios, json.loads(done.stdout), strict=True))


def theirs(tool, code, scenario):
    if find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed")
    together = (scenario,) if scenario in OLDER else SCENARIOS if tool == "nvitop" else SOME
    return say_all(code, together)[scenario]


def mhz(hertz):
    return None if hertz is None else round(hertz / 1e6)


def percent(share):
    return None if share is None else round(share * 100)


def kilobytes(bytes_per_s):
    return None if bytes_per_s is None else round(bytes_per_s / 1e3)


def milliwatts(power_w):
    return None if power_w is None else round(power_w * 1e3)


def as_nvitop_says(device):
    """Our readings under nvitop's names and in its units."""
    clocks, thermal, ecc = device.clocks, device.thermal, device.ecc
    return {
        "name": device.name,
        "uuid": device.uuid,
        "bus_id": None if device.pci is None else f"0000{device.pci}".upper(),
        "serial": device.serial,
        "memory_total": device.mem_total_bytes,
        "memory_used": device.mem_used_bytes,
        "memory_free": device.mem_free_bytes,
        "bar1_memory_total": device.bar1_total_bytes,
        "gpu_utilization": percent(device.busy_share),
        "memory_utilization": percent(device.mem_busy_share),
        "fan_speed": percent(thermal.fans[0]) if thermal.fans else None,
        "temperature": thermal.gpu_c,
        "power_usage": milliwatts(device.power.draw_w),
        "power_limit": milliwatts(device.power.limit_w),
        "sm_clock": mhz(clocks.sm_hz),
        "memory_clock": mhz(clocks.mem_hz),
        "max_sm_clock": mhz(clocks.sm_max_hz),
        "max_memory_clock": mhz(clocks.mem_max_hz),
        "display_active": device.display,
        "persistence_mode": device.persistence,
        "performance_state": None if device.pstate is None else f"P{device.pstate}",
        "compute_mode": device.compute_mode,
        "mig_mode": device.mig,
        "total_volatile_uncorrected_ecc_errors": None if ecc is None else ecc.uncorrected_volatile,
        "cuda_compute_capability": device.isa and [int(part) for part in device.isa.split(".")],
        "nvlink_link_count": len(device.links),
        "pcie_rx_throughput": kilobytes(device.pcie.rx_bytes_per_s),
        "pcie_tx_throughput": kilobytes(device.pcie.tx_bytes_per_s),
        "pids": sorted(program.pid for program in device.programs or ()),
        "slices": [
            [one.uuid, one.gpu_instance, one.compute_instance, one.mem_total_bytes, one.mem_used_bytes]
            for one in device.slices
        ],
    }


def answering(scenario):
    return [one for one in ours(scenario)["devices"] if one.state != "lost"]


@pytest.mark.parametrize("scenario", [*SCENARIOS, *OLDER])
def test_every_reading_that_nvitop_has_is_the_same(scenario):
    told = theirs("nvitop", NVITOP, scenario)
    seen = [one for one in told["devices"] if one["uuid"] is not None]
    assert len(answering(scenario)) == len(seen)
    for device, said in zip(answering(scenario), seen, strict=True):
        mine = as_nvitop_says(device)
        wanted = {name: WORDS[name].get(one) if name in WORDS else one for name, one in said.items()}
        for name in UNLIKE.get(scenario, ()):
            mine.pop(name)
            wanted.pop(name)
        assert mine == wanted
    assert ours(scenario)["software"].driver == told["driver"]
    assert ours(scenario)["software"].driver_cuda == told["cuda"]


UNLIKE = {  # scenario -> what nvitop reads in another way
    "gb10": ("memory_total", "memory_used", "memory_free"),  # it takes the system's memory itself
}


@pytest.mark.parametrize("scenario", SOME)  # nvitop reads the same, and more, of all of them
def test_every_reading_that_gpustat_has_is_the_same(scenario):
    told = {one["index"]: one for one in theirs("gpustat", GPUSTAT, scenario) if one.get("uuid")}
    for device in answering(scenario):
        said, thermal, power = told[device.index], device.thermal, device.power
        memory = (device.mem_total_bytes, device.mem_used_bytes)
        mine = {
            "name": device.name,
            "uuid": device.uuid,
            "temperature.gpu": thermal.gpu_c,
            "fan.speed": percent(thermal.fans[0]) if thermal.fans else None,
            "utilization.gpu": percent(device.busy_share),
            "power.draw": None if power.draw_w is None else int(power.draw_w),
            "enforced.power.limit": None if power.limit_w is None else int(power.limit_w),
            "memory.total": None if memory[0] is None else memory[0] // 2**20,
            "memory.used": None if memory[1] is None else memory[1] // 2**20,
        }
        assert mine == {name: said[name] for name in mine}

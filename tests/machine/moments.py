"""Moments of machines that never were, for tests of what keeps and shows them."""

from __future__ import annotations

from hypothesis import strategies as st

from rigright.machine.device import Program
from rigright.machine.tick import DeviceTick, HostTick, Tick

BEGAN_S = 1_790_000_000.0


def card(index, n=0, **more):
    told = {
        "index": index, "uuid": f"GPU-{index:08d}", "name": "NVIDIA H100 80GB HBM3", "vendor": "nvidia",
        "pci": f"0000:{index + 16:02x}:00.0", "busy_share": 0.5 + (n + index) % 40 / 100,
        "mem_busy_share": 0.25, "mem_used_bytes": 40.0 * 2**30 + (n // 50) * 2**20,
        "mem_total_bytes": 80.0 * 2**30, "power_w": 500.0 + (7 * n + index) % 150, "power_limit_w": 700.0,
        "energy_j": 1e6 + 600.0 * n, "gpu_c": 50.0 + (n // 30) % 20, "mem_c": 60.0, "sm_hz": 1.98e9,
        "mem_hz": 2.619e9, "pcie_gen": 5, "pcie_lanes": 16, "pcie_replays": 0,
        "slowed_by": ("sw_power_cap",) if n % 10 == 0 else (), "ecc_corrected": 0, "ecc_uncorrected": 0,
        "rows_pending": False, "rows_failed": False, "recovery": "none", "links_active": 18,
        "programs": (Program(pid=4242, name="python", user="ada", mem_bytes=38.0 * 2**30),),
    }  # fmt: skip
    return DeviceTick(**{**told, **more})


def moment(n, cards=2, *, step_s=1.0, **more):
    told = {
        "at_s": BEGAN_S + n * step_s,
        "clock_s": n * step_s,
        "devices": tuple(card(index, n) for index in range(cards)),
        "host": HostTick(
            cpu_share=n % 100 / 100,
            mem_used_bytes=2.0**34,
            mem_total_bytes=2.0**36,
            disk_read_bytes_per_s=1024.0 * (n % 7),
        ),
        "on_bus": cards,
    }
    return Tick(**{**told, **more})


shares = st.none() | st.integers(0, 1000).map(lambda one: one / 1000)
sizes = st.none() | st.integers(0, 10**6).map(lambda one: float(one * 2**20))
counts = st.none() | st.integers(0, 2**40)
texts = st.none() | st.text(max_size=12)
programs = st.none() | st.lists(
    st.builds(Program, pid=st.integers(0, 2**22), name=texts, user=texts, mem_bytes=sizes), max_size=3
).map(tuple)
devices = st.builds(
    DeviceTick,
    index=st.integers(0, 999),
    uuid=texts,
    name=texts,
    state=st.sampled_from(["ok", "lost", "hung"]),
    busy_share=shares,
    mem_used_bytes=sizes,
    energy_j=st.none() | st.integers(0, 2**50).map(float),
    gpu_c=st.none() | st.integers(-40, 150).map(float),
    pcie_replays=counts,
    rows_failed=st.none() | st.booleans(),
    slowed_by=st.none()
    | st.lists(st.sampled_from(["idle", "sw_power_cap", "hw_thermal"]), unique=True).map(tuple),
    recovery=texts,
    programs=programs,
    vendor=st.sampled_from([None, "nvidia", "amd"]),
)
ticks = st.builds(
    Tick,
    at_s=st.integers(0, 2**41).map(lambda one: one / 1000),
    clock_s=st.integers(0, 2**41).map(lambda one: one / 1000),
    devices=st.lists(devices, max_size=4, unique_by=lambda one: one.card).map(
        lambda found: tuple(sorted(found, key=lambda one: (one.card[:3] != "gpu", one.card[:3], one.index)))
    ),
    host=st.builds(HostTick, cpu_share=shares, swap_used_bytes=sizes, io_pressure=shares),
    on_bus=st.none() | st.integers(0, 64),
)

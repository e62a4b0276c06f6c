"""The processors: how many, how fast they may run, and what this process may use of them."""

from __future__ import annotations

import math
import re

from rigright.base.units import KIB, KILO, MEGA
from rigright.base.words import say
from rigright.machine.cells import indexes, real, whole, whole_of, word_of
from rigright.machine.control_groups import cpu_limit
from rigright.machine.cpuinfo import Threads, read_cpuinfo
from rigright.machine.host import Cpu, NumaNode
from rigright.machine.record import Read, Unseen
from rigright.machine.world import World

_FOLDER = "/sys/devices/system/cpu"
_MOST = 4096
_MAC = ("sysctl", "-e", "hw", "machdep.cpu")


def read(world: World) -> Read:
    """The processors of /proc and /sys; of macOS and Windows as far as they tell."""
    threads = read_cpuinfo(world)
    if threads.threads is None:
        return _elsewhere(world)
    policies = [
        f"{_FOLDER}/cpufreq/{name}" for name in world.names(f"{_FOLDER}/cpufreq") if name[:6] == "policy"
    ]
    first = policies[0] if policies else ""
    sockets, cores = _topology(world, threads)
    texts = (word_of(world, f"{at}/scaling_governor") for at in policies[:_MOST])
    # whether cores may run above their base clock; Intel's file says it the other way round
    off = whole_of(world, f"{_FOLDER}/intel_pstate/no_turbo")
    on = whole_of(world, f"{_FOLDER}/cpufreq/boost")
    # the most times any core or package was slowed by heat since boot
    names = [name for name in world.names(_FOLDER)[:_MOST] if re.fullmatch(r"cpu\d+", name)]
    files = ("core_throttle_count", "package_throttle_count")
    counts = [
        whole_of(world, f"{_FOLDER}/{name}/thermal_throttle/{file}") for name in names for file in files
    ]
    return Read(
        fields={"cpu": Cpu(
            name=threads.name,
            vendor=threads.vendor,
            arch=threads.arch,
            sockets=sockets,
            cores=cores,
            threads=threads.threads,
            usable=_usable(world, threads.threads),
            allowed=_allowed(world),
            max_hz=_clock(world, policies, name="cpuinfo_max_freq"),
            now_hz=_clock(world, policies, name="scaling_cur_freq") or _mega(threads.fastest_mhz),
            governors=tuple(sorted({text for text in texts if text is not None})),
            driver=word_of(world, f"{first}/scaling_driver") if first else None,
            preference=word_of(world, f"{first}/energy_performance_preference") if first else None,
            boost=off == 0 if off is not None else on == 1 if on is not None else None,
            flags=threads.flags,
            nodes=_nodes(world),
            throttled=max((count for count in counts if count is not None), default=None),
            microcode=threads.microcode,
        )},
        unseen=() if policies else (_no_clocks(),),
    )  # fmt: skip


def _no_clocks() -> Unseen:
    why = say("no cpufreq governor here, as in most VMs and containers")
    return Unseen(what="cpu.governors", why=why, see="cpupower frequency-info")


def _topology(world: World, threads: Threads) -> tuple[int | None, int | None]:
    """Sockets and cores: of cpuinfo, else (Arm) of /sys."""
    if threads.sockets and threads.cores:
        return threads.sockets, threads.cores
    places = [
        f"{_FOLDER}/{name}/topology" for name in world.names(_FOLDER)[:_MOST] if re.fullmatch(r"cpu\d+", name)
    ]
    pairs = {
        (whole_of(world, f"{at}/physical_package_id"), word_of(world, f"{at}/thread_siblings_list"))
        for at in places
    }
    seen = {(package, siblings) for package, siblings in pairs if siblings is not None}
    packages = {package for package, _ in seen if package is not None and package >= 0}
    return (len(packages) or None), (len(seen) or None)


def _usable(world: World, threads: int) -> int:
    """Threads this process may run on: its mask, and what its container may take."""
    allowed = len(indexes(_allowed(world)))
    limit = cpu_limit(world)
    return max(1, min(allowed or threads, threads, math.floor(limit) if limit is not None else threads))


def _allowed(world: World) -> str | None:
    """The mask of threads this process may run on."""
    text = world.text("/proc/self/status", 65_536) or ""
    mask = re.search(r"^Cpus_allowed_list:\s*(\S+)", text, re.MULTILINE)
    return mask.group(1) if mask else None


def _clock(world: World, policies: list[str], *, name: str) -> float | None:
    """The highest of all cores; the kernel counts in kilohertz."""
    clocks = [clock for at in policies[:_MOST] if (clock := whole_of(world, f"{at}/{name}")) is not None]
    return max(clocks) * KILO if clocks else None


def _mega(clock: float | None) -> float | None:
    return None if clock is None else clock * MEGA


def _nodes(world: World) -> tuple[NumaNode, ...]:
    top = "/sys/devices/system/node"
    numa_nodes = []
    for name in world.names(top):
        if match := re.fullmatch(r"node(\d{1,4})", name):
            text = world.text(f"{top}/{name}/meminfo", 65_536) or ""
            total = re.search(r"MemTotal:\s*(\d{1,18}) kB", text)
            cpus = word_of(world, f"{top}/{name}/cpulist") or ""
            size = float(int(total.group(1)) * KIB) if total else None
            numa_nodes.append(NumaNode(index=int(match.group(1)), cpus=cpus, mem_bytes=size))
    return tuple(sorted(numa_nodes, key=lambda node: node.index))


def _elsewhere(world: World) -> Read:
    """Systems without /proc: macOS's own counts, else what Python's psutil knows."""
    reply = world.run(*_MAC)
    lines = (line.partition(": ") for line in (reply.out if reply is not None else "").splitlines())
    fields = {name: value for name, _, value in lines}
    if "hw.logicalcpu" in fields:
        cpu = Cpu(
            name=fields.get("machdep.cpu.brand_string"),
            vendor="apple" if "Apple" in fields.get("machdep.cpu.brand_string", "") else "intel",
            arch="arm64" if fields.get("hw.optional.arm64") == "1" else "x86_64",
            sockets=whole(fields.get("hw.packages")),
            cores=whole(fields.get("hw.physicalcpu")),
            threads=whole(fields.get("hw.logicalcpu")),
            usable=whole(fields.get("hw.logicalcpu")),
            max_hz=real(fields.get("hw.cpufrequency_max")),
        )
        return Read(fields={"cpu": cpu})
    return Read(fields={"cpu": _by_psutil(world)}, unseen=(_no_clocks(),))


def _by_psutil(world: World) -> Cpu:
    if not world.is_own:
        return Cpu()
    import os
    import platform

    try:
        import psutil
    except ImportError:
        return Cpu(threads=os.cpu_count(), arch=platform.machine() or None, name=platform.processor() or None)
    clock = psutil.cpu_freq() if hasattr(psutil, "cpu_freq") else None
    return Cpu(
        name=platform.processor() or None,
        arch=platform.machine().lower() or None,
        cores=psutil.cpu_count(logical=False),
        threads=psutil.cpu_count(),
        usable=psutil.cpu_count(),
        max_hz=clock.max * MEGA if clock and clock.max else None,
    )

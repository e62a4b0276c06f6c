"""What the kernel is set to, and how hard it is pressed: sysctls, limits, stuck processes, pressure."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator

from rigright.machine.running.asking import lines
from rigright.machine.world import World

_SYSCTLS = (
    "vm.swappiness",
    "vm.overcommit_memory",
    "vm.overcommit_ratio",
    "vm.max_map_count",
    "vm.zone_reclaim_mode",
    "vm.min_free_kbytes",
    "vm.nr_hugepages",
    "kernel.numa_balancing",
    "kernel.pid_max",
    "kernel.threads-max",
    "kernel.panic",
    "kernel.dmesg_restrict",
    "kernel.perf_event_paranoid",
    "kernel.yama.ptrace_scope",
    "kernel.sched_autogroup_enabled",
    "fs.file-max",
    "fs.file-nr",
    "fs.inotify.max_user_watches",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.tcp_congestion_control",
)
_LIMITS = {
    "Max open files": "nofile",
    "Max locked memory": "memlock",
    "Max processes": "nproc",
    "Max stack size": "stack",
    "Max address space": "as",
    "Max file size": "fsize",
    "Max core file size": "core",
}
_OF_DRIVERS = ("nv", "UVM", "amdgpu", "kfd", "mlx", "nfs")  # kernel threads worth a word when they hang
_LOOKED_AGAIN_S = 0.3
_SOME = re.compile(r"^some avg10=(\d+\.\d+)", re.MULTILINE)
_SHARE = 100  # the kernel gives percent


def settings(world: World) -> tuple[tuple[str, str], ...]:
    """The sysctls that matter and are there."""
    read = ((name, world.text("/proc/sys/" + name.replace(".", "/"))) for name in _SYSCTLS)
    return tuple((name, text.strip()) for name, text in read if text is not None)


def limits(world: World) -> tuple[tuple[str, float], ...]:
    """Limits of the shell this runs in; inf is none."""
    pairs = []
    for line in lines(world.text("/proc/self/limits")):
        for head, name in _LIMITS.items():
            if line.startswith(head):
                soft = line[len(head) :].partition(" ")[2].split()[:1]
                if soft == ["unlimited"]:
                    pairs.append((name, math.inf))
                elif soft and re.fullmatch(r"[0-9]{1,20}", soft[0]):
                    pairs.append((name, float(soft[0])))
    return tuple(pairs)


def stuck(world: World) -> tuple[str, ...]:
    """Processes that wait without end for a device: a live machine is looked at twice."""
    first = dict(_waiting(world))
    if first and world.is_live:
        time.sleep(_LOOKED_AGAIN_S)
        again = dict(_waiting(world))
        first = {pid: name for pid, name in first.items() if again.get(pid) == name}
    return tuple(f"{name} ({pid})" for pid, name in sorted(first.items()))


def _waiting(world: World) -> Iterator[tuple[int, str]]:
    """Processes in state D: of users all, of the kernel those of drivers."""
    for name in world.names("/proc"):
        if not name.isdecimal():
            continue
        stat = world.text(f"/proc/{name}/stat", most=512) or ""
        text, _, rest = stat.rpartition(") ")
        if not rest.startswith("D"):
            continue
        program = text.partition("(")[2]
        if world.raw(f"/proc/{name}/cmdline", most=1) or program.startswith(_OF_DRIVERS):
            yield int(name), program


def pressure(world: World) -> tuple[tuple[str, float], ...]:
    """Share of the last ten seconds in which something waited: ("io", 0.12)."""
    pairs = []
    for name in ("cpu", "io", "memory"):
        match = _SOME.search(world.text(f"/proc/pressure/{name}") or "")
        if match:
            pairs.append((name, float(match[1]) / _SHARE))
    return tuple(pairs)

"""What a container may use: limits of control groups, the first version's and the second's."""

from __future__ import annotations

from rigright.machine.cells import whole
from rigright.machine.world import World

_UNIFIED = "/sys/fs/cgroup"
_NO_LIMIT = 2**60  # the first version writes a number near 2**63 for none
_MOST_DEPTH = 32


def memory_limit_bytes(world: World) -> float | None:
    """The least limit on the way up from this process's group; None where there is none."""
    numbers = [whole(world.text(f"{folder}/memory.max", 64)) for folder in _unified(world)]
    numbers += [
        whole(world.text(f"{folder}/memory.limit_in_bytes", 64)) for folder in _older(world, "memory")
    ]
    limits = [limit for limit in numbers if limit is not None and 0 < limit < _NO_LIMIT]
    return float(min(limits)) if limits else None


def cpu_limit(world: World) -> float | None:
    """How many processors' time the groups allow; None where there is no limit."""
    pairs = []
    for folder in _unified(world):
        quota, _, period = (world.text(f"{folder}/cpu.max", 64) or "").partition(" ")
        pairs.append((whole(quota), whole(period)))
    for folder in _older(world, "cpu"):
        pair = (f"{folder}/cpu.cfs_quota_us", f"{folder}/cpu.cfs_period_us")
        pairs.append((whole(world.text(pair[0], 64)), whole(world.text(pair[1], 64))))
    shares = [quota / period for quota, period in pairs if quota and quota > 0 and period and period > 0]
    return min(shares, default=None)


def _unified(world: World) -> tuple[str, ...]:
    """Folders of the second version, from this process's group up."""
    return _upwards(_UNIFIED, _group(world, ""))


def _older(world: World, controller: str) -> tuple[str, ...]:
    """Folders of one controller of the first version."""
    return _upwards(f"{_UNIFIED}/{controller}", _group(world, controller))


def _group(world: World, controller: str) -> str:
    """The group of this process: lines read "0::/path" or "4:cpu,cpuacct:/path"."""
    for line in (world.text("/proc/self/cgroup", 65_536) or "").splitlines():
        _, names, path = (*line.split(":", 2), "", "")[:3]
        if controller in names.split(","):
            return path
    return "/"


def _upwards(top: str, path: str) -> tuple[str, ...]:
    parts = [part for part in path.split("/") if part not in {"", ".."}][:_MOST_DEPTH]
    return tuple("/".join([top, *parts[:count]]) for count in range(len(parts), -1, -1))

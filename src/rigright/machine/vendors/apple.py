"""Apple: the chip that system_profiler names, and what of the one memory is free."""

from __future__ import annotations

from rigright.machine.apple.answers import free_of, parsed, read_profile
from rigright.machine.record import Read
from rigright.machine.world import World

_PATIENCE_S = 6.0  # the profiler takes its time


def read(world: World) -> Read:
    """The chip of this Mac."""
    said = world.run(
        "system_profiler", "SPHardwareDataType", "SPDisplaysDataType", "-json", patience_s=_PATIENCE_S
    )
    told = {} if said is None else parsed(said.out)
    if not told:
        return Read()
    pages = world.run("vm_stat")
    wired = world.run("sysctl", "-n", "iogpu.wired_limit_mb")
    limit = "" if wired is None else wired.out.strip()
    return read_profile(
        told,
        free_bytes=None if pages is None else free_of(pages.out),
        wired_mib=int(limit) if limit.isdecimal() else None,
    )

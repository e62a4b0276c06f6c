"""The host of a machine that was looked at: its processor, channels and memory as they were seen."""

from __future__ import annotations

from dataclasses import replace

from rigright.base.units import MEGA
from rigright.facts.host_words import find_processor
from rigright.facts.hosts import Host
from rigright.machine.record import Machine


def host_of(machine: Machine) -> Host | None:
    """None where neither table nor family knows the processor, or nobody saw how much memory there is.

    What firmware does not list, such as channels of a virtual machine, is as such processors usually have it.
    """
    cpu, memory = machine.cpu, machine.memory
    socket = find_processor(cpu.name or "")
    total = min((size for size in (memory.total_bytes, memory.limit_bytes) if size), default=None)
    if socket is None or total is None:
        return None
    sockets = cpu.sockets or 1
    if cpu.cores:
        socket = replace(socket, cores=max(cpu.cores // sockets, 1))
    filled = [module for module in memory.modules or () if module.size_bytes]
    speeds = [module.set_mt_s or module.rated_mt_s for module in filled]
    kinds = {module.kind for module in filled if module.kind}
    places = {module.channel or module.slot for module in filled}
    known = bool(filled) and all(speeds)
    return Host(
        cpu=socket,
        sockets=sockets,
        ram_bytes=total,
        free_bytes=memory.available_bytes,
        ram_kind=kinds.pop() if len(kinds) == 1 else socket.mem_kind,
        channels=min(len(places), socket.mem_channels * sockets) if known else socket.mem_channels * sockets,
        transfers_per_s=min(speed for speed in speeds if speed) * MEGA
        if known
        else socket.mem_transfers_per_s,
        assumed=() if known else ("transfers", "channels"),
    )

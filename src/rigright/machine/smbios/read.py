"""The firmware's table of this machine: its bytes for root, else what a recorded dmidecode wrote."""

from __future__ import annotations

from rigright.base.units import MIB
from rigright.machine.host import MemoryModule, Slot
from rigright.machine.smbios import modules, slots, text
from rigright.machine.world import World

TABLE = "/sys/firmware/dmi/tables/DMI"
MOST_BYTES = 4 * MIB


def memory_modules(world: World) -> tuple[MemoryModule, ...] | None:
    """Modules and empty places; None where the table cannot be read."""
    table = world.raw(TABLE, MOST_BYTES)
    if table:
        return modules.modules_of(table)
    reply = world.run("dmidecode", "-t", "memory") if not world.is_live else None
    return text.read_modules(reply.out) or None if reply is not None and reply.code == 0 else None


def board_slots(world: World) -> tuple[Slot, ...] | None:
    """Slots of the board; None where the table cannot be read."""
    table = world.raw(TABLE, MOST_BYTES)
    if table:
        return slots.slots_of(table)
    reply = world.run("dmidecode", "-t", "slot") if not world.is_live else None
    return text.read_slots(reply.out) or None if reply is not None and reply.code == 0 else None

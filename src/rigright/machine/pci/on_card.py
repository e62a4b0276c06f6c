"""The switch that Radeon and Arc cards carry: the card's own link is the one behind it, which never changes.

The function reports the link to that switch (Radeon: always the full one; Arc: 2.5 GT/s x1). The link of the
slot is the one of the switch's upper port.
"""

from __future__ import annotations

from rigright.machine.world import World

_BRIDGE = "0x0604"


def slot_side(world: World, folder: str) -> str:
    """The folder of the function whose link is the slot's: the card itself, or its switch's upper port."""
    real = world.link(folder) or folder
    lower, upper = real.rpartition("/")[0], real.rsplit("/", 2)[0]
    root = upper.rpartition("/")[0]  # of a switch there is a port above it; a port of the board has none
    mine = world.text(f"{folder}/vendor")
    ports = (lower, upper)
    if mine and world.has(f"{root}/vendor") and all(_is_port(world, port, vendor=mine) for port in ports):
        return upper
    return folder


def _is_port(world: World, folder: str, *, vendor: str) -> bool:
    text = world.text(f"{folder}/class") or ""
    return text.startswith(_BRIDGE) and world.text(f"{folder}/vendor") == vendor

"""Slots of the board (type 9)."""

from __future__ import annotations

from rigright.machine.host import Slot
from rigright.machine.smbios.raw import Structure, structures

SLOT = 9
_GENS = ((0xA5, 1), (0xAB, 2), (0xB1, 3), (0xB8, 4), (0xBE, 5), (0xC4, 6))  # first code of each generation
_STEPS = (None, 1, 2, 4, 8, 16)  # what follows it: of any width, x1, x2 ...
_WIDTHS = {0x08: 1, 0x09: 2, 0x0A: 4, 0x0B: 8, 0x0C: 12, 0x0D: 16, 0x0E: 32}
_LENGTHS = {3: "short", 4: "long", 5: "2.5 inch drive", 6: "3.5 inch drive"}
_M2 = {0x14: "M.2 (key A)", 0x15: "M.2 (key E)", 0x16: "M.2 (key B)", 0x17: "M.2 (key M)"}
_USED = {3: False, 4: True}


def slots_of(table: bytes) -> tuple[Slot, ...]:
    """Every slot of the table that takes a PCI Express card."""
    return tuple(
        slot
        for structure in structures(table)
        if structure.kind == SLOT and (slot := _slot(structure)) is not None
    )


def _slot(structure: Structure) -> Slot | None:
    code = structure.byte(0x05) or 0
    gen, lanes = _kind(code)
    lanes = lanes or _WIDTHS.get(structure.byte(0x06) or 0)
    if gen is None and code not in _M2:
        return None
    kind = _M2.get(code) or (f"x{lanes} PCI Express {gen}" if lanes else f"PCI Express {gen}")
    # the function in it, or the port above it; all ones are none
    segment, bus, place = structure.word(0x0D), structure.byte(0x0F), structure.byte(0x10)
    if segment in {None, 0xFFFF} or bus in {None, 0xFF} or place is None:
        address = None
    else:
        address = f"{segment:04x}:{bus:02x}:{place >> 3:02x}.{place & 7}"
    return Slot(
        name=structure.string(0x04) or "",
        kind=kind,
        lanes=lanes,
        gen=gen,
        in_use=_USED.get(structure.byte(0x07) or 0),
        address=address,
        length=_LENGTHS.get(structure.byte(0x08) or 0),
    )


def _kind(code: int) -> tuple[int | None, int | None]:
    for first, gen in _GENS:
        if first <= code < first + len(_STEPS):
            return gen, _STEPS[code - first]
    return None, None

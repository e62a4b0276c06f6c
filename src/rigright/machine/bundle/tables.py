"""Private numbers in binary tables: the firmware's (SMBIOS) and a function's configuration space."""

from __future__ import annotations

from rigright.machine.bundle.marks import Marks
from rigright.machine.pci import capabilities
from rigright.machine.smbios import structures

_STRINGS = {  # kind of structure -> where in it the numbers of its private strings stand
    1: (0x07,),
    2: (0x07, 0x08),
    3: (0x07, 0x08),
    4: (0x20, 0x21),
    17: (0x18, 0x19),
    22: (0x07,),
    39: (0x07, 0x08),
}
_UUID_AT, _UUID_END = 0x08, 0x18  # of structure 1
_SERIAL_NUMBER, _SERIAL_AT, _SERIAL_END = 0x0003, 4, 12


def hide_firmware(marks: Marks, raw: bytes) -> bytes:
    """The table with serials and tags of the same length, and another UUID; what no reader reads is blank."""
    table = bytearray(len(raw))
    for structure in structures(raw):
        table[structure.at : structure.end] = raw[structure.at : structure.end]
        for at in _STRINGS.get(structure.kind, ()):
            begin, end = structure.span(at)
            if begin < end:
                made = marks.of("serial", raw[begin:end].decode("latin-1")).encode("latin-1", "replace")
                table[begin:end] = made[: end - begin].ljust(end - begin)
        if structure.kind == 1 and len(structure.body) >= _UUID_END:
            begin, end = structure.at + _UUID_AT, structure.at + _UUID_END
            table[begin:end] = bytes.fromhex(marks.of("guid", raw[begin:end].hex()))
    return bytes(table)


def hide_config(marks: Marks, raw: bytes) -> bytes:
    """The space with another serial number; of a network card that would be its address."""
    table = bytearray(raw)
    for number, at in capabilities(raw):
        begin, end = at + _SERIAL_AT, at + _SERIAL_END
        if number == _SERIAL_NUMBER and end <= len(raw):
            table[begin:end] = bytes.fromhex(marks.of("guid", raw[begin:end].hex()))
    return bytes(table)

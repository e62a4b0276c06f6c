"""Private numbers in binary tables: the firmware's (SMBIOS) and a function's configuration space."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.machine.bundle.marks import Marks

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
_HEAD_BYTES = 4
_CONFIG_BYTES, _SERIAL_NUMBER, _FIRST = 4096, 0x0003, 0x100
_MOST_CAPABILITIES = 64


def hide_firmware(marks: Marks, raw: bytes) -> bytes:
    """The table with serials and tags of the same length, and another UUID."""
    table = bytearray(raw)
    for start, length, strings in _structures(raw):
        kind = raw[start]
        for at in _STRINGS.get(kind, ()):
            place = raw[start + at] if at < length else 0
            if 0 < place <= len(strings):
                begin, end = strings[place - 1]
                told = raw[begin:end].decode("latin-1")
                made = marks.of("serial", told).encode("latin-1", "replace")
                table[begin:end] = made[: end - begin].ljust(end - begin)
        if kind == 1 and length >= _UUID_END:
            begin, end = start + _UUID_AT, start + _UUID_END
            table[begin:end] = bytes.fromhex(marks.of("guid", raw[begin:end].hex()))
    return bytes(table)


def _structures(raw: bytes) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """Each structure's place and length, and where its strings begin and end."""
    at = 0
    while at + _HEAD_BYTES <= len(raw):
        length = raw[at + 1]
        if length < _HEAD_BYTES or at + length > len(raw):
            return
        strings, behind = _strings(raw, at + length)
        yield at, length, strings
        at = behind


def _strings(raw: bytes, at: int) -> tuple[list[tuple[int, int]], int]:
    """The spans of the strings that follow a structure, and where the next one begins."""
    found: list[tuple[int, int]] = []
    if raw[at : at + 2] == b"\0\0":
        return found, at + 2
    while at < len(raw) and raw[at] != 0:
        end = raw.find(b"\0", at)
        if end < 0:
            return found, len(raw)
        found.append((at, end))
        at = end + 1
    return found, at + 1


def hide_config(marks: Marks, raw: bytes) -> bytes:
    """The space with another serial number; of a network card that would be its address."""
    table = bytearray(raw)
    at = _FIRST
    for _ in range(_MOST_CAPABILITIES):
        if at < _FIRST or at + 12 > len(raw) or len(raw) > _CONFIG_BYTES:
            break
        head = int.from_bytes(raw[at : at + 4], "little")
        if head & 0xFFFF == _SERIAL_NUMBER:
            begin, end = at + 4, at + 12
            table[begin:end] = bytes.fromhex(marks.of("guid", raw[begin:end].hex()))
        at = head >> 20
    return bytes(table)

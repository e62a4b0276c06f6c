"""Memory modules (type 17) and what corrects their errors (type 16)."""

from __future__ import annotations

import re

from rigright.base.units import KIB, MIB
from rigright.machine.host import MemoryModule
from rigright.machine.smbios.raw import Structure, structures

ARRAY, MODULE = 16, 17
KINDS = {
    0x0F: "SDRAM", 0x12: "DDR", 0x13: "DDR2", 0x18: "DDR3", 0x1A: "DDR4", 0x1B: "LPDDR", 0x1C: "LPDDR2",
    0x1D: "LPDDR3", 0x1E: "LPDDR4", 0x20: "HBM", 0x21: "HBM2", 0x22: "DDR5", 0x23: "LPDDR5", 0x24: "HBM3",
}  # fmt: skip
_NO_SYSTEM_MEMORY = {0x09, 0x10, 0x0A}  # ROM, flash, EEPROM
_EMPTY_WORDS = {"not specified", "unknown", "no dimm", "none", "n/a", "empty", "0", "undefined", ""}
_CORRECTS = {5, 6, 7}  # single bit, several bits, CRC
_CHANNELS = (
    re.compile(
        r"(?P<where>(?:P|CPU|Node|Proc|Socket)\s*\d+).*?Channel\s*(?P<channel>[A-Z0-9])", re.IGNORECASE
    ),
    re.compile(r"Channel\s*[_-]?\s*(?P<channel>[A-Z0-9]+)", re.IGNORECASE),
    re.compile(r"(?P<where>P|CPU)(?P<number>\d{1,18})[_ -]?DIMM[_ -]?(?P<channel>[A-Z])\d?", re.IGNORECASE),
    re.compile(r"DIMM[_ -]?(?P<channel>[A-Z])\d?\b", re.IGNORECASE),
    re.compile(r"^(?P<channel>[A-Z])\d{1,2}$"),
)  # fmt: skip


def modules_of(table: bytes) -> tuple[MemoryModule, ...]:
    """Every module and empty place of the table."""
    every = tuple(structures(table))
    corrects = [
        structure.byte(6) in _CORRECTS
        for structure in every
        if structure.kind == ARRAY and structure.byte(5) == 3
    ]
    return tuple(
        _module(structure, corrects=any(corrects) if corrects else None)
        for structure in every
        if structure.kind == MODULE and structure.byte(0x12) not in _NO_SYSTEM_MEMORY
    )


def _module(structure: Structure, *, corrects: bool | None) -> MemoryModule:
    slot, bank = structure.string(0x10) or "", structure.string(0x11)
    size = _size(structure)
    if size is None:
        return MemoryModule(slot=slot, channel=channel_of(slot, bank))
    total, data = structure.word(0x08), structure.word(0x0A)
    wide = None if total in {None, 0xFFFF} or data in {None, 0xFFFF} else int(total or 0) > int(data or 0)
    return MemoryModule(
        slot=slot,
        channel=channel_of(slot, bank),
        size_bytes=size,
        kind=KINDS.get(structure.byte(0x12) or 0),
        rated_mt_s=_rate(structure, 0x15, more_at=0x54),
        set_mt_s=_rate(structure, 0x20, more_at=0x58),
        ecc=wide if corrects is None or wide is None else wide and corrects,
        maker=firmware_word(structure.string(0x17)),
        part=firmware_word(structure.string(0x1A)),
    )


def _size(structure: Structure) -> float | None:
    """Bytes of a module; None where the place is empty or of unknown size."""
    size = structure.word(0x0C)
    if size in {None, 0, 0xFFFF}:
        return None
    if size == 0x7FFF:
        more = structure.double(0x1C)
        return float((more & 0x7FFFFFFF) * MIB) if more else None
    return float((int(size or 0) & 0x7FFF) * (KIB if int(size or 0) & 0x8000 else MIB))


def _rate(structure: Structure, at: int, *, more_at: int) -> float | None:
    """Transfers a second, in millions, as modules are sold."""
    rate = structure.word(at)
    if rate == 0xFFFF:
        rate = structure.double(more_at)
    return float(rate) if rate else None


def firmware_word(text: str | None) -> str | None:
    """A maker's or a part's name; firmware has many words for none."""
    return None if text is None or text.strip().lower() in _EMPTY_WORDS else text.strip()


def channel_of(slot: str, bank: str | None) -> str | None:
    """The channel a place belongs to, as its names tell; None where they do not."""
    for pattern in _CHANNELS:
        for text in (bank or "", slot):
            if match := pattern.search(text):
                return _named(match, bank or slot)
    return None


def _named(match: re.Match[str], text: str) -> str:
    """The channel with its processor, where a name tells it: "P0/A"."""
    groups = match.groupdict()
    where = (groups.get("where") or "") + (groups.get("number") or "") or _node(text)
    channel = groups["channel"].upper()
    return f"{where.upper().replace(' ', '')}/{channel}" if where else channel


def _node(text: str) -> str:
    match = re.search(r"(?:Node|CPU|P)\s*(\d{1,18})", text, re.IGNORECASE)
    return f"P{match.group(1)}" if match else ""

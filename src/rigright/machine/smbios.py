"""SMBIOS, the firmware's table (DMTF DSP0134): memory modules and slots, of its bytes or dmidecode's text."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rigright.base.units import KIB, MIB
from rigright.machine.cells import real
from rigright.machine.host import Memory, MemoryModule, Slot
from rigright.machine.record import Read, telling
from rigright.machine.system import System
from rigright.machine.values import firmware_word, size_of
from rigright.machine.world import World

_END = 127
_MOST_STRUCTURES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class _Structure:
    """One structure: `body` begins with its four bytes of head."""

    kind: int
    at: int  # in the table
    end: int  # behind its strings
    body: bytes
    texts: tuple[bytes, ...]  # its strings as they stand

    @property
    def strings(self) -> tuple[str, ...]:
        """Its strings."""
        return tuple(text.decode("utf-8", "replace") for text in self.texts)

    def byte(self, at: int) -> int | None:
        """One byte, where this structure is long enough."""
        return self.body[at] if at < len(self.body) else None

    def word(self, at: int) -> int | None:
        """Two bytes."""
        return struct.unpack_from("<H", self.body, at)[0] if at + 2 <= len(self.body) else None

    def double(self, at: int) -> int | None:
        """Four bytes."""
        return struct.unpack_from("<I", self.body, at)[0] if at + 4 <= len(self.body) else None

    def string(self, at: int) -> str | None:
        """The string that the byte at this place numbers."""
        number = self.byte(at) or 0
        return (self.strings[number - 1].strip() or None) if 0 < number <= len(self.texts) else None

    def span(self, at: int) -> tuple[int, int]:
        """Where in the table the same string stands; nowhere where there is none."""
        number = self.byte(at) or 0
        if not 0 < number <= len(self.texts):
            return 0, 0
        begin = self.at + len(self.body) + sum(len(text) + 1 for text in self.texts[: number - 1])
        return begin, begin + len(self.texts[number - 1])


def structures(table: bytes) -> Iterator[_Structure]:
    """Each structure, up to the end mark or the first that is broken."""
    at = 0
    for _ in range(_MOST_STRUCTURES):
        if at + 4 > len(table):
            return
        kind, length = table[at], table[at + 1]
        if length < 4 or at + length > len(table) or kind == _END:
            return
        end = table.find(b"\0\0", at + length)
        if end < 0:
            return
        texts = table[at + length : end].split(b"\0") if end > at + length else []
        yield _Structure(
            kind=kind,
            at=at,
            end=end + 2,
            body=table[at : at + length],
            texts=tuple(texts),
        )
        at = end + 2


_ARRAY, MODULE = 16, 17
KINDS = {
    0x0F: "SDRAM", 0x12: "DDR", 0x13: "DDR2", 0x18: "DDR3", 0x1A: "DDR4", 0x1B: "LPDDR", 0x1C: "LPDDR2",
    0x1D: "LPDDR3", 0x1E: "LPDDR4", 0x20: "HBM", 0x21: "HBM2", 0x22: "DDR5", 0x23: "LPDDR5", 0x24: "HBM3",
}  # fmt: skip
_NO_SYSTEM_MEMORY = {0x09, 0x10, 0x0A}  # ROM, flash, EEPROM
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
        if structure.kind == _ARRAY and structure.byte(5) == 3
    ]
    return tuple(
        _module_of_bytes(structure, corrects=any(corrects) if corrects else None)
        for structure in every
        if structure.kind == MODULE and structure.byte(0x12) not in _NO_SYSTEM_MEMORY
    )


def _module_of_bytes(structure: _Structure, *, corrects: bool | None) -> MemoryModule:
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


def _size(structure: _Structure) -> float | None:
    """Bytes of a module; None where the place is empty or of unknown size."""
    size = structure.word(0x0C)
    if size in {None, 0, 0xFFFF}:
        return None
    if size == 0x7FFF:
        more = structure.double(0x1C)
        return float((more & 0x7FFFFFFF) * MIB) if more else None
    return float((int(size or 0) & 0x7FFF) * (KIB if int(size or 0) & 0x8000 else MIB))


def _rate(structure: _Structure, at: int, *, more_at: int) -> float | None:
    """Transfers a second, in millions, as modules are sold."""
    rate = structure.word(at)
    if rate == 0xFFFF:
        rate = structure.double(more_at)
    return float(rate) if rate else None


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
        if structure.kind == SLOT and (slot := _slot_of_bytes(structure)) is not None
    )


def _slot_of_bytes(structure: _Structure) -> Slot | None:
    code = structure.byte(0x05) or 0
    gen, lanes = _gen_and_lanes(code)
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


def _gen_and_lanes(code: int) -> tuple[int | None, int | None]:
    for first, gen in _GENS:
        if first <= code < first + len(_STEPS):
            return gen, _STEPS[code - first]
    return None, None


_MOST_LINES = 100_000
_FOREIGN_KINDS = {"ROM", "Flash", "EEPROM"}
_ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def read_modules(text: str) -> tuple[MemoryModule, ...]:
    """Memory modules and empty places."""
    blocks = tuple(_blocks(text))
    corrects = [
        "ECC" in row.get("Error Correction Type", "") or row.get("Error Correction Type") == "CRC"
        for title, row in blocks
        if title == "Physical Memory Array" and row.get("Use", "System Memory") == "System Memory"
    ]
    return tuple(
        _module_of_text(row, corrects=any(corrects) if corrects else None)
        for title, row in blocks
        if title == "Memory Device" and row.get("Type") not in _FOREIGN_KINDS
    )


def read_slots(text: str) -> tuple[Slot, ...]:
    """Slots that take a PCI Express card."""
    blocks = (row for title, row in _blocks(text) if title == "System Slot Information")
    return tuple(
        _slot_of_text(block) for block in blocks if re.search(r"PCI Express|M\.2", block.get("Type", ""))
    )


def _title_fields(text: str) -> dict[str, Mapping[str, str]]:
    """The fields of the first structure of each title."""
    result: dict[str, Mapping[str, str]] = {}
    for title, fields in _blocks(text):
        result.setdefault(title, fields)
    return result


def _blocks(text: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Each structure: its title and its fields."""
    title = ""
    fields: dict[str, str] = {}
    for line in text.splitlines()[:_MOST_LINES]:
        if not line.strip() or line.startswith("Handle "):
            if title:
                yield title, fields
            title, fields = "", {}
        elif not line.startswith(("\t", " ")):
            title, fields = line.strip(), {}
        elif ": " in line and not line.startswith("\t\t"):
            name, _, value = line.strip().partition(": ")
            fields.setdefault(name, value.strip())
    if title:
        yield title, fields


def _module_of_text(structure: Mapping[str, str], *, corrects: bool | None) -> MemoryModule:
    slot, bank = structure.get("Locator", ""), firmware_word(structure.get("Bank Locator"))
    size = size_of(structure.get("Size"))
    if not size:
        return MemoryModule(slot=slot, channel=channel_of(slot, bank))
    total, data = (real(structure.get(name)) for name in ("Total Width", "Data Width"))
    wide = None if total is None or data is None else total > data
    set_to = structure.get("Configured Memory Speed", structure.get("Configured Clock Speed"))
    return MemoryModule(
        slot=slot,
        channel=channel_of(slot, bank),
        size_bytes=size,
        kind=firmware_word(structure.get("Type")),
        rated_mt_s=real(structure.get("Speed")),
        set_mt_s=real(set_to),
        ecc=wide if corrects is None or wide is None else wide and corrects,
        maker=firmware_word(structure.get("Manufacturer")),
        part=firmware_word(structure.get("Part Number")),
    )


def _slot_of_text(structure: Mapping[str, str]) -> Slot:
    kind = structure["Type"]
    gen = re.search(r"PCI Express (\d)", kind)
    lanes = re.search(r"\bx(\d{1,2})\b", kind)
    address = _ADDRESS.fullmatch(structure.get("Bus Address", ""))
    usage = {"In Use": True, "Available": False}
    return Slot(
        name=firmware_word(structure.get("Designation")) or "",
        kind=_short(kind, lanes=lanes and lanes.group(1), gen=gen and gen.group(1)),
        lanes=int(lanes.group(1)) if lanes else None,
        gen=int(gen.group(1)) if gen else (1 if "PCI Express" in kind else None),
        in_use=usage.get(structure.get("Current Usage", "")),
        address=address.group(0) if address and not address.group(0).startswith("0000:ff:1f.7") else None,
        length={"Long": "long", "Short": "short"}.get(structure.get("Length", "")),
    )


def _short(kind: str, *, lanes: str | None, gen: str | None) -> str:
    """The kind told once: "x16 PCI Express 5 x16" says its width twice."""
    if "M.2" in kind:
        return kind
    return f"x{lanes} PCI Express {gen or 1}" if lanes else f"PCI Express {gen or 1}"


TABLE = "/sys/firmware/dmi/tables/DMI"
_MOST_BYTES = 4 * MIB


def memory_modules(world: World) -> tuple[MemoryModule, ...] | None:
    """Modules and empty places; None where the table cannot be read."""
    table = world.raw(TABLE, _MOST_BYTES)
    if table:
        return modules_of(table)
    reply = world.run("dmidecode", "-t", "memory") if not world.is_live else None
    return read_modules(reply.out) or None if reply is not None and reply.code == 0 else None


def board_slots(world: World) -> tuple[Slot, ...] | None:
    """Slots of the board; None where the table cannot be read."""
    table = world.raw(TABLE, _MOST_BYTES)
    if table:
        return slots_of(table)
    reply = world.run("dmidecode", "-t", "slot") if not world.is_live else None
    return read_slots(reply.out) or None if reply is not None and reply.code == 0 else None


def is_dmidecode(text: str) -> bool:
    """Whether dmidecode wrote it."""
    return "Handle 0x" in text and "DMI type" in text


def read_dmidecode(text: str) -> Read:
    """Memory modules, slots, board and firmware."""
    modules, slots = read_modules(text), read_slots(text)
    fields = _title_fields(text)
    system = System(
        maker=firmware_word(fields.get("System Information", {}).get("Manufacturer")),
        product=firmware_word(fields.get("System Information", {}).get("Product Name")),
        board=firmware_word(fields.get("Base Board Information", {}).get("Product Name")),
        bios=firmware_word(fields.get("BIOS Information", {}).get("Version")),
        bios_date=firmware_word(fields.get("BIOS Information", {}).get("Release Date")),
    )
    memory = Memory(modules=modules) if modules else None
    return Read(fields={"system": system, **telling(memory=memory, slots=slots)})

"""The same out of what `dmidecode` writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rigright.base.units import parse_bytes
from rigright.machine.cells import real
from rigright.machine.host import MemoryModule, Slot
from rigright.machine.smbios.modules import channel_of, firmware_word

_MOST_LINES = 100_000
_SIZE = re.compile(r"(\d{1,9}) ([kKMGT]B)")
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
        _module(row, corrects=any(corrects) if corrects else None)
        for title, row in blocks
        if title == "Memory Device" and row.get("Type") not in _FOREIGN_KINDS
    )


def read_slots(text: str) -> tuple[Slot, ...]:
    """Slots that take a PCI Express card."""
    blocks = (row for title, row in _blocks(text) if title == "System Slot Information")
    return tuple(_slot(block) for block in blocks if re.search(r"PCI Express|M\.2", block.get("Type", "")))


def title_fields(text: str) -> dict[str, Mapping[str, str]]:
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


def _module(structure: Mapping[str, str], *, corrects: bool | None) -> MemoryModule:
    slot, bank = structure.get("Locator", ""), firmware_word(structure.get("Bank Locator"))
    size = _SIZE.fullmatch(structure.get("Size", ""))
    if size is None:
        return MemoryModule(slot=slot, channel=channel_of(slot, bank))
    total, data = (real(structure.get(name)) for name in ("Total Width", "Data Width"))
    wide = None if total is None or data is None else total > data
    set_to = structure.get("Configured Memory Speed", structure.get("Configured Clock Speed"))
    return MemoryModule(
        slot=slot,
        channel=channel_of(slot, bank),
        size_bytes=parse_bytes(f"{size.group(1)}{size.group(2)[0]}i"),
        kind=firmware_word(structure.get("Type")),
        rated_mt_s=real(structure.get("Speed")),
        set_mt_s=real(set_to),
        ecc=wide if corrects is None or wide is None else wide and corrects,
        maker=firmware_word(structure.get("Manufacturer")),
        part=firmware_word(structure.get("Part Number")),
    )


def _slot(structure: Mapping[str, str]) -> Slot:
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

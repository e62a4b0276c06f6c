"""The firmware's table of a fake tree (SMBIOS 3): memory modules and slots, written as the standard says."""

from __future__ import annotations

import struct

KINDS = {"DDR3": 0x18, "DDR4": 0x1A, "LPDDR4": 0x1E, "DDR5": 0x22, "LPDDR5": 0x23}
WIDTHS = {1: 0x08, 2: 0x09, 4: 0x0A, 8: 0x0B, 16: 0x0D}
SLOT_GENS = {1: 0xA5, 3: 0xB1, 4: 0xB8, 5: 0xBE}  # of any width; the widths stand after it
SLOT_STEPS = {None: 0, 1: 1, 2: 2, 4: 3, 8: 4, 16: 5}
MIB = 2**20


def tables(*, modules=(), slots=()):
    """The entry point and the table."""
    parts = [_array(any(one.get("ecc") for one in modules))]
    parts += [_slot(0x0900 + number, one) for number, one in enumerate(slots)]
    parts += [_module(0x1100 + number, one) for number, one in enumerate(modules)]
    table = b"".join([*parts, struct.pack("<BBH", 127, 4, 0xFEFF) + b"\0\0"])
    entry = bytearray(struct.pack("<5sBBBBBBBIQ", b"_SM3_", 0, 24, 3, 5, 0, 1, 0, len(table), 0x20))
    entry[5] = -sum(entry) % 256
    return bytes(entry), table


def _structure(kind, handle, *, body, strings):
    told = b"".join(text.encode() + b"\0" for text in strings if text) or b"\0"
    return struct.pack("<BBH", kind, len(body) + 4, handle) + body + told + b"\0"


def _array(ecc):
    """Type 16: what corrects errors."""
    body = struct.pack("<BBBIHHQ", 3, 3, 5 if ecc else 3, 0x80000000, 0xFFFE, 8, 2**40)
    return _structure(16, 0x1000, body=body, strings=())


def _slot(handle, one):
    """Type 9: `{name, gen, lanes, in_use, address, long}`."""
    kind = SLOT_GENS[one["gen"]] + SLOT_STEPS[one.get("lanes", 16)]
    segment, bus, function = 0xFFFF, 0xFF, 0xFF
    if one.get("address"):
        domain, bus_text, rest = one["address"].split(":")
        device, _, number = rest.partition(".")
        segment, bus = int(domain, 16), int(bus_text, 16)
        function = int(device, 16) << 3 | int(number, 16)
    body = struct.pack(
        "<BBBBBHBBHBB",
        1,
        kind,
        WIDTHS[one.get("lanes", 16)],
        4 if one.get("in_use") else 3,
        4,
        1,
        0x0C,
        0x01,
        segment,
        bus,
        function,
    )
    return _structure(9, handle, body=body, strings=(one["name"],))


def _module(handle, one):
    """Type 17: `{slot, bank, mib, kind, rated, set, ecc, maker, part}`; without mib the place is empty."""
    mib = one.get("mib", 0)
    wide = 72 if one.get("ecc") else 64
    body = struct.pack(
        "<HHHHHBBBBBHHBBBBBIHHHH",
        0x1000,
        0xFFFE,
        wide if mib else 0xFFFF,
        64 if mib else 0xFFFF,
        min(32767, mib),
        9,
        0,
        1,
        2,
        KINDS[one.get("kind", "DDR5")],
        0x0080,
        one.get("rated", 4800) if mib else 0,
        3 if mib else 0,
        0,
        0,
        4 if mib else 0,
        2,
        mib if mib >= 0x7FFF else 0,
        one.get("set", one.get("rated", 4800)) if mib else 0,
        1100,
        1100,
        1100,
    )
    strings = (
        one["slot"],
        one.get("bank", "BANK 0"),
        one.get("maker", "Samsung"),
        one.get("part", "M321R8GA0BB0"),
    )
    return _structure(17, handle, body=body, strings=strings)

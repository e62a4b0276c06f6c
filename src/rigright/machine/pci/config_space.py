"""A function's configuration space: what its resizable BARs can take, and whether it sends peers to the root.

Laid out as the PCI Express base specification says. All but the first 64 bytes are root's alone.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from rigright.base.units import MIB

EXTENDED_AT = 0x100
WHOLE = 4096
RESIZABLE = 0x0015
ACCESS_CONTROL = 0x000D
_MOST_CAPABILITIES = 64
_REDIRECTS = 0b1100  # requests and completions of peers


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended:
    """What the extended capabilities say."""

    rebar_max_bytes: float | None = None
    acs: bool | None = None  # None: it has no such control


def extended(raw: bytes) -> Extended | None:
    """What stands beyond the first 256 bytes; None where they were closed to us."""
    if len(raw) <= EXTENDED_AT + 4:
        return None
    fields = dict(capabilities(raw))
    return Extended(
        rebar_max_bytes=_rebar(raw, fields[RESIZABLE]) if RESIZABLE in fields else None,
        acs=_redirects(raw, fields[ACCESS_CONTROL]) if ACCESS_CONTROL in fields else None,
    )


def capabilities(raw: bytes) -> Iterator[tuple[int, int]]:
    """Number and place of each; a chain that bites its tail ends."""
    at = EXTENDED_AT
    for _ in range(_MOST_CAPABILITIES):
        if at < EXTENDED_AT or at + 4 > len(raw):
            return
        (head,) = struct.unpack_from("<I", raw, at)
        if head in {0, 0xFFFFFFFF}:
            return
        yield head & 0xFFFF, at
        at = head >> 20


def _rebar(raw: bytes, at: int) -> float | None:
    """The largest size any of its resizable BARs can take."""
    if at + 12 > len(raw):
        return None
    bars = struct.unpack_from("<I", raw, at + 8)[0] >> 5 & 0b111
    sizes = []
    for turn in range(min(bars, 6)):
        if at + 8 + 8 * turn > len(raw):
            break
        (can,) = struct.unpack_from("<I", raw, at + 4 + 8 * turn)
        sizes += [float(MIB << (bit - 4)) for bit in range(4, 32) if can >> bit & 1]
    return max(sizes, default=None)


def _redirects(raw: bytes, at: int) -> bool | None:
    if at + 8 > len(raw):
        return None
    (control,) = struct.unpack_from("<H", raw, at + 6)
    return bool(control & _REDIRECTS)

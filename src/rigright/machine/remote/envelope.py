"""What a node tells, as short lines that survive banners, labels and mixing, and the ear that joins them.

Everything heard is foreign: counts and sizes are bounded, and nothing is taken that does not add up.
"""

from __future__ import annotations

import base64
import json
import re
import secrets
import zlib
from collections.abc import Iterator
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.units import MIB

MARK = "rigright-told"
_PIECE = 640  # characters of payload a line: Slurm cuts lines at 1024 when it labels them
MOST_BYTES = 32 * MIB  # of one node's words, unpacked
MOST_PIECES = 4 * MIB // _PIECE  # of one node's words, packed
MOST_SPEAKERS = 20_000
_MOST_DEPTH = 40
_LINE = re.compile(rb"rigright-told ([0-9a-f]{16}) (\d{1,5}) (\d{1,5}) ([0-9a-f]{8}) ([A-Za-z0-9+/=]{1,700})")


def lines(value: Any) -> Iterator[str]:
    """The words of one node, one line after another."""
    packed = zlib.compress(json.dumps(value, ensure_ascii=True, allow_nan=False).encode(), 9)
    text = base64.b64encode(packed).decode()
    speaker, check = secrets.token_hex(8), zlib.crc32(packed)
    pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    for number, piece in enumerate(pieces):
        yield f"{MARK} {speaker} {number} {len(pieces)} {check:08x} {piece}\n"


class _Speaker:
    """One node's pieces, as they come."""

    def __init__(self, count: int, check: int) -> None:
        self.count, self.check = count, check
        self.pieces: dict[int, bytes] = {}


class LineJoiner:
    """Joins lines of many nodes, in whatever order they come."""

    def __init__(self) -> None:
        self._speakers: dict[bytes, _Speaker] = {}

    def hear(self, line: bytes) -> dict[str, Any] | None:
        """Take one line; a node's whole words once its last line came."""
        match = _LINE.search(line)
        if match is None:
            return None
        name, number, count, check = match[1], int(match[2]), int(match[3]), int(match[4], 16)
        if name not in self._speakers and len(self._speakers) >= MOST_SPEAKERS:
            return None
        speaker = self._speakers.setdefault(name, _Speaker(count, check))
        if (count, check) != (speaker.count, speaker.check) or not number < count <= MOST_PIECES:
            return None
        fresh = number not in speaker.pieces
        speaker.pieces[number] = match[5]
        if not fresh or len(speaker.pieces) < count:
            return None
        text = b"".join(speaker.pieces[item] for item in range(count))
        speaker.pieces = dict.fromkeys(range(count), b"")  # heard: later copies of its lines say nothing
        return _opened(text, check)


def heard(text: bytes) -> list[dict[str, Any]]:
    """Everything that nodes told in a text, such as a log."""
    ear = LineJoiner()
    return [fields for line in text.splitlines() if (fields := ear.hear(line)) is not None]


def _opened(text: bytes, check: int) -> dict[str, Any] | None:
    try:
        packed = base64.b64decode(text, validate=True)
        if zlib.crc32(packed) != check:
            return None
        opener = zlib.decompressobj()
        raw = opener.decompress(packed, MOST_BYTES)
        value = bounded_json(raw) if opener.eof else None
    except (ValueError, zlib.error):
        return None
    return value if isinstance(value, dict) and _is_flat(value, _MOST_DEPTH) else None


def _is_flat(thing: Any, depth: int) -> bool:
    """Whether nothing lies deeper than a record of ours could."""
    if not isinstance(thing, dict | list):
        return True
    inside = thing.values() if isinstance(thing, dict) else thing
    return depth > 0 and all(_is_flat(value, depth - 1) for value in inside)

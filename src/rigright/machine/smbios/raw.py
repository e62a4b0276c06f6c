"""The table's bytes, cut into structures with every length held to what is there (DMTF DSP0134)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

END = 127
MOST_STRUCTURES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
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


def structures(table: bytes) -> Iterator[Structure]:
    """Each structure, up to the end mark or the first that is broken."""
    at = 0
    for _ in range(MOST_STRUCTURES):
        if at + 4 > len(table):
            return
        kind, length = table[at], table[at + 1]
        if length < 4 or at + length > len(table) or kind == END:
            return
        end = table.find(b"\0\0", at + length)
        if end < 0:
            return
        texts = table[at + length : end].split(b"\0") if end > at + length else []
        yield Structure(
            kind=kind,
            at=at,
            end=end + 2,
            body=table[at : at + length],
            texts=tuple(texts),
        )
        at = end + 2

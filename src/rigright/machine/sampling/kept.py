"""Files of the kernel that are read again and again: opened once, and read from their start each time."""

from __future__ import annotations

import os
from contextlib import suppress

from rigright.base.units import KIB, MIB
from rigright.machine.world import World

_PIECE = 64 * KIB
_MOST_BYTES = MIB  # of one file


class Kept:
    """Such files of a world; where there is nothing to be kept open, as the world reads them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._keeps = world.is_live and hasattr(os, "pread")
        self._open: dict[str, int] = {}

    def text(self, path: str) -> str | None:
        """A file now, without its last line break; None where it is absent or closed to us."""
        raw = self.raw(path)
        return None if raw is None else raw.decode("utf-8", "replace").removesuffix("\n")

    def raw(self, path: str) -> bytes | None:
        """The bytes of a file now; None where it is absent or closed to us."""
        if not self._keeps:
            return self._world.raw(path)
        raw = self._read(path) if path in self._open else None
        if (
            raw is None
        ):  # for the first time, or what was opened is gone: a card that came back is another file
            self.forget(path)
            with suppress(OSError, ValueError):
                self._open[path] = os.open(self._world.at(path), os.O_RDONLY)
                raw = self._read(path)
        if raw is None:
            self.forget(path)
        return raw

    def _read(self, path: str) -> bytes | None:
        """The whole; the kernel hands some files over page by page."""
        file, raw = self._open[path], b""
        try:
            while len(raw) < _MOST_BYTES and (piece := os.pread(file, _PIECE, len(raw))):
                raw += piece
        except OSError:
            return None
        return raw

    def forget(self, path: str) -> None:
        """Let go of one, that is not asked for any more."""
        file = self._open.pop(path, None)
        if file is not None:
            with suppress(OSError):
                os.close(file)

    def close(self) -> None:
        """Let go of them."""
        for path in tuple(self._open):
            self.forget(path)

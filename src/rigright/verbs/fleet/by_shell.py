"""Nodes without a Python that is new enough: read by a shell script; nothing can be measured there."""

from __future__ import annotations

import base64
import secrets
import zlib
from collections.abc import Iterable
from typing import Any

from rigright.base.errors import RigError
from rigright.base.units import MIB
from rigright.base.words import Sentence, say
from rigright.machine.bench.record import Skipped
from rigright.machine.far.parcel import NO_PYTHON, RemoteRequest
from rigright.machine.far.shell import MARK, script
from rigright.machine.opened.collected import is_collected, read_collected
from rigright.machine.stored import plain
from rigright.verbs.fleet.came import Came

SHELL_S = 120.0  # for a node: every command there has its own time
PACKED = "gzip -c | base64"  # short lines of few letters, for those who label lines and cut long ones
MOST_BYTES = 64 * MIB  # of one node's words
OLD = say("no Python 3.10 or newer there, cannot measure; see --python")


def is_without_python(words: Iterable[bytes]) -> bool:
    """Whether a node said that it has no Python for us."""
    return any(one.startswith(NO_PYTHON.encode()) for one in words)


def collector() -> bytes:
    """The script, as it goes to a node's standard input; its mark is known to nobody there."""
    return script(f"{MARK}-{secrets.token_hex(8)}").encode()


class ShellEar:
    """Hears one node out, up to a limit."""

    def __init__(self) -> None:
        self.heard = bytearray()

    def hear(self, line: bytes) -> None:
        """One line more."""
        if len(self.heard) < MOST_BYTES:
            self.heard += line

    def unpacked(self) -> bytes:
        """What was packed for its way."""
        try:
            packed = base64.b64decode(bytes(self.heard), validate=False)
            return zlib.decompressobj(wbits=31).decompress(packed, MOST_BYTES)
        except (ValueError, zlib.error):
            return b""


def came_of(node: str, raw: bytes, *, ask: RemoteRequest, otherwise: Sentence) -> Came:
    """The node as its answer shows it; `otherwise` why there is none."""
    if not is_collected(raw):
        return Came(node=node, trouble=otherwise)
    try:
        machine = read_collected(raw, name=node)
    except RigError as error:
        return Came(node=node, trouble=error.sentence)
    parts = () if ask.bench is None else ask.bench.parts or ("bench",)
    told: dict[str, Any] = {"node": node, "machine": plain(machine), "results": []}
    return Came(node=node, told=told | {"skipped": [plain(Skipped(part=part, why=OLD)) for part in parts]})

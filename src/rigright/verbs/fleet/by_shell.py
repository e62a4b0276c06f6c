"""Nodes without a Python that is new enough: read by a shell script; nothing can be measured there."""

from __future__ import annotations

import base64
import secrets
import zlib
from collections.abc import Iterable, Iterator, Sequence
from threading import Event
from typing import Any

from rigright.base.errors import RigError
from rigright.base.patience import patience
from rigright.base.units import MIB
from rigright.base.words import Sentence, say
from rigright.machine.bench.record import Skipped
from rigright.machine.opened.collected import host_of, is_collected, read_collected
from rigright.machine.remote.parcel import NO_PYTHON, RemoteRequest
from rigright.machine.remote.shell import MARK, script, start_shell
from rigright.machine.remote.talk import talk
from rigright.machine.stored import plain
from rigright.verbs.fleet.hosts import MOST_NODES
from rigright.verbs.fleet.outcome import NodeOutcome

SHELL_S = 120.0  # for a node: every command there has its own time
START_S = 30.0  # until srun has started
PACKED = "gzip -c | base64"  # short lines of few letters, for those who label lines and cut long ones
MOST_BYTES = 64 * MIB  # of one node's words
OLD = say("no Python 3.10 or newer there, cannot measure; see --python")


def is_without_python(words: Iterable[bytes]) -> bool:
    """Whether a node said that it has no Python for us."""
    return any(word.startswith(NO_PYTHON.encode()) for word in words)


def collector() -> bytes:
    """The script, as it goes to a node's standard input; its mark is known to nobody there."""
    return script(f"{MARK}-{secrets.token_hex(8)}").encode()


class ShellReader:
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


def by_one_srun(
    argv: Sequence[str],
    nodes: Sequence[str],
    *,
    ask: RemoteRequest,
    as_root: bool,
    why: Sentence,
    stop: Event,
) -> Iterator[NodeOutcome]:
    """Nodes of a Slurm allocation, by one more srun; it labels lines with the task they are of."""
    ears: dict[bytes, ShellReader] = {}

    def heard(line: bytes) -> None:
        label, _, rest = line.partition(b": ")
        if label.strip().isdigit() and len(ears) < MOST_NODES:
            ears.setdefault(label.strip(), ShellReader()).hear(rest.strip())

    where = ("--nodes", str(len(nodes)), "--nodelist", ",".join(nodes))
    line = (*argv, *where, "sh", "-c", f"{start_shell(as_root=as_root)} | {PACKED}")
    talk(line, data=collector(), heard=heard, patience_s=patience(SHELL_S + START_S), stop=stop)
    for ear in ears.values():
        raw = ear.unpacked()
        yield outcome_of(host_of(raw) or "?", raw, ask=ask, otherwise=why)


def outcome_of(node: str, raw: bytes, *, ask: RemoteRequest, otherwise: Sentence) -> NodeOutcome:
    """The node as its answer shows it; `otherwise` why there is none."""
    if not is_collected(raw):
        return NodeOutcome(node=node, trouble=otherwise)
    try:
        machine = read_collected(raw, name=node)
    except RigError as error:
        return NodeOutcome(node=node, trouble=error.sentence)
    parts = () if ask.bench is None else ask.bench.parts or ("bench",)
    fields: dict[str, Any] = {"node": node, "machine": plain(machine), "results": []}
    return NodeOutcome(
        node=node, reply=fields | {"skipped": [plain(Skipped(part=part, why=OLD)) for part in parts]}
    )

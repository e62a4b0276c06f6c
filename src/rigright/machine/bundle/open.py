"""Opens a bundle that may come from anywhere: nothing is unpacked, nothing is larger than it may be."""

from __future__ import annotations

import io
import tarfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.errors import DataError
from rigright.base.units import KIB, MIB
from rigright.base.words import Sentence, say
from rigright.machine.bundle.heard import Recording, Replay
from rigright.machine.filled import devices_filled, filled
from rigright.machine.possible import possible
from rigright.machine.probe import probe
from rigright.machine.record import Machine
from rigright.machine.stored import restored
from rigright.machine.world import CommandOutput

MOST_BYTES = 128 * MIB  # of all that is in it
MOST_MEMBERS = 50_000
_MOST_ASKED = 4096
_AT_ONCE = 64 * KIB
_FLOOR_BYTES, _TIMES = 14 * MIB, 32  # may always come out of a gzip; times its size
_TAR = (b"ustar", 257)


def most_unpacked(packed: int) -> int:
    """How much may come out of so many packed bytes: logs pack thirty to one, floods a thousand to one."""
    return min(MOST_BYTES, max(_FLOOR_BYTES, _TIMES * packed))


def unzipped(raw: bytes, *, name: str) -> tuple[bytes, bool]:
    """What a gzip holds, and whether it is whole; of one that is cut, or holds too much, up to there."""
    squeezed, most = zlib.decompressobj(wbits=31), most_unpacked(len(raw))
    bytes_io = io.BytesIO()
    for start in range(0, len(raw), _AT_ONCE):
        try:
            bytes_io.write(squeezed.decompress(raw[start : start + _AT_ONCE], most + 1 - bytes_io.tell()))
        except zlib.error as error:
            if not bytes_io.tell():
                raise _broken(name, say("{why}", why=error)) from None
            break
        if bytes_io.tell() > most:
            bytes_io.truncate(most)
            break
        if squeezed.eof:
            return bytes_io.getvalue(), True
    if not bytes_io.tell():
        raise _broken(name, say("it ends too early"))
    return bytes_io.getvalue(), False


def is_archive(raw: bytes) -> bool:
    """Whether these bytes are a tar."""
    mark, at = _TAR
    return raw[at : at + len(mark)] == mark


def open_bundle(raw: bytes, *, name: str) -> Machine:
    """The machine of the bundle: read again by today's readers, its gaps filled with what was seen there."""
    # the plain files of the archive by name; links, devices and all else are passed over
    contents: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as tar:
            for place, member in enumerate(tar):
                if place >= MOST_MEMBERS:
                    raise _broken(name, say("it contains more than {limit} files", limit=MOST_MEMBERS))
                file = tar.extractfile(member) if member.isreg() and not member.issparse() else None
                if file is not None:
                    contents[member.name.removeprefix("./")] = file.read(MOST_BYTES)
    except (tarfile.TarError, OSError, EOFError, ValueError, OverflowError, RecursionError) as error:
        raise _broken(name, say("{why}", why=error)) from None
    members = contents
    stored = possible(restored(Machine, _object(members, "machine.json", name=name), where=name))
    index = _object(members, "index.json", name=name)
    try:
        kept = _kept(index, members)
    except (AttributeError, TypeError, ValueError, LookupError, OverflowError):
        raise _broken(name, say("its index is invalid")) from None
    seen = probe(Replay(kept=kept, env=kept.env), origin=name)
    whole = filled(seen, stored)
    devices = devices_filled(stored.devices, seen.devices) if stored.devices else seen.devices
    return replace(whole, devices=devices, unseen=stored.unseen, origin=name)


def _object(members: Mapping[str, bytes], member: str, *, name: str) -> dict[str, Any]:
    """A JSON object in it."""
    try:
        data = bounded_json(members.get(member, b""))
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise _broken(name, say("it contains no {member}", member=member))
    return data


def _kept(index: Mapping[str, Any], members: Mapping[str, bytes]) -> Recording:
    """What the readers will be answered; names are keys and never places on a disk."""
    files = {name.removeprefix("files"): raw for name, raw in members.items() if name.startswith("files/")}
    return Recording(
        files=files,
        folders={str(name): tuple(map(str, names)) for name, names in index["folders"].items()}
        if "folders" in index
        else {},
        links={str(name): None if to is None else str(to) for name, to in index.get("links", {}).items()},
        there={str(name): bool(there) for name, there in index.get("there", {}).items()},
        closed={str(name): bool(closed) for name, closed in index.get("closed", {}).items()},
        commands={
            tuple(map(str, item["argv"])): CommandOutput(
                code=int(item["code"]),
                out=members.get(f"commands/{item['file']}", b"").decode("utf-8", "replace"),
                err=str(item.get("err", "")),
            )
            for item in index.get("commands", [])[:_MOST_ASKED]
        },
        env={str(name): str(value) for name, value in index.get("env", {}).items()},
    )


def _broken(name: str, why: Sentence) -> DataError:
    return DataError(say("{file} is not a readable bundle: {why}", file=name, why=why))

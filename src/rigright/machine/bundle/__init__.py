"""Bundles: everything read from a machine, without private data, in one archive to examine elsewhere.

It holds a head, the machine, an index of what is no file, the files, and what commands printed. One that is
opened may come from anywhere: nothing is unpacked, and names in it are keys, never places on a disk.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.errors import DataError
from rigright.base.files import write_whole
from rigright.base.words import Sentence, say
from rigright.machine.at_once import at_once
from rigright.machine.bundle.recording import Recording, Replay, recorder
from rigright.machine.bundle.redaction import redaction_of
from rigright.machine.filled import devices_filled, filled
from rigright.machine.possible import possible
from rigright.machine.probe import probe
from rigright.machine.record import Machine
from rigright.machine.stored import plain, restored
from rigright.machine.world import CommandOutput, World, command_file

FORMAT = "rigright bundle"
SCHEMA = 1
HEAD, MACHINE, INDEX = "bundle.json", "machine.json", "index.json"
ASKED_TOO = (  # what no reader needs, and a helper would ask for
    ("nvidia-smi",),
    ("nvidia-smi", "-L"),
    ("nvidia-smi", "-q", "-x"),
    ("nvidia-smi", "topo", "-m"),
    ("nvidia-smi", "nvlink", "-s"),
    ("lspci", "-Dvvvnn"),
)
_MOST_ASKED = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundled:
    """What was written."""

    machine: Machine
    file: str
    files: int
    commands: int
    kept_out: tuple[tuple[str, int], ...]  # kind -> how many distinct ones bear made-up names


def write_bundle(world: World, file: Path, *, version: str) -> Bundled:
    """Read the machine, and write down what was read without what is private."""
    live = recorder(world)
    machine = probe(live)
    missing = [argv for argv in ASKED_TOO if argv not in live.kept.commands]
    at_once(lambda argv: live.run(*argv), missing)  # each may hang until its time is over
    redaction = redaction_of(machine, live.kept)
    kept, public = redaction.recording(live.kept), redaction.machine(machine)
    head = {"format": FORMAT, "schema": SCHEMA, "rigright": version, "kept_out": dict(redaction.counts)}
    write_whole(file, _packed({HEAD: _json(head), MACHINE: _json(plain(public)), **_members(kept)}))
    return Bundled(
        machine=machine,
        file=str(file),
        files=len(kept.files),
        commands=len(kept.commands),
        kept_out=tuple(sorted(redaction.counts.items())),
    )


def open_bundle(members: Mapping[str, bytes], *, name: str, is_whole: bool) -> Machine:
    """The machine of a bundle: read again by today's readers, its gaps filled with what was seen there."""
    if not is_whole:
        raise _broken(name, say("it ends too early"))
    stored = possible(restored(Machine, _object(members, MACHINE, name=name), where=name))
    index = _object(members, INDEX, name=name)
    try:
        kept = _recording(index, members)
    except (AttributeError, TypeError, ValueError, LookupError, OverflowError):
        raise _broken(name, say("its index is invalid")) from None
    seen = probe(Replay(kept=kept, env=kept.env), origin=name)
    devices = devices_filled(stored.devices, seen.devices) if stored.devices else seen.devices
    return replace(filled(seen, stored), devices=devices, unseen=stored.unseen, origin=name)


def _members(kept: Recording) -> dict[str, bytes]:
    """The index, the files and the answers of commands, by their names in the archive."""
    outputs = {argv: f"{place:03d}-{command_file(argv)}" for place, argv in enumerate(kept.commands)}
    index = {
        "folders": {name: list(names) for name, names in kept.folders.items()},
        "links": kept.links,
        "there": kept.there,
        "closed": kept.closed,
        "env": kept.env,
        "commands": [
            {"argv": list(argv), "code": output.code, "err": output.err, "file": outputs[argv]}
            for argv, output in kept.commands.items()
        ],
    }
    return {
        INDEX: _json(index),
        **{f"files{name}": raw for name, raw in kept.files.items()},
        **{
            f"commands/{outputs[argv]}": output.out.encode("utf-8", "surrogateescape")
            for argv, output in kept.commands.items()
        },
    }


def _recording(index: Mapping[str, Any], members: Mapping[str, bytes]) -> Recording:
    """What the readers will be answered."""
    return Recording(
        files={name.removeprefix("files"): raw for name, raw in members.items() if name.startswith("files/")},
        folders={str(name): tuple(map(str, names)) for name, names in index.get("folders", {}).items()},
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


def _object(members: Mapping[str, bytes], member: str, *, name: str) -> dict[str, Any]:
    """A JSON object in it."""
    try:
        data = bounded_json(members.get(member, b""))
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise _broken(name, say("it contains no {member}", member=member))
    return data


def _json(data: Any) -> bytes:
    return (json.dumps(data, ensure_ascii=True, indent=1) + "\n").encode()


def _packed(members: Mapping[str, bytes]) -> bytes:
    """A tar without owners and times, squeezed."""
    plain_tar = io.BytesIO()
    with tarfile.open(fileobj=plain_tar, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, raw in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(raw)
            tar.addfile(member, io.BytesIO(raw))
    return gzip.compress(plain_tar.getvalue(), mtime=0)


def _broken(name: str, why: Sentence) -> DataError:
    return DataError(say("{file} is not a readable bundle: {why}", file=name, why=why))

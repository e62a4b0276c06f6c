"""Writes a bundle: what the readers asked for, what a helper would ask for, and the machine itself."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rigright.base.files import write_whole
from rigright.machine.at_once import at_once
from rigright.machine.bundle.heard import Recording, overheard
from rigright.machine.bundle.marks import Marks
from rigright.machine.bundle.rules import Rules, private_names
from rigright.machine.bundle.tables import hide_config, hide_firmware
from rigright.machine.parts.surroundings import matters, shown
from rigright.machine.probe import probe
from rigright.machine.record import Machine
from rigright.machine.stored import plain, restored
from rigright.machine.world import CommandOutput, World, command_file

FORMAT = "rigright bundle"
SCHEMA = 1
ASKED_TOO = (  # what no reader needs, and a helper would ask for
    ("nvidia-smi",),
    ("nvidia-smi", "-L"),
    ("nvidia-smi", "-q", "-x"),
    ("nvidia-smi", "topo", "-m"),
    ("nvidia-smi", "nvlink", "-s"),
    ("lspci", "-Dvvvnn"),
)
_ASKED = {"HOME", "container"}  # variables that readers ask for by name
_WHOLE = {  # files that hold nothing but something private
    "hostname": "host",
    "machine-id": "serial",
    "serial": "serial",
    "serial_number": "serial",
    "product_serial": "serial",
    "board_serial": "serial",
    "chassis_serial": "serial",
    "product_uuid": "uuid",
    "chassis_asset_tag": "serial",
    "board_asset_tag": "serial",
    "unique_id": "serial",
    "wwid": "serial",
    "vpd_pg80": "serial",
}
_FIRMWARE, _CONFIG = "/sys/firmware/dmi/tables/DMI", "/config"
_VERSIONED = ("-packages", "dpkg", "dist-info", "/var/lib/rpm", "pip", "rpm", "conda")


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
    heard = overheard(world)
    machine = probe(heard)
    missing = [argv for argv in ASKED_TOO if argv not in heard.kept.commands]
    at_once(lambda argv: heard.run(*argv), missing)  # each may hang until its time is over
    rules = rules_of(machine, heard.kept, marks=Marks())
    kept = hidden(heard.kept, rules)
    bare = hidden_machine(machine, rules)
    head = {
        "format": FORMAT,
        "schema": SCHEMA,
        "rigright": version,
        "kept_out": dict(rules.marks.counts),
    }
    _write(file, kept, head=head, machine=bare)
    return Bundled(
        machine=machine,
        file=str(file),
        files=len(kept.files),
        commands=len(kept.commands),
        kept_out=tuple(sorted(rules.marks.counts.items())),
    )


def rules_of(machine: Machine, kept: Recording, *, marks: Marks) -> Rules:
    """The rules, and the private names that this machine told of itself."""
    host = machine.system.host
    users = [kept.env.get(name) for name in ("USER", "LOGNAME", "SUDO_USER", "USERNAME")]
    users += [program.user for device in machine.devices for program in device.programs or ()]
    return Rules(
        marks=marks,
        hosts=private_names([host, None if host is None else host.partition(".")[0]]),
        users=private_names(users),
        serials=private_names(
            text
            for device in machine.devices
            for text in (device.serial, None if "-" in (device.uuid or "-") else device.uuid)
        ),
    )


def hidden(kept: Recording, rules: Rules) -> Recording:
    """All that was kept, with made-up names in the place of private ones; in paths too."""

    @cache
    def path(text: str) -> str:
        return rules.hide(text, has_versions=True)

    return Recording(
        files={path(name): _file(name, raw, rules=rules) for name, raw in kept.files.items()},
        folders={path(name): tuple(map(path, names)) for name, names in kept.folders.items()},
        links={path(name): None if to is None else path(to) for name, to in kept.links.items()},
        there={path(name): there for name, there in kept.there.items()},
        closed={path(name): closed for name, closed in kept.closed.items()},
        commands={
            tuple(map(path, argv)): _redacted(argv, reply, rules=rules)
            for argv, reply in kept.commands.items()
        },
        env={
            name: rules.hide(shown(name, value))
            for name, value in kept.env.items()
            if name in _ASKED or matters(name)
        },
    )


def _file(name: str, raw: bytes, *, rules: Rules) -> bytes:
    """One file: a binary table by its own rule, a file of one private value by that, any other as text."""
    if name == _FIRMWARE:
        return hide_firmware(rules.marks, raw)
    if name.endswith(_CONFIG) and b"\0" in raw:
        return hide_config(rules.marks, raw)
    text = raw.decode("utf-8", "surrogateescape")
    kind = _WHOLE.get(name.rpartition("/")[2])
    bare = text.strip()
    if kind is not None and bare and bare.strip("0") and len(bare) < 200:
        return text.replace(bare, rules.marks.of(kind, bare)).encode("utf-8", "surrogateescape")
    return rules.hide(text, has_versions=_is_versioned(name)).encode("utf-8", "surrogateescape")


def _redacted(argv: tuple[str, ...], reply: CommandOutput, *, rules: Rules) -> CommandOutput:
    versioned = _is_versioned(" ".join(argv))
    return CommandOutput(
        code=reply.code,
        out=rules.hide(reply.out, has_versions=versioned),
        err=rules.hide(reply.err, has_versions=versioned),
    )


def _is_versioned(name: str) -> bool:
    return any(word in name for word in _VERSIONED)


def hidden_machine(machine: Machine, rules: Rules) -> Machine:
    """The record itself with made-up names."""
    return restored(Machine, _walked(plain(machine), rules, has_versions=False), where="machine")


def _walked(given: Any, rules: Rules, *, has_versions: bool) -> Any:
    if isinstance(given, str):
        return rules.hide(given, has_versions=has_versions)
    if isinstance(given, list):
        return [_walked(item, rules, has_versions=has_versions) for item in given]
    if isinstance(given, dict):
        return {
            name: _hidden_field(name, value, rules=rules)
            if isinstance(value, str) and name in _PRIVATE_FIELDS
            else _walked(value, rules, has_versions=has_versions or name == "software")
            for name, value in given.items()
        }
    return given


_PRIVATE_FIELDS = {"serial": "serial", "host": "host", "user": "user"}


def _hidden_field(name: str, text: str, *, rules: Rules) -> str:
    return text if text == "root" else rules.marks.of(_PRIVATE_FIELDS[name], text)


def _write(file: Path, kept: Recording, *, head: dict[str, Any], machine: Machine) -> None:
    """One archive: a head, the machine, an index of what is no file, the files, the answers of commands."""
    index = {
        "folders": {name: list(names) for name, names in kept.folders.items()},
        "links": kept.links,
        "there": kept.there,
        "closed": kept.closed,
        "env": kept.env,
        "commands": [
            {"argv": list(argv), "code": reply.code, "err": reply.err, "file": _numbered(place, argv)}
            for place, (argv, reply) in enumerate(kept.commands.items())
        ],
    }
    members = [
        ("bundle.json", _json(head)),
        ("machine.json", _json(plain(machine))),
        ("index.json", _json(index)),
    ]
    members += [(f"files{name}", raw) for name, raw in kept.files.items()]
    members += [
        (f"commands/{_numbered(place, argv)}", reply.out.encode("utf-8", "surrogateescape"))
        for place, (argv, reply) in enumerate(kept.commands.items())
    ]
    # A tar without owners and times, squeezed
    plain_tar = io.BytesIO()
    with tarfile.open(fileobj=plain_tar, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, raw in members:
            member = tarfile.TarInfo(name)
            member.size = len(raw)
            tar.addfile(member, io.BytesIO(raw))
    write_whole(file, gzip.compress(plain_tar.getvalue(), mtime=0))


def _numbered(place: int, argv: tuple[str, ...]) -> str:
    return f"{place:03d}-{command_file(argv)}"


def _json(data: Any) -> bytes:
    return (json.dumps(data, ensure_ascii=True, indent=1) + "\n").encode()

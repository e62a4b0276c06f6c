"""Files and answers found in a paste or an archive, as a machine that answers as the recorded one did."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from rigright.base.patterns import pattern
from rigright.base.tables import DATA, read_toml
from rigright.machine.bundle.recording import Recording, Replay
from rigright.machine.opened.sections import Section
from rigright.machine.probe import probe
from rigright.machine.record import Machine, Read
from rigright.machine.world import CommandOutput

_FILE = re.compile(r"/(?:proc|sys|etc|run|var/lib|lib/modules|dev)/\S+")
_SYNCED = re.compile(r"(?:System clock synchronized|NTP synchronized|NTPSynchronized)[:=] *(yes|no)")
_INFINIBAND = re.compile(
    r"(?:.*/)?(?P<inside>[^/]+/(?:ports/\d{1,3}/.+|hca_type|fw_ver|board_id|node_guid|node_type|hw_rev))\Z"
)
_ROOTED = re.compile(r"(?P<above>|.*?/)(?P<inside>(?:proc|sys|etc|run|dev|lib/modules|var/lib)/.+)\Z")
_MODULE_ROW = re.compile(r"^(\w+) +(\d{1,18}) +(\d{1,18}) *(\S*)$", re.MULTILINE)


def answered(section: Section) -> tuple[str, str] | tuple[tuple[str, ...], str] | None:
    """The file, or the command as readers ask it, that a section answers, and the answer."""
    head, text = section.head, section.text
    if "No such file" in text[:200] or "Permission denied" in text[:200] or "command not found" in text[:200]:
        return None
    if head.startswith("lsmod") and _MODULE_ROW.search(text):  # without its heading, where grep cut it
        return "/proc/modules", _loaded(f"Module Size Used by\n{text}")
    path = head if _FILE.fullmatch(head) else _place_of("begins", text, kind="file")
    if path is not None:
        return path, _loaded(text) if path == "/proc/modules" else text.strip("\n") + "\n"
    argv = _place_of("typed", head, kind="command") or _place_of("begins", text, kind="command")
    if argv is not None and argv[0] == "timedatectl":
        synced = _SYNCED.search(text)
        return None if synced is None else (argv, synced[1] + "\n")
    return None if argv is None else (argv, text + "\n")


def _place_of(known_by: str, text: str, *, kind: str) -> Any:
    """The file, or the command, whose answer the beginning of a text is."""
    return next((place for find, place in _places(known_by, kind) if find.match(text)), None)


@cache
def _places(known_by: str, kind: str) -> tuple[tuple[re.Pattern[str], Any], ...]:
    rows = (row for row in read_toml(DATA / "pasted.toml")["answer"] if kind in row)
    return tuple(
        (pattern(text, re.MULTILINE), tuple(row[kind]) if kind == "command" else row[kind])
        for row in rows
        for text in row.get(known_by, ())
    )


def _loaded(text: str) -> str:
    """Loaded modules as /proc/modules has them; lsmod leaves out what is the same of all."""
    if " 0x" in text:
        return text
    rows = _MODULE_ROW.findall(text)
    return "".join(f"{name} {size} {count} {users or '-'} Live 0x0\n" for name, size, count, users in rows)


def rooted(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of a machine among those of an archive, by their place below its root."""
    contents: dict[str, bytes] = {}
    tops = sorted({match["above"] for name in members if (match := _ROOTED.match(name))}, key=len)
    for name, raw in members.items():
        match = _ROOTED.match(name)
        if match and match["above"] == tops[0]:
            contents["/" + match["inside"]] = raw
        elif match := _INFINIBAND.match(name):
            contents["/sys/class/infiniband/" + match["inside"]] = raw
    return contents


def read_tree(files: Mapping[str, bytes], commands: Mapping[tuple[str, ...], str]) -> Read:
    """What files and answers tell, and nothing of what they do not hold."""
    folders: dict[str, set[str]] = {}
    for path in map(PurePosixPath, files):
        for inside in (path, *path.parents):
            if inside.name:
                folders.setdefault(str(inside.parent), set()).add(inside.name)
    kept = Recording(
        files=dict(files),
        folders={path: tuple(sorted(names)) for path, names in folders.items()},
        commands={argv: CommandOutput(code=0, out=out) for argv, out in commands.items()},
    )
    return read_of(probe(Replay(kept=kept)))


def read_of(machine: Machine) -> Read:
    """A machine as what was read of it: fields that say something."""
    bare = Machine()
    return Read(fields={
        field.name: value
        for field in fields(Machine)
        if field.name not in {"schema", "origin", "unseen"}
        and (value := getattr(machine, field.name)) != getattr(bare, field.name)
        and value != ()
    })  # fmt: skip

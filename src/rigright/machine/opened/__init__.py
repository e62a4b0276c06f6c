"""Opens whatever a person passes to `--from`, in any mix, as a machine.

A file, folder, tar, zip, gzip or standard input: saved by rigright, a tree of /proc and /sys, or tool
output. The content decides what it is, not the name. The machine records what was read and what could not
be read.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rigright.base.bounded import json_object
from rigright.base.errors import DataError
from rigright.base.files import STDIN, expanded, read_bounded, too_large
from rigright.base.words import say
from rigright.machine.bundle import open_bundle
from rigright.machine.opened.archive import MOST_BYTES, Member, of_folder, unpacked
from rigright.machine.opened.collected import is_collected, read_collected
from rigright.machine.opened.owners import machines_of
from rigright.machine.opened.pieces import Pieces
from rigright.machine.possible import possible
from rigright.machine.probe import probe
from rigright.machine.record import Machine
from rigright.machine.stored import restored
from rigright.machine.world import World

_MOST_NAMED = 8
_TREE = ("proc", "sys", "etc")
_SYSTEM = frozenset(  # folders of a system, whose files are read by their places
    {*_TREE, "bin", "boot", "commands", "dev", "home", "lib", "lib64", "media", "mnt", "opt", "root", "run"}
    | {"sbin", "srv", "tmp", "usr", "var"}
)


def open_machine(place: str | Path) -> Machine:
    """The machine that a file, a pipe, a folder, or "-" for standard input, tells of."""
    path = place if str(place) == STDIN else expanded(place)
    return (
        _folder(path)
        if isinstance(path, Path) and path.is_dir()
        else read_machine(read_bounded(path, MOST_BYTES), name=str(place))
    )


def read_machine(raw: bytes, *, name: str) -> Machine:
    """The machine that bytes tell of; `name` says in errors where they came from."""
    if len(raw) > MOST_BYTES:
        raise too_large(name, MOST_BYTES)
    return _joined(unpacked(raw, name=name), name=name)


def _folder(path: Path) -> Machine:
    """A tree of /proc and /sys, or a folder of files that each tell a part."""
    is_tree = any((path / name).is_dir() for name in _TREE)
    members = of_folder(path, without=_SYSTEM if is_tree else frozenset())
    if is_tree:
        tree = probe(World(root=path, commands=path / "commands"), origin=str(path))
        pieces = Pieces(name=str(path))
        for member in members:
            pieces.add(member, alone=False)
        if not pieces.read_as:
            return tree
        pieces.add_machine(tree, form="/proc, /sys, /etc")
        return replace(pieces.machine(), origin=str(path), unseen=tree.unseen)
    if not members:
        raise DataError(say("no readable file in {folder}", folder=path))
    return _joined(members, name=str(path))


def _joined(members: list[Member], *, name: str) -> Machine:
    """One machine of all that was handed over; alone, what we saved ourselves is read as it stands."""
    alone = len(members) == 1
    names = () if alone else machines_of(members)
    if names:
        raise DataError(
            say(
                "{file} contains files of {count} machines: {names}; give one machine at a time",
                file=name,
                count=len(names),
                names=", ".join(names[:_MOST_NAMED]),
            ),
            hint=say(
                "to check all of them, put one file or folder per machine in FOLDER: `rigright fleet "
                "doctor --from FOLDER`"
            ),
        )
    pieces = Pieces(name=name)
    for member in members:
        if member.bundle is not None:
            stored: Machine | None = open_bundle(member.bundle, name=name, is_whole=not member.is_cut)
        elif is_collected(member.raw):
            stored = read_collected(member.raw, name=member.name or name)
        else:
            stored = _stored(member, name=name)
        if stored is not None and alone:
            return possible(stored)
        if stored is not None:
            pieces.add_machine(stored, form="machine.json")
        else:
            pieces.add(member, alone=alone)
    return possible(replace(pieces.machine(), origin=name))


def _stored(member: Member, *, name: str) -> Machine | None:
    """A machine that `probe --save` wrote."""
    if member.raw.lstrip()[:1] != b"{" or b'"schema"' not in member.raw:
        return None
    value = json_object(member.raw)
    if "schema" not in value or not isinstance(value.get("devices"), list):
        return None
    return restored(Machine, {**value, "origin": name}, where=name)

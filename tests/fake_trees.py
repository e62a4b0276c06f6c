"""Grows a machine's /proc, /sys and /etc in a folder, from a dict: what a scenario's [host] says.

A host is a dict of pieces: `{"pci": {...}, "cpu": {...}, "files": {...}}`. Each piece has one small
function that writes its part of the tree; they stand in the modules of PIECES_IN. A host may begin with
`like = "server"` (a name of healthy_hosts.HOSTS) and then says only what differs: tables are laid over each
other key by key, and `false` takes a thing away:

    [host]
    like = "server"
    [host.pci."0000:19:00.0"]
    width = 8

`files` are written as they are, `links` are made, `commands` are what programs of this machine say.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from pathlib import Path

from rigright.machine.world import World, command_file

PIECES_IN = ("fake_bus", "fake_hardware", "fake_system")  # each bears PIECES: name -> write(root, told)


def grow(folder: Path, host: dict) -> Path:
    """The root of the machine's tree, below the folder."""
    whole = told(host)
    root = Path(folder) / "root"
    root.mkdir(parents=True, exist_ok=True)
    for name, piece in pieces().items():
        if whole.get(name):
            piece(root, whole[name])
    for path, text in whole.get("files", {}).items():
        if text is not False:
            write(root, path, text)
    for path, to in whole.get("links", {}).items():
        if to is not False:
            link(root, path, to)
    for path in whole.get("gone", ()):
        take_away(root / path.lstrip("/"))
    return root


def planted(folder: Path, host: dict, env: dict | None = None) -> World:
    """The machine as a recorded world: its tree, and what its commands say."""
    root = grow(folder, host)
    commands = Path(folder) / "commands"
    commands.mkdir(exist_ok=True)
    for line, said in sayings(host).items():
        code, text = (said["code"], said["out"]) if isinstance(said, dict) else (0, said)
        (commands / command_file(tuple(line.split(" ")))).write_text(f"{code}\n{text}")
    return World(root=root, env=env or {}, commands=commands)


def sayings(host: dict) -> dict:
    """What the machine's commands say: a line -> its text, or its exit code and text."""
    return here(told(host).get("commands", {}))


def told(host: dict) -> dict:
    """The host with what it is like laid under it."""
    if "like" not in host:
        return host
    from healthy_hosts import HOSTS

    return over(told(HOSTS[host["like"]]()), {key: value for key, value in host.items() if key != "like"})


def over(below: dict, above: dict) -> dict:
    """Two dicts laid over each other, key by key."""
    both = dict(below)
    for key, value in above.items():
        deep = isinstance(value, dict) and isinstance(both.get(key), dict)
        both[key] = over(both[key], value) if deep else value
    return both


def pieces() -> dict:
    """Name of a piece -> what writes it."""
    found = {}
    for module in PIECES_IN:
        if importlib.util.find_spec(module) is not None:
            found |= importlib.import_module(module).PIECES
    return found


def write(root: Path, path: str, text) -> Path:
    """One file of the tree; sysfs files end with a line break."""
    at = f"{root}/{path.lstrip('/')}"
    line = text if isinstance(text, bytes) else f"{str(text).removesuffix(chr(10))}\n".encode()
    try:
        file = open(at, "wb")  # noqa: PTH123, SIM115 tens of thousands are written
    except FileNotFoundError:
        os.makedirs(os.path.dirname(at))  # noqa: PTH103, PTH120 the same
        file = open(at, "wb")  # noqa: PTH123, SIM115 the same
    with file:
        file.write(line)
    return Path(at)


def files(root: Path, folder: str, **texts) -> None:
    """Several files of one folder; None is not written."""
    for name, text in texts.items():
        if text is not None:
            write(root, f"{folder}/{name}", text)


def link(root: Path, path: str, to: str) -> None:
    """A link of the tree; where it leads is said from the machine's root."""
    at = root / path.lstrip("/")
    at.parent.mkdir(parents=True, exist_ok=True)
    at.unlink(missing_ok=True)
    at.symlink_to("/".join([".."] * (len(Path(path.lstrip("/")).parts) - 1)) + "/" + to.lstrip("/"))


def here(things: dict) -> dict:
    """The things that were not taken away."""
    return {name: thing for name, thing in things.items() if thing is not False}


def take_away(at: Path) -> None:
    """A file or a folder, with all in it."""
    import shutil

    if at.is_dir() and not at.is_symlink():
        shutil.rmtree(at)
    else:
        at.unlink(missing_ok=True)

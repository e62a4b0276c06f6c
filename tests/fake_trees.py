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

`planted` grows it on the disk, `remembered` in memory: the same for every reader, at a tenth of the time.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from dataclasses import dataclass, field
from pathlib import Path

from rigright.machine.world import PATIENCE_S, CommandOutput, World, command_file

MOST_LINKS = 40
PIECES_IN = ("fake_bus", "fake_hardware", "fake_system")  # each bears PIECES: name -> write(root, told)


def grow(folder: Path, host: dict) -> Path:
    """The root of the machine's tree, below the folder."""
    root = Path(folder) / "root"
    root.mkdir(parents=True, exist_ok=True)
    grow_in(root, host)
    return root


def grow_in(root: Path | Tree, host: dict) -> None:
    """All of the machine, below a folder or in memory."""
    whole = told(host)
    for name, piece in pieces().items():
        if whole.get(name):
            piece(root, whole[name])
    for path, text in whole.get("files", {}).items():
        if text is not False:
            write(root, path if isinstance(root, Path) else root.real(path), text)
    for path, to in whole.get("links", {}).items():
        if to is not False:
            link(root, path, to)
    for path in whole.get("gone", ()):
        take_away(root / path.lstrip("/")) if isinstance(root, Path) else root.take_away(path)


def planted(folder: Path, host: dict, env: dict | None = None) -> World:
    """The machine as a recorded world: its tree, and what its commands say."""
    root = grow(folder, host)
    commands = Path(folder) / "commands"
    commands.mkdir(exist_ok=True)
    for line, said in sayings(host).items():
        code, text = (said["code"], said["out"]) if isinstance(said, dict) else (0, said)
        (commands / command_file(tuple(line.split(" ")))).write_text(f"{code}\n{text}")
    return World(root=root, env=env or {}, commands=commands)


def remembered(host: dict, env: dict | None = None) -> Remembered:
    """The same machine as a world in memory."""
    tree = Tree()
    grow_in(tree, host)
    said = {}
    for line, told in sayings(host).items():
        code, text = (told["code"], told["out"]) if isinstance(told, dict) else (0, told)
        said[command_file(tuple(line.split(" ")))] = CommandOutput(code=code, out=text)
    return Remembered(root=Path("/nowhere"), env=env or {}, tree=tree, said=said)


@dataclass(slots=True)
class Tree:
    """Files, folders and links by their paths from the root."""

    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    folders: dict[str, set[str]] = field(default_factory=lambda: {"/": set()})  # with what lies in them
    _real: dict[str, str] = field(default_factory=dict)

    def add_folder(self, path: str) -> None:
        while path not in self.folders:
            self.folders[path] = set()
            path = self._listed(path)

    def add_file(self, path: str, raw: bytes) -> None:
        if path not in self.files:
            self.add_folder(self._listed(path))
        self.files[path] = raw

    def add_link(self, path: str, to: str) -> None:
        self._real.clear()
        self.add_folder(self._listed(path))
        self.links[path] = to

    def _listed(self, path: str) -> str:
        """The folder it lies in, which names it from now on."""
        above, _, name = path.rpartition("/")
        self.add_folder(above or "/")
        self.folders[above or "/"].add(name)
        return above or "/"

    def take_away(self, path: str) -> None:
        path = os.path.normpath(path)
        above, _, name = path.rpartition("/")
        self.folders.get(above or "/", set()).discard(name)
        for kind in (self.files, self.links, self.folders):
            for one in [one for one in kind if one == path or one.startswith(f"{path.rstrip('/')}/")]:
                del kind[one]
        self.folders.setdefault("/", set())
        self._real.clear()

    def real(self, path: str, depth: int = 0) -> str:
        """Where a path leads, all links followed; a ring of links leads nowhere."""
        if path in self._real:
            return self._real[path]
        above, _, name = path.rpartition("/")
        found = f"{self.real(above, depth) if above else ''}/{name}"
        if found in self.links:
            found = self.real(self.links[found], depth + 1) if depth < MOST_LINKS else "/nowhere/at/all"
        self._real[path] = found
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered(World):
    """A recorded world whose tree is in memory."""

    tree: Tree
    said: dict[str, CommandOutput]

    def real(self, path: str) -> str:
        return self.tree.real(os.path.normpath("/" + path.lstrip("/")))

    def raw(self, path: str, most: int = 2**20) -> bytes | None:
        found = self.tree.files.get(self.real(path))
        return None if found is None else found[:most]

    def names(self, folder: str) -> tuple[str, ...]:
        return tuple(sorted(self.tree.folders.get(self.real(folder), ())))

    def link(self, path: str) -> str | None:
        real = self.real(path)
        return real if real in self.tree.files or real in self.tree.folders else None

    def has(self, path: str) -> bool:
        return self.link(path) is not None

    def denied(self, path: str) -> bool:  # noqa: ARG002 nothing of it is closed
        return False

    def run(self, *argv: str, patience_s: float = PATIENCE_S) -> CommandOutput | None:  # noqa: ARG002 it said it already
        return self.said.get(command_file(argv))


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


def write(root: Path | Tree, path: str, text) -> None:
    """One file of the tree; sysfs files end with a line break."""
    line = text if isinstance(text, bytes) else f"{str(text).removesuffix(chr(10))}\n".encode()
    if isinstance(root, Tree):
        root.add_file("/" + path.lstrip("/"), line)
        return
    at = f"{root}/{path.lstrip('/')}"
    try:
        file = open(at, "wb")  # noqa: PTH123, SIM115 tens of thousands are written
    except FileNotFoundError:
        os.makedirs(os.path.dirname(at))  # noqa: PTH103, PTH120 the same
        file = open(at, "wb")  # noqa: PTH123, SIM115 the same
    with file:
        file.write(line)


def folder(root: Path | Tree, path: str) -> None:
    """An empty folder of the tree."""
    if isinstance(root, Tree):
        root.add_folder("/" + path.lstrip("/"))
    else:
        (root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)


def place_of(root: Path | Tree, path: str) -> str | None:
    """Where a link of the tree leads; None where nothing is there."""
    if isinstance(root, Tree):
        found = root.real(path)
        return found if found in root.folders or found in root.files else None
    at = root / path.lstrip("/")
    return "/" + str(at.resolve().relative_to(root.resolve())) if at.exists() else None


def files(root: Path | Tree, folder: str, **texts) -> None:
    """Several files of one folder; None is not written."""
    for name, text in texts.items():
        if text is not None:
            write(root, f"{folder}/{name}", text)


def link(root: Path | Tree, path: str, to: str) -> None:
    """A link of the tree; where it leads is said from the machine's root."""
    if isinstance(root, Tree):
        root.add_link("/" + path.lstrip("/"), "/" + to.lstrip("/"))
        return
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

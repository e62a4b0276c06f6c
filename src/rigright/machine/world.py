"""The one door to the machine: its files below a root, its commands under a time limit, its variables.

A reader never opens a file or starts a program by itself, so a recorded machine reads as a live one does.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rigright.base.errors import MissingError
from rigright.base.patience import patience
from rigright.base.units import MIB
from rigright.base.words import say
from rigright.machine.ending import send

ROOT = "RIGRIGHT_ROOT"  # where another machine's files are mounted, as a DaemonSet has its host at /host
PATIENCE_S = 3.0
MOST_BYTES = 32 * MIB
ABSENT, PAST_TIME = 127, -1  # exit codes: there is no such command; it did not end in its time
MOST_NAME = 120  # characters of a recorded answer's file
_SAFE = re.compile(r"[^A-Za-z0-9._=,-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOutput:
    """What a command said."""

    code: int  # its exit code; or PAST_TIME
    out: str
    err: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A machine that can be read: this one, a tree of files, or an unpacked bundle."""

    root: Path = Path("/")
    env: Mapping[str, str] = field(default_factory=dict)
    is_live: bool = False  # drivers may be asked, and commands started
    commands: Path | None = None  # recorded answers of commands, one file each

    @property
    def is_own(self) -> bool:
        """Whether it is the very machine this runs on, so that Python's own readings speak of it."""
        return self.is_live and str(self.root) == self.root.anchor

    def text(self, path: str, most: int = MIB) -> str | None:
        """A file as text without its last line break; None where it is absent or closed to us."""
        raw = self.raw(path, most)
        return None if raw is None else raw.decode("utf-8", "replace").removesuffix("\n")

    def raw(self, path: str, most: int = MIB) -> bytes | None:
        """The first bytes of a file; None where it is absent or closed to us."""
        try:
            place = self._inside(path)
            if not (self.is_live or place.is_file()):  # a pipe in a foreign tree would be waited for
                return None
            with place.open("rb") as file:
                return file.read(most)
        except (OSError, ValueError):
            return None

    def names(self, folder: str) -> tuple[str, ...]:
        """What lies in a folder, sorted; nothing where it is absent or closed to us."""
        try:
            return tuple(sorted(path.name for path in self._inside(folder).iterdir()))
        except (OSError, ValueError):
            return ()

    def link(self, path: str) -> str | None:
        """Where a link leads, as a path below the root, every link on the way followed."""
        at = self.at(path)
        try:
            if not at.exists():
                return None
            result = at.resolve()
            return "/" + str(result.relative_to(self.root.resolve())).lstrip("/.")
        except (OSError, ValueError, RuntimeError):
            return None

    def has(self, path: str) -> bool:
        """Whether something is there."""
        with suppress(OSError, ValueError):
            return self.at(path).exists()
        return True

    def denied(self, path: str) -> bool:
        """Whether it is there and closed to us: root would see it."""
        try:
            return self.at(path).exists() and not os.access(self.at(path), os.R_OK)
        except OSError:
            return True

    def at(self, path: str) -> Path:
        """The real place of a path; nothing above the root is reached."""
        return self.root / os.path.normpath("/" + path).lstrip("/")

    def _inside(self, path: str) -> Path:
        """The place of a path; a link of a foreign tree that leads out of it, or round, is an error."""
        at = self.at(path)
        if not self.is_live:
            root, real = os.path.realpath(self.root), os.path.realpath(at)
            if os.path.commonpath((root, real)) != root:
                raise ValueError(path)
        return at

    def run(self, *argv: str, patience_s: float = PATIENCE_S) -> CommandOutput | None:
        """What a command says; None where there is no such command here."""
        if self.commands is not None:
            file = self.commands / command_file(argv)
            try:
                with file.open("rb") as open_file:
                    text = open_file.read(MOST_BYTES).decode("utf-8", "replace")
            except OSError:
                return None
            code, _, out = text.partition("\n")
            return CommandOutput(code=int(code) if code.lstrip("-").isdecimal() else 0, out=out)
        return _started(argv, self.env, patience_s=patience_s) if self.is_live else None


def here(env: Mapping[str, str] | None = None) -> World:
    """The machine this runs on."""
    if sys.platform == "emscripten":
        raise MissingError(
            say("a browser cannot see the machine it runs on"),
            hint=say("give its GPUs, such as 2x rtx 4090; or run there: {command}", command="rigright probe"),
        )
    fields = dict(os.environ if env is None else env)
    return World(root=Path(fields.get(ROOT) or "/"), env=fields, is_live=True)


def command_file(argv: tuple[str, ...]) -> str:
    """The file a bundle keeps a command's answer in: its exit code on the first line."""
    return _SAFE.sub("_", " ".join(argv))[:MOST_NAME] + ".txt"


def _started(argv: tuple[str, ...], env: Mapping[str, str], *, patience_s: float) -> CommandOutput | None:
    """Run it alone in its session, so that all of it can be ended; one that cannot be ended is left."""
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**env, "LC_ALL": "C", "LANG": "C"},
            start_new_session=True,
        )
    except (OSError, ValueError):
        return None
    try:
        out, err = process.communicate(timeout=patience(patience_s, env))
        code = process.returncode
    except subprocess.TimeoutExpired:
        send(process)
        with suppress(subprocess.TimeoutExpired, OSError, ValueError):
            process.communicate(timeout=0.2)
        out, err, code = b"", b"", -1
    return CommandOutput(code=code, out=_bounded(out), err=_bounded(err))


def _bounded(data: bytes) -> str:
    return data[:MOST_BYTES].decode("utf-8", "replace")

"""Whatever is read of a machine, written down, and a machine that answers from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from rigright.base.units import MIB
from rigright.machine.world import PATIENCE_S, CommandOutput, World


@dataclass(frozen=True, slots=True)
class Recording:
    """What was asked and what was answered; readers ask from many threads."""

    files: dict[str, bytes] = field(default_factory=dict)
    folders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    links: dict[str, str | None] = field(default_factory=dict)
    there: dict[str, bool] = field(default_factory=dict)
    closed: dict[str, bool] = field(default_factory=dict)
    commands: dict[tuple[str, ...], CommandOutput] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)


@dataclass(frozen=True, slots=True)
class _Environment(Mapping[str, str]):
    """The environment; a variable whose value is taken is kept."""

    real: Mapping[str, str]
    kept: dict[str, str]

    def __getitem__(self, name: str) -> str:
        value = self.real[name]
        self.kept[name] = value
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self.real)

    def __len__(self) -> int:
        return len(self.real)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder(World):
    """A live machine, of which every answer is kept."""

    kept: Recording

    def raw(self, path: str, most: int = MIB) -> bytes | None:
        """The first bytes of a file."""
        data = World.raw(self, path, most)
        with self.kept.lock:
            if data is not None and len(data) >= len(self.kept.files.get(path, b"")):
                self.kept.files[path] = data
        return data

    def names(self, folder: str) -> tuple[str, ...]:
        """What lies in a folder."""
        return self.kept.folders.setdefault(folder, World.names(self, folder))

    def link(self, path: str) -> str | None:
        """Where a link leads."""
        return self.kept.links.setdefault(path, World.link(self, path))

    def has(self, path: str) -> bool:
        """Whether something is there."""
        return self.kept.there.setdefault(path, World.has(self, path))

    def denied(self, path: str) -> bool:
        """Whether it is closed to us."""
        return self.kept.closed.setdefault(path, World.denied(self, path))

    def run(self, *argv: str, patience_s: float = PATIENCE_S) -> CommandOutput | None:
        """What a command says."""
        output = World.run(self, *argv, patience_s=patience_s)
        if output is not None:
            self.kept.commands[argv] = output
        return output


def recorder(world: World) -> Recorder:
    """The same machine, recorded."""
    kept = Recording()
    return Recorder(
        root=world.root,
        env=_Environment(world.env, kept.env),
        is_live=world.is_live,
        commands=world.commands,
        kept=kept,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay(World):
    """A machine that answers as it once did, and knows nothing else."""

    kept: Recording
    root: Path = Path("/nowhere")

    def raw(self, path: str, most: int = MIB) -> bytes | None:
        """The first bytes of a file."""
        data = self.kept.files.get(path)
        return None if data is None else data[:most]

    def names(self, folder: str) -> tuple[str, ...]:
        """What lay in the folder."""
        return self.kept.folders.get(folder, ())

    def link(self, path: str) -> str | None:
        """Where the link led."""
        return self.kept.links.get(path)

    def has(self, path: str) -> bool:
        """Whether something was there: what a folder lists is, and so is what can be read."""
        kept, (above, _, name) = self.kept, path.rpartition("/")
        is_known = path in kept.files or path in kept.folders or name in kept.folders.get(above or "/", ())
        return kept.there.get(path, is_known)

    def denied(self, path: str) -> bool:
        """Whether it was closed."""
        return self.kept.closed.get(path, False)

    def run(self, *argv: str, patience_s: float = PATIENCE_S) -> CommandOutput | None:  # noqa: ARG002 - it said it already
        """What the command said."""
        return self.kept.commands.get(argv)

"""What other packages add, by entry points: folders of facts, targets of `export`, checks of the doctor.

A plugin is code that the user installed, and runs with the user's rights. One that breaks is left out with a
sentence, and no answer changes. The lists of entry points beside the packages are searched for our groups,
half a millisecond for a hundred packages; `importlib.metadata` is loaded only where one of them is there.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import redirect_stdout, suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from rigright.base.errors import DataError, MissingError, RigError
from rigright.base.loader import Derived, Readers, records
from rigright.base.record import dataclass, replace
from rigright.base.words import Sentence, say

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

FACTS, TARGETS, CHECKS = "rigright.facts", "rigright.targets", "rigright.checks"
ADDED = "plugin "  # how the source of a row begins that a plugin adds
SWITCH = "RIGRIGHT_PLUGINS"
_OFF = {"0", "no", "off", "false", "none"}
_MARK, _LIST, _MOST_BYTES, _MOST_CHARS = b"[rigright.", "entry_points.txt", 1 << 18, 200
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,60}")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """One entry point of one of our groups."""

    point: EntryPoint
    package: str
    version: str

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


_LEFT_OUT: dict[str, tuple[str, Sentence]] = {}  # what does not count: its words -> plugin, words
_ADDED: dict[str, str] = {}  # an id, an instance or a model that counts -> the plugin that adds it


@cache
def plugins(group: str) -> tuple[Plugin, ...]:
    """Every plugin of a group, by package and name."""
    if os.environ.get(SWITCH, "").strip().lower() in _OFF or not any(map(_names_a_group, sys.path)):
        return ()
    from importlib.metadata import entry_points

    result = []
    for point in entry_points(group=group):
        with suppress(Exception):  # metadata that is broken names no package
            package, version = str(point.dist.metadata["Name"]), str(point.dist.version)  # type: ignore[union-attr]
            result.append(Plugin(point=point, package=package, version=version))
    return tuple(sorted(result, key=lambda plugin: (plugin.package, plugin.point.name)))


def _names_a_group(folder: str) -> bool:
    """Whether a package in a folder of Python's path has an entry point for us."""
    with suppress(OSError, ValueError), os.scandir(folder or ".") as entries:
        for entry in entries:
            if entry.name.endswith((".dist-info", ".egg-info")):
                with suppress(OSError), open(f"{entry.path}/{_LIST}", "rb") as file:  # noqa: PTH123 - at start-up
                    if _MARK in file.read(_MOST_BYTES):
                        return True
    return False


def each(group: str, what: Sentence, *, take: Callable[[Plugin], Sequence[T]]) -> Iterator[tuple[Plugin, T]]:
    """What every plugin of a group adds, as `take` reads it: all of it, or nothing and a sentence why."""
    for plugin in plugins(group):
        try:
            things = run(partial(take, plugin))
        except RigError as error:
            _leave_out(plugin, what, why=error.sentence)
        else:
            yield from ((plugin, thing) for thing in things)


def is_free(name: str, known: Container[str], *, plugin: Plugin, what: Sentence) -> bool:
    """Whether a plugin may call a thing so: in small letters, and as no other is called."""
    if not _NAME.fullmatch(name):
        _leave_out(plugin, what, why=say('"{name}" is not a valid name', name=name[:80]))
    elif name in known:
        _leave_out(plugin, what, why=say('"{name}" already exists', name=name))
    else:
        return True
    return False


def _leave_out(plugin: Plugin, what: Sentence, *, why: Sentence) -> None:
    """Keep that something of a plugin does not count."""
    sentence = say("plugin {plugin}: {why}; {what} not used", plugin=plugin, why=why, what=what)
    _LEFT_OUT.setdefault(str(sentence), (str(plugin), sentence))


def left_out() -> tuple[tuple[str, Sentence], ...]:
    """What did not count so far: package and version, and why."""
    return tuple(_LEFT_OUT.values())


@cache
def loaded(plugin: Plugin) -> Any:
    """The module, or what of it, a plugin of code names; a RigError where it cannot be had."""
    return run(plugin.point.load)


def run(call: Callable[[], T]) -> T:
    """What code of a plugin hands back, kept from standard output; a RigError whatever goes wrong in it."""
    try:
        with redirect_stdout(sys.stderr):
            return call()
    except (KeyboardInterrupt, RigError):
        raise
    except BaseException as error:  # noqa: BLE001 - a plugin that ends the program is broken, too
        why = type(error).__name__
        with suppress(Exception):  # it may not even be able to say what it is
            why = " ".join(f"{why}: {error}".split())[:_MOST_CHARS].removesuffix(": ")
        raise DataError(say("it failed: {why}", why=why)) from None


def file_of(plugin: Plugin, name: str) -> Path | None:
    """A file of the folder that a plugin of facts names, inside its package, of which nothing is run."""
    from importlib.util import find_spec

    top, *inside = plugin.point.module.split(".")
    with suppress(ImportError, ValueError, AttributeError):
        spec = find_spec(top)
        for root in (spec and spec.submodule_search_locations) or ():
            folder = Path(root, *inside)
            if folder.is_dir():
                return folder / name if (folder / name).is_file() else None
    raise MissingError(say("there is no folder {folder}", folder=plugin.point.module.replace(".", "/")))


def read_facts(
    table: str,
    kind: type[T],
    *,
    read: Readers | None = None,
    derive: Derived | None = None,
    unique: tuple[str, ...] = (),
    chips: Callable[[], Container[str]] | None = None,
) -> tuple[T, ...]:
    """The records of one of our tables, and behind them those that plugins add.

    None may have what another has in the `unique` fields, nor name a chip that is none of `chips`.
    """
    every = list(records(table, kind, read=read, derive=derive))

    def names(entries: Iterable[T]) -> list[tuple[str, str]]:
        """What each entry is called in the unique fields: by one name, or by several."""
        cells = [(field, getattr(entry, field)) for entry in entries for field in unique]
        cells = [(field, [cell] if isinstance(cell, str) else cell) for field, cell in cells]
        return [(field, name.casefold()) for field, cell in cells for name in cell]

    def take(plugin: Plugin) -> tuple[T, ...]:
        path = file_of(plugin, table)
        result = () if path is None else records(path, kind, read=read, derive=derive)
        known = set(names(every))
        for field, name in names(result):
            if (field, name) in known:
                raise DataError(
                    say('{file}: {column} "{cell}" already exists', file=table, column=field, cell=name)
                )
        for chip in (str(getattr(entry, "chip", "")) for entry in result):
            if chips is not None and chip not in chips():
                raise DataError(say('{file}: no chip is called "{cell}"', file=table, cell=chip))
        return result

    for plugin, entry in each(FACTS, say("its facts are"), take=take):
        source = "sources" if hasattr(entry, "sources") else "source"
        marked = f"{ADDED}{plugin}: {getattr(entry, source)}"
        every.append(replace(cast("Any", entry), **{source: marked}))
        adds(str(getattr(entry, "id", "") or getattr(entry, "instance", "")), plugin)
    return tuple(every)


def adds(name: str, plugin: Plugin) -> None:
    """Keep that something counts which a plugin adds, by the name that answers bear, if any."""
    if name:
        _ADDED[name] = str(plugin)


def added() -> dict[str, str]:
    """What counts so far of plugins: its name, and the plugin."""
    return dict(_ADDED)


def used(answer: str) -> Sentence | None:
    """Which plugins' facts an answer names; None: none of them."""
    groups: dict[str, list[str]] = {}
    for name, plugin in sorted(_ADDED.items()):  # whichever table was read first
        if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", answer):
            groups.setdefault(plugin, []).append(name)
    shown = "; ".join(f"{plugin}: {', '.join(names)}" for plugin, names in groups.items())
    return say("includes facts from plugin {facts}", facts=shown) if shown else None

"""What other packages add, by entry points: folders of facts, targets of `export`, checks of the doctor.

A plugin is code that the user installed, and runs with the user's rights. One that breaks is left out with a
sentence, and no answer changes. The lists of entry points beside the packages are searched for our groups,
half a millisecond for a hundred packages; `importlib.metadata` is loaded only where one of them is there.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Container
from contextlib import redirect_stdout, suppress
from functools import cache, reduce
from pathlib import Path
from typing import Any, TypeVar, cast

from rigright.base.errors import DataError, MissingError, RigError
from rigright.base.loader import Derived, Readers, records
from rigright.base.record import dataclass, replace
from rigright.base.words import Sentence, say

FACTS, TARGETS, CHECKS = "rigright.facts", "rigright.targets", "rigright.checks"
ADDED = "plugin "  # how the source of a row begins that a plugin adds
SWITCH = "RIGRIGHT_PLUGINS"
_OFF = {"0", "no", "off", "false", "none"}
_MARK, _LIST, _MOST_BYTES, _MOST_CHARS = b"[rigright.", "entry_points.txt", 1 << 18, 200
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """One entry point of one of our groups."""

    group: str
    name: str
    package: str
    version: str
    module: str
    attribute: str

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


_LEFT_OUT: dict[
    str, tuple[str, Sentence]
] = {}  # what does not count: its words -> package and version, words
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
            result.append(
                Plugin(
                    group=group,
                    name=point.name,
                    package=package,
                    version=version,
                    module=point.module,
                    attribute=point.attr or "",
                )
            )
    return tuple(sorted(result, key=lambda plugin: (plugin.package, plugin.name)))


def _names_a_group(folder: str) -> bool:
    """Whether a package in a folder of Python's path has an entry point for us."""
    with suppress(OSError, ValueError), os.scandir(folder or ".") as entries:
        for entry in entries:
            if entry.name.endswith((".dist-info", ".egg-info")):
                with suppress(OSError), open(f"{entry.path}/{_LIST}", "rb") as file:  # noqa: PTH123 - at start-up
                    if _MARK in file.read(_MOST_BYTES):
                        return True
    return False


def leave_out(plugin: Plugin, what: Sentence, *, why: object) -> None:
    """Keep that something of a plugin does not count."""
    sentence = say("plugin {plugin}: {why}; {what} not used", plugin=plugin, why=why, what=what)
    _LEFT_OUT.setdefault(str(sentence), (str(plugin), sentence))


def left_out() -> tuple[tuple[str, Sentence], ...]:
    """What did not count so far: package and version, and why."""
    return tuple(_LEFT_OUT.values())


@cache
def loaded(plugin: Plugin) -> Any:
    """The module, or what of it, a plugin of code names; a RigError where it cannot be had."""
    from importlib import import_module

    names = [text for text in plugin.attribute.split(".") if text]
    return run(lambda: reduce(getattr, names, import_module(plugin.module)))


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

    top, *inside = plugin.module.split(".")
    with suppress(ImportError, ValueError, AttributeError):
        spec = find_spec(top)
        for root in (spec and spec.submodule_search_locations) or ():
            folder = Path(root, *inside)
            if folder.is_dir():
                return folder / name if (folder / name).is_file() else None
    raise MissingError(say("there is no folder {folder}", folder=plugin.module.replace(".", "/")))


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
    every = records(table, kind, read=read, derive=derive)
    for plugin in plugins(FACTS):
        try:
            path = file_of(plugin, table)
            result = () if path is None else records(path, kind, read=read, derive=derive)
            for field in unique:
                known = {word for entry in every for word in _words(entry, field)}
                taken = next(
                    (word for entry in result for word in _words(entry, field) if word in known), None
                )
                if taken is not None:
                    raise DataError(
                        say('{file}: {column} "{cell}" already exists', file=table, column=field, cell=taken)
                    )
            named = (str(getattr(entry, "chip", "")) for entry in result if chips)
            unknown = next((chip for chip in named if chips and chip not in chips()), None)
            if unknown is not None:
                raise DataError(say('{file}: no chip is called "{cell}"', file=table, cell=unknown))
        except RigError as error:
            leave_out(plugin, say("its facts are"), why=error.sentence)
        else:
            every += tuple(_marked(entry, plugin) for entry in result)
            for item in result:
                _ADDED[str(getattr(item, "id", "") or getattr(item, "instance", ""))] = str(plugin)
    return every


def _words(record: object, field: str) -> list[str]:
    """What a field holds that no other record may have: a name, or each of several ids."""
    value = getattr(record, field)
    return [text.casefold() for text in ([value] if isinstance(value, str) else value)]


def _marked(record: T, plugin: Plugin) -> T:
    """The same, whose source names the plugin."""
    source = "sources" if hasattr(record, "sources") else "source"
    marked: T = replace(cast("Any", record), **{source: f"{ADDED}{plugin}: {getattr(record, source)}"})
    return marked


def adds(name: str, plugin: Plugin) -> None:
    """Keep that something counts which a plugin adds, by the name that answers bear."""
    _ADDED[name] = str(plugin)


def added() -> dict[str, str]:
    """What counts so far of plugins: its name, and the plugin."""
    return {name: plugin for name, plugin in _ADDED.items() if name}


def used(answer: str) -> Sentence | None:
    """Which plugins' facts an answer names; None: none of them."""
    groups: dict[str, list[str]] = {}
    for name, plugin in added().items():
        if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", answer):
            groups.setdefault(plugin, []).append(name)
    shown = "; ".join(f"{plugin}: {', '.join(names)}" for plugin, names in groups.items())
    return say("includes facts from plugin {facts}", facts=shown) if shown else None

"""What other packages add, by entry points: folders of facts, targets of `export`, checks of the doctor.

Nobody looks for them before a table, a target or a check is asked for. Then the lists of entry points beside
the packages are searched for our groups, half a millisecond for a hundred packages, and `importlib.metadata`
is loaded only where one of them is there. Code of a plugin is handed data and hands back data: while it runs,
what would change the machine is refused.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from functools import cache, reduce
from pathlib import Path
from typing import Any, TypeVar

from rigright.base.errors import DataError, MissingError, RigError
from rigright.base.record import dataclass
from rigright.base.words import Sentence, say

FACTS, TARGETS, CHECKS = "rigright.facts", "rigright.targets", "rigright.checks"
SWITCH = "RIGRIGHT_PLUGINS"
_OFF = {"0", "no", "off", "false", "none"}
_MARK, _LIST, _MOST_BYTES, _MOST_CHARS = b"[rigright.", "entry_points.txt", 1 << 18, 200
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
_CHANGES = frozenset(  # events of Python's audit, beside a file that is opened to be written
    {
        *("os.chmod", "os.chown", "os.exec", "os.fork", "os.forkpty", "os.kill", "os.killpg", "os.link"),
        *("os.mkdir", "os.posix_spawn", "os.putenv", "os.remove", "os.removexattr", "os.rename", "os.rmdir"),
        *("os.setxattr", "os.spawn", "os.startfile", "os.symlink", "os.system", "os.truncate", "os.unsetenv"),
        *("os.utime", "pty.spawn", "socket.bind", "socket.connect", "socket.getaddrinfo", "socket.sendmsg"),
        *("socket.sendto", "sqlite3.connect", "subprocess.Popen", "syslog.syslog", "signal.pthread_kill"),
    }
)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What of a plugin does not count, and why."""

    plugin: str  # package and version
    said: Sentence


_LEFT_OUT: dict[str, LeftOut] = {}
_RUNNING = threading.local()


@cache
def plugins(group: str) -> tuple[Plugin, ...]:
    """Every plugin of a group, by package and name."""
    found = [one for one in _installed() if one.group == group]
    return tuple(sorted(found, key=lambda one: (one.package, one.name)))


def leave_out(plugin: Plugin, what: Sentence, *, why: object) -> None:
    """Keep that something of a plugin does not count."""
    said = say("plugin {plugin}: {why}; {what} not used", plugin=plugin, why=why, what=what)
    _LEFT_OUT.setdefault(str(said), LeftOut(plugin=str(plugin), said=said))


def left_out() -> tuple[LeftOut, ...]:
    """What did not count so far."""
    return tuple(_LEFT_OUT.values())


@cache
def _installed() -> tuple[Plugin, ...]:
    if os.environ.get(SWITCH, "").strip().lower() in _OFF or not any(map(_names_a_group, sys.path)):
        return ()
    from importlib.metadata import entry_points

    found = []
    for group in (FACTS, TARGETS, CHECKS):
        for point in entry_points(group=group):
            with suppress(Exception):  # metadata that is broken names no package
                package = point.dist.metadata["Name"], point.dist.version  # type: ignore[union-attr]
                found.append(
                    Plugin(
                        group=group,
                        name=point.name,
                        package=str(package[0]),
                        version=str(package[1]),
                        module=point.module,
                        attribute=point.attr or "",
                    )
                )
    return tuple(found)


def _names_a_group(folder: str) -> bool:
    """Whether a package in a folder of Python's path has an entry point for us."""
    with suppress(OSError, ValueError), os.scandir(folder or ".") as entries:
        for entry in entries:
            if entry.name.endswith((".dist-info", ".egg-info")):
                with suppress(OSError), open(f"{entry.path}/{_LIST}", "rb") as file:  # noqa: PTH123 - at start-up
                    if _MARK in file.read(_MOST_BYTES):
                        return True
    return False


def folder_of(plugin: Plugin) -> Path:
    """The folder that a plugin of facts names: inside its package, of which nothing is run."""
    from importlib.util import find_spec

    top, *inside = plugin.module.split(".")
    with suppress(ImportError, ValueError, AttributeError):
        spec = find_spec(top)
        for root in (spec and spec.submodule_search_locations) or ():
            if Path(root, *inside).is_dir():
                return Path(root, *inside)
    raise MissingError(say("there is no folder {folder}", folder=plugin.module.replace(".", "/")))


@cache
def loaded(plugin: Plugin) -> Any:
    """The module, or what of it, a plugin of code names; a RigError where it cannot be had."""
    from importlib import import_module

    names = [one for one in plugin.attribute.split(".") if one]
    return run(lambda: reduce(getattr, names, import_module(plugin.module)))


def run(call: Callable[[], T]) -> T:
    """What code of a plugin hands back; a RigError whatever goes wrong in it."""
    refused: list[str] = []
    try:
        with _reading_only(refused):
            found = call()
    except RigError as error:
        if not refused:
            raise
        wrong: object = error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a plugin that ends the program is broken, too
        wrong = _named(error)
    else:
        wrong = None
    if refused:
        raise DataError(say("plugins may only read; refused: {what}", what=", ".join(dict.fromkeys(refused))))
    if wrong is not None:
        raise DataError(say("it failed: {why}", why=wrong))
    return found


def _named(error: BaseException) -> str:
    """An error of somebody's code in a line."""
    kind = type(error).__name__
    with suppress(Exception):  # it may not even be able to say what it is
        return " ".join(f"{kind}: {error}".split())[:_MOST_CHARS].removesuffix(": ")
    return kind


@contextmanager
def _reading_only(refused: list[str]) -> Iterator[None]:
    """Refuse this thread all that changes the machine, and keep it from standard output."""
    _listen()
    before, compiles = getattr(_RUNNING, "refused", None), sys.dont_write_bytecode
    _RUNNING.refused, sys.dont_write_bytecode = refused, True
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _RUNNING.refused, sys.dont_write_bytecode = before, compiles


@cache
def _listen() -> None:
    """Hear what Python is about to do, from now on."""
    sys.addaudithook(_heard)


def _heard(event: str, about: tuple[Any, ...]) -> None:
    refused = getattr(_RUNNING, "refused", None)
    if refused is None:
        return
    if event in _CHANGES or (event == "open" and isinstance(about[2], int) and about[2] & _WRITES):
        path = (
            os.fspath(about[0]) if event == "open" and isinstance(about[0], str | bytes | os.PathLike) else ""
        )
        shown = os.fsdecode(path)[:_MOST_CHARS]
        refused.append(f"{event} {shown}".strip())
        raise PermissionError(f"rigright: a plugin may only read ({event} {shown})".replace(" )", ")"))

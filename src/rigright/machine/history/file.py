"""The file of the history: where it lies, how it is opened, and what to say when it cannot be used."""

from __future__ import annotations

import os
import platform
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from rigright.base.errors import DataError, MissingError, RigError
from rigright.base.files import is_file, is_there
from rigright.base.patience import patience
from rigright.base.units import MIB
from rigright.base.words import say

HOME = "RIGRIGHT_HOME"  # a folder for what rigright keeps
NAME = "history.db"
OURS = 0x52694768  # how SQLite tells our file from others
PATIENCE_S = 2.0  # for another writer
_LOG_BYTES = 4 * MIB
_EMPTY = b"SQLite format 3\x00"
_AT_REST = "&immutable=1"

_SCHEMA = (  # each raises the version by one; never changed once released, only added to
    """
    CREATE TABLE tick (n INTEGER PRIMARY KEY, grain_s INTEGER NOT NULL, at_ms INTEGER NOT NULL,
                       row TEXT NOT NULL);
    CREATE INDEX tick_at ON tick (grain_s, at_ms);
    CREATE TABLE block (n INTEGER PRIMARY KEY, grain_s INTEGER NOT NULL, from_ms INTEGER NOT NULL,
                        until_ms INTEGER NOT NULL, span_ms INTEGER NOT NULL, rows INTEGER NOT NULL,
                        packed BLOB NOT NULL);
    CREATE INDEX block_at ON block (grain_s, n);
    CREATE TABLE result (n INTEGER PRIMARY KEY, at_s REAL NOT NULL, machine TEXT NOT NULL,
                         part TEXT NOT NULL, what TEXT NOT NULL, place TEXT NOT NULL, told TEXT NOT NULL);
    CREATE INDEX result_of ON result (machine, part, what, place);
    CREATE TABLE machine (n INTEGER PRIMARY KEY, key TEXT NOT NULL, at_s REAL NOT NULL, told BLOB NOT NULL);
    CREATE INDEX machine_of ON machine (key, n);
    CREATE TABLE event (n INTEGER PRIMARY KEY, at_s REAL NOT NULL, mark TEXT NOT NULL UNIQUE,
                        told TEXT NOT NULL);
    CREATE INDEX event_at ON event (at_s);
    """,
)


def default_path(env: Mapping[str, str] | None = None) -> Path:
    """Where the history of this machine lies; by its name, since several may share one home."""
    fields = os.environ if env is None else env
    if fields.get(HOME):
        return Path(fields[HOME]) / NAME
    variable, below = "XDG_STATE_HOME", ".local/state"
    if os.name == "nt":
        variable, below = "LOCALAPPDATA", "AppData/Local"
    elif platform.system() == "Darwin":
        variable, below = "", "Library/Application Support"
    try:
        base = Path(fields.get(variable) or Path.home() / below)
    except RuntimeError:
        raise MissingError(
            say("no home folder; set {variable} to a folder for the history", variable=HOME)
        ) from None
    host = re.sub(r"[^A-Za-z0-9._-]+", "-", platform.node()) or "here"
    return base / "rigright" / host / NAME


def opened(path: Path, *, writes: bool, patience_s: float = PATIENCE_S) -> sqlite3.Connection:
    """A connection to our file, made or brought up to date where it may be written."""
    if not writes and not is_there(path):
        raise MissingError(say("no history at {path} yet; `rigright watch` starts one", path=path))
    if is_there(path) and not is_file(path):
        raise _foreign(path)  # a pipe would be waited for
    with store_errors(path):
        connection = _connected(path, writes=writes, patience_s=patience(patience_s))
        try:
            _checked(connection, path, writes=writes)
        except BaseException:
            connection.close()
            raise
    return connection


def _connected(path: Path, *, writes: bool, patience_s: float) -> sqlite3.Connection:
    if writes:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists() and path.stat().st_size and not _is_sqlite(path):
            raise _foreign(path)
        return sqlite3.connect(path, timeout=patience_s, isolation_level=None)
    if not _is_sqlite(path):
        raise _foreign(path)
    # whether nobody writes to it, in a folder where we may not make the files that readers share
    rests = not path.with_name(f"{path.name}-wal").exists() and not os.access(path.parent, os.W_OK)
    address = f"{path.resolve().as_uri()}?mode=ro{_AT_REST if rests else ''}"
    return sqlite3.connect(address, timeout=patience_s, isolation_level=None, uri=True)


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_EMPTY)) == _EMPTY


def _foreign(path: Path) -> DataError:
    return DataError(
        say(
            "{path} is not a rigright history; move it, or set {variable} to another folder",
            path=path,
            variable=HOME,
        )
    )


def _checked(connection: sqlite3.Connection, path: Path, *, writes: bool) -> None:
    """Ours, of a version that we know; a new file is given its tables."""
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if mark != OURS and (tables or not writes):
        raise _foreign(path)
    if version > len(_SCHEMA):
        raise DataError(say("{path} was written by a newer rigright; update, or move the file", path=path))
    if writes:
        if mark != OURS:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
        if version < len(_SCHEMA):
            _raise_version(connection)


def _raise_version(connection: sqlite3.Connection) -> None:
    """Bring the tables up to date, all or nothing; another process may be at it too."""
    with whole(connection):
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        for statement in (text for step in _SCHEMA[version:] for text in step.split(";")):
            if statement.strip():
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {OURS}")
        connection.execute(f"PRAGMA user_version = {len(_SCHEMA)}")


@contextmanager
def whole(connection: sqlite3.Connection) -> Iterator[None]:
    """All that is written inside, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """What SQLite and the system say, as a sentence."""
    try:
        yield
    except sqlite3.Error as error:
        raise _trouble(error, path) from None
    except UnicodeDecodeError:  # SQLite quotes what it cannot read
        raise damaged(path) from None
    except OSError as error:
        raise MissingError(
            say("the history at {path} cannot be used: {why}", path=path, why=error.strerror or error)
        ) from None


def _trouble(error: sqlite3.Error, path: Path) -> RigError:
    name = getattr(error, "sqlite_errorname", "") or ""
    for start, sentence in _TROUBLES.items():
        if name.startswith(start):
            return sentence(path)
    return MissingError(say("the history at {path} cannot be used: {why}", path=path, why=error))


def damaged(path: Path) -> DataError:
    """Why a file that once was whole cannot be used."""
    return DataError(say("{path} is damaged; move it, and a new one is started", path=path))


def _closed(path: Path) -> MissingError:
    return MissingError(
        say(
            "cannot open or write {path}; grant permission, or set {variable} to another folder",
            path=path,
            variable=HOME,
        )
    )


_TROUBLES: dict[str, Callable[[Path], RigError]] = {
    "SQLITE_FULL": lambda path: MissingError(say("the disk of {path} is full; free some space", path=path)),
    "SQLITE_READONLY": _closed,
    "SQLITE_CANTOPEN": _closed,
    "SQLITE_PERM": _closed,
    "SQLITE_BUSY": lambda path: MissingError(
        say("{path} is locked by another program; stop it, or try again", path=path)
    ),
    "SQLITE_NOTADB": _foreign,
    "SQLITE_CORRUPT": damaged,
}

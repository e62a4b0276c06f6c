"""Files that people name: read within bounds, written all at once, and in plain words why not."""

from __future__ import annotations

import errno
import math
import os
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rigright.base.errors import AskError, DataError, MissingError, RigError
from rigright.base.units import MIB
from rigright.base.words import Sentence, say

if TYPE_CHECKING:
    from io import FileIO

STDIN = "-"  # as a file: standard input
NO_WRITER_S, NO_WRITER = 10.0, say("it is a pipe without a writer")
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
EXIT_SYSTEM = 5
_REASONS = {
    errno.EISDIR: (say("it is a folder"), say("give a file in it")),
    errno.ENOTDIR: (say("a part of its path is a file"), say("check its name and folder")),
    errno.EACCES: (
        say("no permission"),
        say("give yourself read access, or copy it to a folder of your own"),
    ),
    errno.ENAMETOOLONG: (say("its name is too long"), say("check its name and folder")),
}  # by error of the system: what it is, and what to do
_FORMULA = ("=", "+", "-", "@")  # a spreadsheet would run what begins so


def settings_folder() -> Path:
    """The user's folder of settings; without a home one that is not there, and never an error."""
    named = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("APPDATA")
    try:
        return Path(named) if named else Path.home() / ".config"
    except RuntimeError:  # no HOME, and no entry for this user
        return Path(os.devnull)


def is_file(path: Path) -> bool:
    """Whether a file that may be there is; one that nobody may look at is not."""
    return os.path.isfile(path)  # noqa: PTH113 - it never raises, where Path's own does


def is_there(path: Path) -> bool:
    """Whether anything is, as far as one may look."""
    return os.path.exists(path)  # noqa: PTH110 - the same


def expanded(text: str | Path) -> Path:
    """A path with its ~ written out, where anybody knows the home."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def no_file(file: object) -> MissingError:
    """That a file is not there, or not even its folder."""

    def hint() -> Sentence:
        folder = expanded(str(file)).parent
        if is_there(folder):
            return say("check its name and folder")
        return say("there is no folder {folder} either", folder=folder)

    return MissingError(say("no such file: {file}", file=file), hint=hint)


def unread(file: object, error: Exception) -> RigError:
    """Why a file cannot be read, and what to give in its stead."""
    if isinstance(error, FileNotFoundError):
        return no_file(file)
    why = getattr(error, "strerror", None) or error
    known = _REASONS.get(getattr(error, "errno", None) or 0)
    sentence, hint = known or (why, None)
    return DataError(say("cannot read {file}: {why}", file=file, why=sentence), hint=hint)


def called(file: str | Path) -> str:
    """What messages call a file: by its own name, without its folder."""
    return "stdin" if str(file) == STDIN else Path(file).name


def read_bounded(file: str | Path, most_bytes: int) -> bytes:
    """All of a file that may come from anywhere; one that is larger is refused."""
    try:
        raw = read_first(file, most_bytes + 1)
    except (OSError, ValueError) as error:
        raise unread(file, error) from None
    if len(raw) > most_bytes:
        raise too_large(file, most_bytes)
    return raw


def read_first(file: str | Path, count: int) -> bytes:
    """So many bytes of a file, or all it has; a pipe that nobody writes to is an OSError, not a long wait.

    "-" is standard input.
    """
    if str(file) == STDIN:
        return sys.stdin.buffer.read(count)
    path = Path(file)
    if not stat.S_ISFIFO(path.stat().st_mode):
        with path.open("rb") as opened:
            return opened.read(count)
    from select import select

    raw = bytearray()
    until = time.monotonic() + NO_WRITER_S
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:  # noqa: PTH123 - as it is
        while len(raw) < count:
            more = pipe.read(count - len(raw))
            if more:
                raw += more
            elif more is None:  # somebody writes, but not now
                until = math.inf
                select([pipe], [], [])
            elif raw or until == math.inf or _is_over(pipe):
                break
            elif time.monotonic() > until:
                raise OSError(errno.EPIPE, NO_WRITER)
            else:
                time.sleep(0.05)
    return bytes(raw)


def _is_over(pipe: FileIO) -> bool:
    """Whether its writer was there, and went."""
    from select import poll

    asked = poll()
    asked.register(pipe, 0)  # that nobody writes any more is told unasked
    return bool(asked.poll(0))


def too_large(file: str | Path, most_bytes: int) -> DataError:
    """The error of a file beyond its bounds."""
    return DataError(
        say(
            "{file} is larger than the limit of {limit} MiB",
            file="stdin" if str(file) == STDIN else file,
            limit=most_bytes // MIB,
        )
    )


def save_text(file: str | Path, text: str) -> None:
    """Write what somebody asked to keep."""
    path = Path(file)
    if path.is_dir():
        raise AskError(say("{path} is a folder; give a file in it", path=path))
    try:
        write_whole(path, text)
    except OSError as error:
        raise unwritten(file, error) from None
    except ValueError as error:
        raise AskError(say("cannot write {file}: {why}", file=file, why=error)) from None


def check_place(file: str | Path) -> None:
    """Refuse, before long work is begun, a place in which its answer could not be kept."""
    path = Path(file)
    if path.is_dir():
        raise AskError(say("{path} is a folder; give a file in it", path=path))
    if not path.absolute().parent.is_dir():
        raise MissingError(say("there is no folder {folder}", folder=path.absolute().parent))


def unwritten(file: str | Path, error: OSError) -> DataError:
    """Why a file could not be written; a full disk is the system's fault, not the file's."""
    why = DataError(say("cannot write {file}: {why}", file=file, why=error.strerror or error))
    if error.errno in FULL:
        why.exit_code = EXIT_SYSTEM
    return why


def safe_cell(text: str) -> str:
    """A cell of a table for spreadsheets, which would run what begins as a formula."""
    is_formula = text.startswith(_FORMULA) and text != "-" and not _is_number(text)
    return f"'{text}" if is_formula else text


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", ""))
    except ValueError:
        return False
    return True


def write_whole(path: Path, content: str | bytes, *, fresh: bool = False) -> None:
    """Write a file all at once: who reads it meanwhile sees the old one or the new one.

    What is no plain file, such as a device, a pipe or a link, is written to and never replaced. A fresh file
    is for its owner alone, and what is there already stays: FileExistsError.
    """
    raw = content.encode() if isinstance(content, str) else content
    if fresh and (path.exists() or path.is_symlink()):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_bytes(raw)
        return
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_bytes(raw)
        if fresh:
            part.chmod(0o600)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)

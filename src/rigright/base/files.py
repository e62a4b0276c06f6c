"""Files that people name: read within bounds, written all at once, and in plain words why not."""

from __future__ import annotations

import os
from pathlib import Path

from rigright.base.errors import AskError, DataError, MissingError
from rigright.base.units import MIB
from rigright.base.words import say


def read_bounded(file: str | Path, most_bytes: int) -> bytes:
    """All of a file that may come from anywhere; one that is larger is refused."""
    try:
        with Path(file).open("rb") as opened:
            raw = opened.read(most_bytes + 1)
    except FileNotFoundError:
        raise MissingError(say("there is no file {file}", file=file)) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise DataError(say("cannot read {file}: {why}", file=file, why=why)) from None
    if len(raw) > most_bytes:
        raise too_large(file, most_bytes)
    return raw


def too_large(file: str | Path, most_bytes: int) -> DataError:
    """The error of a file beyond its bounds."""
    return DataError(say("{file} is larger than it may be ({limit} MiB)", file=file, limit=most_bytes // MIB))


def save_text(file: str | Path, text: str) -> None:
    """Write what somebody asked to keep."""
    path = Path(file)
    if path.is_dir():
        raise AskError(say("{path} is a folder; name a file in it", path=path))
    try:
        write_whole(path, text)
    except OSError as error:
        raise unwritten(file, error) from None


def check_place(file: str | Path) -> None:
    """Refuse, before long work is begun, a place in which its answer could not be kept."""
    path = Path(file)
    if path.is_dir():
        raise AskError(say("{path} is a folder; name a file in it", path=path))
    if not path.absolute().parent.is_dir():
        raise MissingError(say("there is no folder {folder}", folder=path.absolute().parent))


def unwritten(file: str | Path, error: OSError) -> DataError:
    """Why a file could not be written."""
    return DataError(say("cannot write {file}: {why}", file=file, why=error.strerror or error))


def write_whole(path: Path, text: str) -> None:
    """Write a file all at once: who reads it meanwhile sees the old one or the new one.

    What is no plain file, such as a device, a pipe or a link, is written to and never replaced.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_text(text, encoding="utf-8", newline="")
        return
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_text(text, encoding="utf-8", newline="")
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)

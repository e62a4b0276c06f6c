"""The machine as a record: this one, or the one that a file tells of."""

from __future__ import annotations

import json
from pathlib import Path

from rigright import __version__
from rigright.base.errors import AskError, DataError
from rigright.base.tables import write_whole
from rigright.base.words import say
from rigright.machine.bundle.write import Bundled, write_bundle
from rigright.machine.opened import open_machine
from rigright.machine.probe import probe as read_all
from rigright.machine.record import Machine
from rigright.machine.stored import plain
from rigright.machine.world import here


def probe(from_file: str | None = None) -> Machine:
    """What is in the machine; or of a file: a saved one, a bundle, `nvidia-smi -q -x`, a tree of /sys."""
    return read_all(here()) if from_file is None else open_machine(from_file)


def save(machine: Machine, file: str) -> None:
    """Write it down whole, to be opened again with `--from`."""
    _write(file, json.dumps(plain(machine), ensure_ascii=False, indent=1) + "\n")


def bundle(file: str) -> Bundled:
    """Read this machine, and keep all that was read, without what is private, for others to examine."""
    path = Path(file)
    if path.is_dir():
        raise AskError(say("{path} is a folder; name a file in it", path=path))
    try:
        return write_bundle(here(), path, version=__version__)
    except OSError as error:
        raise DataError(say("cannot write {file}: {why}", file=file, why=error.strerror or error)) from None


def _write(file: str, text: str) -> None:
    path = Path(file)
    if path.is_dir():
        raise AskError(say("{path} is a folder; name a file in it", path=path))
    try:
        write_whole(path, text)
    except OSError as error:
        raise DataError(say("cannot write {file}: {why}", file=file, why=error.strerror or error)) from None

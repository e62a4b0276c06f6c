"""The machine as a record: this one, or the one that a file tells of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from rigright import __version__
from rigright.base.errors import AskError
from rigright.base.files import save_text, unwritten
from rigright.base.words import say
from rigright.machine.probe import probe as read_all
from rigright.machine.record import Machine
from rigright.machine.world import here

if TYPE_CHECKING:
    from rigright.machine.bundle import Bundled


def probe(from_file: str | None = None) -> Machine:
    """What is in the machine; or of a file: a saved one, a bundle, `nvidia-smi -q -x`, a tree of /sys."""
    if from_file is None:
        return read_all(here())
    from rigright.machine.opened import open_machine

    return open_machine(from_file)


def save(machine: Machine, file: str) -> None:
    """Write it down whole, to be opened again with `--from`."""
    from rigright.machine.stored import plain

    save_text(file, json.dumps(plain(machine), ensure_ascii=False, indent=1) + "\n")


def bundle(file: str) -> Bundled:
    """Read this machine, and keep all that was read, without what is private, for others to examine."""
    from rigright.machine.bundle import write_bundle

    path = Path(file)
    if path.is_dir():
        raise AskError(say("{path} is a folder; give a file in it", path=path))
    try:
        return write_bundle(here(), path, version=__version__)
    except OSError as error:
        raise unwritten(file, error) from None

"""The machine as a record: this one, or one that a file tells of; and its last benchmarks in the history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from rigright import __version__
from rigright.base.errors import AskError, RigError
from rigright.base.files import save_text, unwritten
from rigright.base.words import say
from rigright.machine.bench.record import Result
from rigright.machine.history.store import machine_key, open_history
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


_LEAST_BETWEEN_S = 600.0  # two readings: less is no rate


def results_of(machine: Machine, file: str | None = None) -> tuple[Result, ...]:
    """The newest figure of each benchmark in the history; of a file, those of a benchmark's log in it."""
    try:
        if file is None:
            with open_history(writes=False) as history:
                return history.last_results(machine)
        from rigright.base.files import STDIN
        from rigright.machine.opened.pieces import BENCHMARK

        if BENCHMARK in machine.read_as and file != STDIN:
            from rigright.verbs.bench.record import read_results

            return read_results(file).results
    except (RigError, OSError):
        pass
    return ()


def before_of(machine: Machine) -> Machine | None:
    """The machine as it was last read since its start, and long enough ago for a rate."""
    now_s, up_s = machine.system.now_s, machine.system.up_s
    if now_s is None:
        return None
    try:
        with open_history(writes=False) as history:
            seen = history.machines(None if up_s is None else now_s - up_s, now_s - _LEAST_BETWEEN_S)
    except (RigError, OSError):
        return None
    key = machine_key(machine)
    return next((seen_machine.machine for seen_machine in reversed(seen) if seen_machine.key == key), None)

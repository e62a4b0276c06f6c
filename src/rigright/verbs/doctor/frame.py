"""Reads the machine, runs every check over it, and writes the fixes out for a person to read."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.doctor.examine import Examined, case_of, chosen, examine
from rigright.machine.bench.record import Result
from rigright.machine.probe import probe
from rigright.machine.record import Machine
from rigright.machine.world import here
from rigright.verbs.doctor.wanted import wanted_of


def doctor(from_file: str | None = None, *, only: tuple[str, ...] = (), plan: str | None = None) -> Examined:
    """Examine this machine, or the one a file tells of; `plan` is what it shall run."""
    start = time.perf_counter()
    chosen(only)  # a wrong name is told before the machine is read
    wanted = None if plan is None else wanted_of(plan)
    machine = _machine(from_file)
    case = case_of(machine, results=_results(machine), wanted=wanted)
    return replace(examine(case, only), seconds=time.perf_counter() - start)


def _machine(from_file: str | None) -> Machine:
    if from_file is None:
        return probe(here())
    raise AskError(say("{file}: only this machine can be examined yet", file=from_file))


def _results(_machine: Machine) -> tuple[Result, ...]:
    """The last benchmarks of this machine, where its history holds some."""
    return ()


def write_script(path: str, text: str) -> None:
    """Write the script of fixes; a file that is there is left as it is."""
    try:
        with Path(path).open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise AskError(
            say("{file} is there already; name another file, or remove it first", file=path)
        ) from None
    if hasattr(os, "chmod"):
        Path(path).chmod(0o600)

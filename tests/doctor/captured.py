"""What real machines said, opened once for all tests of a process."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rigright.base.errors import RigError
from rigright.doctor.examine import Examined, case_of, examine
from rigright.machine.opened import open_machine
from rigright.machine.record import Machine


@cache
def captured(file: Path) -> Machine | None:
    """The machine of a capture; None where it is of none."""
    try:
        return open_machine(file)
    except RigError:
        return None


@cache
def examined(file: Path) -> Examined | None:
    """What the doctor says of it."""
    machine = captured(file)
    return None if machine is None else examine(case_of(machine))


def captures(shared: Path) -> list[Path]:
    """Every file of them that may be a machine's."""
    return [one for one in sorted((shared / "captures").rglob("*")) if one.is_file() and one.suffix != ".md"]

"""Reads the machine, runs every check over it, and writes the fixes out for a person to read."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from rigright.base.errors import AskError
from rigright.base.files import unwritten, write_whole
from rigright.base.words import say
from rigright.doctor.baseline import load
from rigright.doctor.examine import Examined, case_of, chosen, examine
from rigright.verbs.doctor.wanted import wanted_of, with_servers
from rigright.verbs.last_results import before_of, results_of
from rigright.verbs.probe import probe


def doctor(
    from_file: str | None = None,
    *,
    only: tuple[str, ...] = (),
    plan: str | None = None,
    baseline: str | None = None,
    before: str | None = None,
) -> Examined:
    """Examine this machine, or the one a file tells of; `plan` is what it shall run.

    `before` is an earlier reading of it, for what is judged by how fast it grows.
    """
    start = time.perf_counter()
    chosen(only)  # a wrong name is told before the machine is read
    wanted = None if plan is None else wanted_of(plan)
    expected = load(baseline)
    machine = probe(from_file)
    is_here = from_file is None
    if is_here and plan is not None and wanted is not None:
        wanted = with_servers(wanted, plan)
    earlier = probe(before) if before is not None else before_of(machine) if is_here else None
    case = case_of(
        machine,
        results=results_of(machine) if is_here else (),
        wanted=wanted,
        baseline=expected,
        before=earlier,
    )
    return replace(examine(case, only), seconds=time.perf_counter() - start)


def write_script(path: str, text: str) -> None:
    """Write the script of fixes; a file that is there is left as it is."""
    try:
        write_whole(Path(path), text, fresh=True)
    except FileExistsError:
        raise AskError(
            say("{file} already exists; use another file, or remove it first", file=path)
        ) from None
    except OSError as error:
        raise unwritten(path, error) from None

"""All parts one after another, within the time there is; what was measured so far is never lost."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path

from rigright.base.errors import MissingError
from rigright.base.patience import patience
from rigright.base.words import say
from rigright.machine.bench.child import GRACE_S, BenchChild
from rigright.machine.bench.environment import chosen, environment, names, torch_python, usable_cpus
from rigright.machine.bench.record import BenchRequest, BenchWish, Result, Skipped
from rigright.machine.bench.table import PARTS, has_numpy
from rigright.machine.bench.tasks import Deadline
from rigright.machine.record import Machine

BUDGET_S, QUICK_BUDGET_S = 600.0, 19.0
_QUICK_GRACE_S = 8.0  # so that a quick run ends within half a minute on a busy machine too
LEAST_S = 0.5  # what a part is given however late it is
_PREFIX = ".rigright-bench-"

Progress = Callable[[str, tuple[int, int]], None]  # part, how many are done and how many there are


def measured(
    parts: Sequence[str],
    wish: BenchWish,
    *,
    machine: Machine,
    env: Mapping[str, str],
    progress: Progress,
    began_s: float | None = None,
) -> Iterator[Result | Skipped]:
    """Run the parts; each gets its share of the time that is left since we began."""
    hurried = wish.quick and wish.budget_s is None  # then each part has its least, however slow the start was
    began_s = time.monotonic() if began_s is None else began_s
    until = Deadline(began_s + (wish.budget_s or (QUICK_BUDGET_S if hurried else BUDGET_S)))
    end = Deadline(until.at_s + patience(_QUICK_GRACE_S if hurried else GRACE_S))
    rows = [PARTS[name] for name in parts]
    elsewhere = {"torch"} if has_numpy() else {"torch", "numpy"}  # what another Python may have
    abroad = {part for part in rows if part.prefers_torch or elsewhere & set(part.needs)}
    python = torch_python(wish.python, machine, env=env) if abroad else None
    cpus = len(usable_cpus())
    own = environment(env, chosen(wish.devices, machine), machine=machine, cpus=cpus)
    rows.sort(key=lambda part: hurried and part in abroad)  # PyTorch is slow to load
    children = {path: BenchChild(path, own) for path in {sys.executable, python or sys.executable}}
    with scratch(wish.disk, needed=any("folder" in part.needs for part in rows)) as (folder, shown):
        try:
            for index, part in enumerate(rows):
                progress(part.name, (index, len(rows)))
                share = part.share / sum(other.share for other in rows[index:])
                ask = BenchRequest(
                    **{field.name: getattr(wish, field.name) for field in fields(wish)},
                    part=part.name,
                    spare_s=max(LEAST_S, until.left_s() * share),
                    names=names(own, machine),
                    cpus=cpus,
                    folder=folder,
                    shown_folder=shown,
                )
                why = part.missing(ask, torch_python=python)
                if why is None and (end if hurried else until).is_over():
                    why = say("time ran out before it started")
                if why is not None:
                    yield Skipped(part=part.name, why=why)
                    continue
                other = python if part in abroad else None
                yield from children[other or sys.executable].run(ask, end)
            progress("", (len(rows), len(rows)))
        finally:
            for child in children.values():
                child.close()


@contextmanager
def scratch(disk: str | None, *, needed: bool) -> Iterator[tuple[str | None, str | None]]:
    """An own folder on the disk that was named (else where we stand), and its parent; gone at the end."""
    if not needed:
        yield None, None
        return
    shown = disk or str(Path.cwd())
    folder = _made(shown, must=disk is not None)
    try:
        yield folder, shown if folder is not None else None
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _made(parent: str, *, must: bool) -> str | None:
    """A fresh folder; one that was asked for and cannot be made is an error."""
    try:
        return tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
    except OSError as error:
        if must:
            raise MissingError(
                say("cannot write to {folder}: {why}", folder=parent, why=error.strerror or error)
            ) from None
    with suppress(OSError, RuntimeError):
        return tempfile.mkdtemp(prefix=_PREFIX, dir=Path.home())
    return None

"""All parts one after another, within the time there is; what was measured so far is never lost."""

from __future__ import annotations

import difflib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rigright.base import shelf
from rigright.base.errors import AskError, MissingError
from rigright.base.patience import patience
from rigright.base.words import Sentence, say
from rigright.machine.bench.ask import BenchRequest, Deadline, Meeting, SentLoad
from rigright.machine.bench.cards import chosen, environment, names
from rigright.machine.bench.child import GRACE_S, BenchChild
from rigright.machine.bench.needs import has_numpy, missing
from rigright.machine.bench.pythons import torch_python
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.record import Machine

PARTS = "rigright.machine.bench.parts"
BUDGET_S, QUICK_BUDGET_S = 600.0, 19.0
QUICK_GRACE_S = 8.0  # so that a quick run ends within half a minute on a busy machine too
LEAST_S = 0.5  # what a part is given however late it is
GROUPS = ("cards", "processor", "disk", "network")
PREFIX = ".rigright-bench-"

Progress = Callable[[str, tuple[int, int]], None]  # part, how many are done and how many there are


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchWish:
    """What the user wants measured, and with what."""

    quick: bool = False
    budget_s: float | None = None
    devices: str | None = None  # "0,2"
    python: str | None = None  # that has PyTorch
    disk: str | None = None  # a folder on the disk to measure
    peer: str | None = None
    endpoint: str | None = None
    model: str | None = None
    load: SentLoad | None = None  # that the endpoint is asked
    meeting: Meeting | None = None  # with other nodes


def known() -> dict[str, Sentence]:
    """Every part and what it measures: cards first, then the processor, disks and the network."""
    titles = shelf.load(PARTS, "TITLE")
    return {name: titles[name] for name in sorted(titles, key=lambda name: (group_of(name), name))}


def group_of(name: str) -> int:
    """Where a part's group stands in the order."""
    return GROUPS.index(shelf.take(PARTS, name, bears="GROUP"))


def pick(wanted: Sequence[str], wish: BenchWish) -> tuple[str, ...]:
    """The parts asked for, in the order of the shelf; all without a wish."""
    there = known()
    asked = [word.strip() for text in wanted for word in text.split(",") if word.strip()]
    if asked:
        meant = {_named(word, there) for word in asked}
        return tuple(name for name in there if name in meant)
    left = {"endpoint": wish.endpoint, "nodes": wish.meeting}
    return tuple(name for name in there if name not in left or left[name] is not None)


def _named(word: str, there: Iterable[str]) -> str:
    """The part that is meant: "data-loader", "DataLoader" and "data_loader" are one."""
    plain = {_plain(name): name for name in there}
    if _plain(word) not in plain:
        near = difflib.get_close_matches(_plain(word)[:40], plain, n=2) or plain
        known = ", ".join(plain[text] for text in near)
        raise AskError(say('unknown part "{name}"; known: {known}', name=word, known=known))
    return plain[_plain(word)]


def _plain(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "")


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
    end = Deadline(until.at_s + patience(QUICK_GRACE_S if hurried else GRACE_S))
    elsewhere = {"torch"} if has_numpy() else {"torch", "numpy"}  # what another Python may have
    asked = any(_wanted(parts, need) for need in elsewhere)
    python = torch_python(wish.python, machine, env=env) if asked else None
    cpus = _usable_cpus()
    own = environment(env, chosen(wish.devices, machine), machine=machine, cpus=cpus)
    parts = sorted(parts, key=lambda name: hurried and _wanted([name], "torch"))  # PyTorch is slow to load
    shares = {name: float(shelf.take(PARTS, name, bears="SHARE")) for name in parts}
    children = {path: BenchChild(path, own) for path in {sys.executable, python or sys.executable}}
    with scratch(wish.disk, needed=_wanted(parts, "folder")) as (folder, shown):
        try:
            for index, name in enumerate(parts):
                progress(name, (index, len(parts)))
                part_share = shares[name] / sum(shares[other] for other in parts[index:])
                ask = BenchRequest(
                    part=name,
                    spare_s=max(LEAST_S, until.left_s() * part_share),
                    quick=wish.quick,
                    names=names(own, machine),
                    cpus=cpus,
                    folder=folder,
                    shown_folder=shown,
                    peer=wish.peer,
                    endpoint=wish.endpoint,
                    model=wish.model,
                    load=wish.load,
                    is_timed=wish.budget_s is not None,
                    meeting=wish.meeting,
                )
                needs = shelf.take(PARTS, name, bears="NEEDS")
                why = missing(needs, ask, torch_python=python)
                if why is None and (end if hurried else until).is_over():
                    why = say("time ran out before it started")
                if why is not None:
                    yield Skipped(part=name, why=why)
                    continue
                other = python if elsewhere & set(needs) else None
                yield from children[other or sys.executable].run(ask, end)
            progress("", (len(parts), len(parts)))
        finally:
            for child in children.values():
                child.close()


def _wanted(parts: Sequence[str], need: str) -> bool:
    return any(need in shelf.take(PARTS, name, bears="NEEDS") for name in parts)


def _usable_cpus() -> int:
    """Threads this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
        return tempfile.mkdtemp(prefix=PREFIX, dir=parent)
    except OSError as error:
        if must:
            raise MissingError(
                say("cannot write to {folder}: {why}", folder=parent, why=error.strerror or error)
            ) from None
    with suppress(OSError, RuntimeError):
        return tempfile.mkdtemp(prefix=PREFIX, dir=Path.home())
    return None

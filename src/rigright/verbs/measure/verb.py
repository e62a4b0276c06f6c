"""Runs a command untouched and follows what it takes: memory, work, power, disks, cores."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rigright.base.errors import AskError, RigError
from rigright.base.patience import patience
from rigright.base.units import show_seconds
from rigright.base.words import Sentence, say
from rigright.machine import command as run
from rigright.machine.sampling.driver import WAIT_S
from rigright.machine.sampling.sampler import Sampler
from rigright.machine.world import here
from rigright.verbs.measure.ticks import Measured, TickLog

if TYPE_CHECKING:
    from rigright.verbs.runs.planned import PlannedRun

EVERY_S = 0.2
_LEAST_EVERY_S = 0.02
_GRACE_S = 0.1  # for the driver to wake before the command is started; a slower one wakes beside it
_LATE_S = 0.5  # behind the start: a first look at the cards that is worth a word
_LAST_PATIENCE_S = 2.0  # for the sampler's last word, when the command has ended


def measure(
    command: Sequence[str],
    *,
    every_s: float = EVERY_S,
    plan: str | None = None,
    steps: float | None = None,
    tokens: float | None = None,
    save_as: str | None = None,
) -> Measured:
    """What a command took; its streams, signals and exit code are its own."""
    if not command:
        raise AskError(say('no command given; add it after "--": -- python train.py'))
    if every_s < _LEAST_EVERY_S:
        raise AskError(say("--every {time} s is too short; the minimum is 0.02 s", time=f"{every_s:g}"))
    ticks = Sampler(here())
    try:
        ticks.wake()
        planned = _asked(plan, save_as)
        book = TickLog(ticks.tick(_GRACE_S))
        began_s, at_s = time.monotonic(), time.time()
        with run.started(command) as process:
            ended = _followed(process, book, ticks=ticks, every_s=every_s, since_s=began_s)
    finally:
        ticks.close()
    used = book.used()
    names = {device.index: device.name or "" for device in book.before.devices}
    measured = Measured(
        command=tuple(command),
        exit_code=ended.exit_code,
        by_signal=ended.by_signal,
        at_s=at_s,
        lasted_s=ended.lasted_s,
        samples=book.samples,
        every_s=every_s,
        courses=book.courses(used),
        gpu_peak_bytes=tuple((index, book.added_bytes(index)) for index in used),
        host_peak_bytes=max(book.host_peak_bytes, ended.largest_bytes or 0.0) or None,
        cpu_s=ended.cpu_s,
        read_bytes=book.read_bytes,
        written_bytes=book.written_bytes,
        energy_j=book.joules(used),
        working_w=book.working_w(used),
        slowed_s=book.slowed(),
        chips=tuple(names.get(index, "") for index in used),
        first_look_s=max(0.0, book.before.clock_s - began_s) if book.before.devices else None,
        steps=steps,
        tokens=tokens,
    )
    measured = replace(measured, notes=tuple(_notes(measured, book)))
    if planned is not None:
        from rigright.verbs.measure.saved import beside_plan  # laws, for those with a plan only

        measured = beside_plan(measured, planned)
    return measured if save_as is None else _kept(measured, save_as, planned=planned)


def _notes(measured: Measured, book: TickLog) -> Iterator[Sentence]:
    """What one must know before one believes it."""
    if book.before.devices and not measured.chips:
        yield say("the command did not use a GPU")
    late_s = measured.first_look_s or 0.0
    if late_s > _LATE_S and measured.chips:
        yield say(
            "GPUs were first seen {time} after the start: earlier energy, and memory without a "
            "process, are not counted",
            time=show_seconds(late_s),
        )
    elif any((tick.busy_share or 0.0) > 0.1 for tick in book.before.devices):
        yield say("a GPU was busy before the command started: results include that load")
    if measured.lasted_s < 10 * measured.every_s:
        yield say("short run with few samples; use a shorter --every")


def _asked(plan: str | None, save_as: str | None) -> PlannedRun | None:
    """The plan to hold it against; what could not be saved afterwards is refused now."""
    if plan is None and save_as is None:
        return None
    from rigright.verbs.measure.saved import check
    from rigright.verbs.runs.planned import read_plan

    planned = None if plan is None else read_plan(plan)
    if save_as is not None:
        check(save_as, planned=planned)
    return planned


def _followed(
    process: subprocess.Popen[bytes], book: TickLog, *, ticks: Sampler, every_s: float, since_s: float
) -> run.Ended:
    """Sample beside the command until it ends; a sampler that stalls does not hold it up."""
    ticks.follow(process.pid)
    stop = threading.Event()
    beside = threading.Thread(target=_sample, args=(book, ticks), kwargs={"stop": stop, "every_s": every_s})
    beside.daemon = True
    beside.start()
    try:
        return run.wait(process, since_s=since_s)
    finally:
        stop.set()
        beside.join(patience(_LAST_PATIENCE_S))


def _sample(book: TickLog, ticks: Sampler, *, stop: threading.Event, every_s: float) -> None:
    due_s = time.monotonic()
    while not stop.is_set():
        try:
            book.take(ticks.tick(WAIT_S if book.before.devices else min(every_s, WAIT_S)))
        except (RigError, OSError):
            continue  # a moment that cannot be read is a gap
        finally:
            due_s = max(due_s + every_s, time.monotonic())
            stop.wait(due_s - time.monotonic())


def _kept(measured: Measured, file: str, *, planned: PlannedRun | None) -> Measured:
    """Save it; what cannot be saved is still told."""
    from rigright.verbs.measure.saved import save

    try:
        save(measured, file, planned=planned)
    except RigError as error:
        return replace(measured, notes=(*measured.notes, say("not saved: {why}", why=error.sentence)))
    except OSError as error:
        why = error.strerror or str(error)
        return replace(measured, notes=(*measured.notes, say("not saved: {why}", why=why)))
    return measured

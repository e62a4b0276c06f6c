"""Runs a command untouched and follows what it takes: memory, work, power, disks, cores."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from rigright.base.errors import AskError, RigError
from rigright.base.words import Sentence, say
from rigright.machine import command as run
from rigright.machine.sampling.sampler import Sampler
from rigright.machine.world import here
from rigright.report.measured import Measured
from rigright.verbs.measure.book import Book
from rigright.verbs.measure.planned import Planned, hold, read_plan
from rigright.verbs.measure.saved import check, save

EVERY_S = 0.2
LEAST_EVERY_S = 0.02
FIRST_PATIENCE_S = 3.0  # for the driver to wake before the command is started
LAST_PATIENCE_S = 2.0  # for the sampler's last word, when the command has ended


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
        raise AskError(say('nothing is to be run; write the command behind "--": -- python train.py'))
    if every_s < LEAST_EVERY_S:
        raise AskError(say("every {time} s is too often; 0.02 s is the least", time=f"{every_s:g}"))
    planned = None if plan is None else read_plan(plan)
    if save_as is not None:
        check(save_as, planned=planned)
    ticks = Sampler(here())
    try:
        book = Book(ticks.tick(FIRST_PATIENCE_S))
        began_s, at_s = time.monotonic(), time.time()
        before_s, before_bytes = _children()
        with run.started(command) as process:
            ended = _followed(process, book, ticks=ticks, every_s=every_s, since_s=began_s)
        cpu_s, largest_bytes = _children()
    finally:
        ticks.close()
    if largest_bytes is not None and largest_bytes > (before_bytes or 0.0):  # else it was another child's
        book.host_peak_bytes = max(book.host_peak_bytes, largest_bytes)
    spent_s = None if cpu_s is None or before_s is None else cpu_s - before_s
    told = _told(book, ended, command=command, at_s=at_s, every_s=every_s)
    measured = _held(replace(told, cpu_s=spent_s, steps=steps, tokens=tokens), planned)
    return measured if save_as is None else _kept(measured, save_as, planned=planned)


def _followed(
    process: subprocess.Popen[bytes], book: Book, *, ticks: Sampler, every_s: float, since_s: float
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
        beside.join(LAST_PATIENCE_S)


def _sample(book: Book, ticks: Sampler, *, stop: threading.Event, every_s: float) -> None:
    due_s = time.monotonic()
    while not stop.is_set():
        try:
            book.take(ticks.tick())
        except (RigError, OSError):
            continue  # a moment that cannot be read is a gap
        finally:
            due_s = max(due_s + every_s, time.monotonic())
            stop.wait(due_s - time.monotonic())


def _children() -> tuple[float | None, float | None]:
    """Seconds of CPU that ended children took, and the largest of them in bytes."""
    try:
        import resource
    except ImportError:  # no such count on Windows
        return None, None
    import sys

    from rigright.base.units import KIB

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    unit = 1 if sys.platform == "darwin" else KIB
    return used.ru_utime + used.ru_stime, used.ru_maxrss * unit


def _told(book: Book, ended: run.Ended, *, command: Sequence[str], at_s: float, every_s: float) -> Measured:
    used = book.used()
    names = {device.index: device.name or "" for device in book.before.devices}
    return Measured(
        command=tuple(command),
        exit_code=ended.exit_code,
        by_signal=ended.by_signal,
        at_s=at_s,
        lasted_s=ended.lasted_s,
        samples=book.samples,
        every_s=every_s,
        courses=book.courses(used),
        gpu_peak_bytes=tuple((index, book.added_bytes(index)) for index in used),
        host_peak_bytes=book.host_peak_bytes or None,
        cpu_s=None,
        read_bytes=book.read_bytes,
        written_bytes=book.written_bytes,
        energy_j=book.joules(used),
        slowed_s=book.slowed(),
        chips=tuple(names.get(index, "") for index in used),
        notes=_notes(book, used, lasted_s=ended.lasted_s, every_s=every_s),
    )


def _notes(book: Book, used: tuple[int, ...], *, lasted_s: float, every_s: float) -> tuple[Sentence, ...]:
    notes = []
    if book.before.devices and not used:
        notes.append(say("the command used none of the accelerators"))
    if any((one.busy_share or 0.0) > 0.1 for one in book.before.devices):
        notes.append(say("an accelerator was busy before the command started: figures hold both"))
    if lasted_s < 10 * every_s:
        notes.append(say("it ran for few samples; a shorter --every sees more"))
    return tuple(notes)


def _kept(measured: Measured, file: str, *, planned: Planned | None) -> Measured:
    """Save it; what cannot be saved is still told."""
    try:
        save(measured, file, planned=planned)
    except RigError as error:
        return replace(measured, notes=(*measured.notes, say("not saved: {why}", why=error.sentence)))
    except OSError as error:
        why = error.strerror or str(error)
        return replace(measured, notes=(*measured.notes, say("not saved: {why}", why=why)))
    return measured


def _held(measured: Measured, planned: Planned | None) -> Measured:
    return measured if planned is None else replace(measured, held=hold(measured, planned))

"""The figures of a part, and the one runner that measures them within their time.

A part that is a list of tasks hands it to `measure`: each task gets its share of what is left, one that fails
costs itself alone, and those that time ran out for are named. `rate`, `taken` and `spread` make a result of
repeats: the median, with the least and the most beside it.
"""

from __future__ import annotations

import math
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rigright.base.errors import DataError, RigError
from rigright.base.words import say
from rigright.machine.bench.record import Result, Settings, Skipped

if TYPE_CHECKING:  # not in Python 3.10
    from typing import Self

_FEWEST, _MOST = 3, 200  # repeats
_STICKY = ("CUDA error", "HIP error", "AcceleratorError", "device-side assert")


@dataclass(frozen=True, slots=True, order=True)
class Deadline:
    """A moment by which something should be done."""

    at_s: float

    @classmethod
    def of(cls, spare_s: float) -> Self:
        """So many seconds from now."""
        return cls(time.monotonic() + spare_s)

    def left_s(self) -> float:
        """Seconds until then, never below zero."""
        return max(0.0, self.at_s - time.monotonic())

    def is_over(self) -> bool:
        """Whether it has passed."""
        return self.left_s() <= 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One figure of a part, or several that are measured together."""

    what: str
    on: str
    run: Callable[[float], Iterable[Result]]  # within so many seconds; what has no name bears the task's
    most_s: float = math.inf
    least_s: float = 0.0  # with less time left it is not begun
    always: bool = False  # it takes a moment: measured however late it is


def measure(tasks: Sequence[Task], until: Deadline) -> Iterator[Result | Skipped]:
    """One task after another until then."""
    late: list[str] = []
    for index, task in enumerate(tasks):
        left_s = until.left_s()
        if not task.always and left_s <= task.least_s:
            late.append(task.what)
            continue
        try:
            for result in task.run(min(task.most_s, left_s / (len(tasks) - index))):
                yield replace(result, what=result.what or task.what, on=result.on or task.on)
        except RigError as error:
            yield Skipped(part="", why=error.sentence)
        except Exception as error:
            if is_sticky(error):
                raise
            why = say("{what} on {on}: {why}", what=task.what, on=task.on, why=brief(error))
            yield Skipped(part="", why=why)
    if late:
        yield too_late(*late)


def too_late(*whats: str) -> Skipped:
    """What time ran out for."""
    return Skipped(part="", why=say("time ran out before {what}", what=", ".join(dict.fromkeys(whats))))


def is_sticky(error: BaseException) -> bool:
    """Whether the card itself failed, so that nothing more can be asked in this process."""
    return any(word in f"{type(error).__name__}: {error}" for word in _STICKY)


def brief(error: BaseException) -> str:
    """An error on one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    first = (str(error).strip().splitlines() or [""])[0][:200]
    return f"{type(error).__name__}: {first}".rstrip(": ")


def rate(
    what: str = "", *, work: float, times_s: Sequence[float], unit: str, on: str = "", settings: Settings = ()
) -> Result:
    """So much work (operations, bytes, items) in each of these times."""
    values = [work / time_s for time_s in times_s]
    result = spread(what, on=on, values=values, unit=unit, settings=settings)
    return replace(result, value=work / statistics.median(times_s))


def taken(what: str = "", *, times_s: Sequence[float], on: str = "", settings: Settings = ()) -> Result:
    """How long it takes."""
    return spread(what, on=on, values=times_s, unit="s", settings=settings)


def spread(
    what: str = "", *, values: Sequence[float], unit: str, on: str = "", settings: Settings = ()
) -> Result:
    """A figure measured several times."""
    return Result(
        part="",
        what=what,
        on=on,
        value=statistics.median(values),
        unit=unit,
        low=min(values),
        high=max(values),
        repeats=len(values),
        settings=settings,
        at_s=time.time(),
    )


def timed(
    once: Callable[[], object], until: Deadline, *, fewest: int = _FEWEST, most: int = _MOST
) -> list[float]:
    """Run it again and again; at least so often, however late it is."""
    times: list[float] = []
    while len(times) < fewest or (len(times) < most and not until.is_over()):
        times.append(once_s(once))
    return times


def once_s(once: Callable[[], object]) -> float:
    """Seconds of one run."""
    began = time.perf_counter()
    once()
    return max(time.perf_counter() - began, 1e-9)


def fitting_bytes(free: float | None, *, most: int, least: int, times: int) -> int | None:
    """The most, halved until so many of it fit into what is free; None: not even the least does."""
    size = most
    while free is not None and size * times > free and size >= least:
        size //= 2
    return size if size >= least else None


def program_output(command: Sequence[str], *, patience_s: float) -> str:
    """What another program prints; its last word where it fails."""
    name = command[0]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=patience_s, check=False)
    except subprocess.TimeoutExpired:
        raise DataError(too_late(name).why) from None
    except OSError as error:
        raise DataError(say("{what} failed: {why}", what=name, why=brief(error))) from None
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        why = lines[-1][:200] if lines else done.returncode
        raise DataError(say("{what} failed: {why}", what=name, why=why))
    return done.stdout


def program_results(
    command: Sequence[str], read: Callable[[str], list[Result]], *, patience_s: float
) -> list[Result]:
    """The figures in what another program prints; none of them is an error."""
    results = read(program_output(command, patience_s=patience_s))
    if not results:
        raise DataError(say("cannot read the output of {what}", what=command[0]))
    return results

"""From repeated times to a result: the median, with the least and the most beside it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

from rigright.machine.bench.ask import Deadline
from rigright.machine.bench.record import Result

Settings = tuple[tuple[str, str], ...]
FEWEST, MOST = 3, 200  # repeats


def rate(
    what: str, *, on: str, work: float, times_s: Sequence[float], unit: str, settings: Settings = ()
) -> Result:
    """So much work (operations, bytes, items) in each of these times."""
    return Result(
        part="",
        what=what,
        on=on,
        value=work / statistics.median(times_s),
        unit=unit,
        low=work / max(times_s),
        high=work / min(times_s),
        repeats=len(times_s),
        settings=settings,
        at_s=time.time(),
    )


def taken(what: str, *, on: str, times_s: Sequence[float], settings: Settings = ()) -> Result:
    """How long it takes."""
    return spread(what, on=on, values=times_s, unit="s", settings=settings)


def spread(what: str, *, on: str, values: Sequence[float], unit: str, settings: Settings = ()) -> Result:
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
    once: Callable[[], object], until: Deadline, *, fewest: int = FEWEST, most: int = MOST
) -> list[float]:
    """Run it again and again; at least so often, however late it is."""
    times: list[float] = []
    while len(times) < fewest or (len(times) < most and not until.is_over()):
        began = time.perf_counter()
        once()
        times.append(max(time.perf_counter() - began, 1e-9))
    return times

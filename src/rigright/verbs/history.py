"""`history`: what `watch` and `bench` recorded: readings, benchmarks, machines, events.

Columns of a time are plain lists: of an hour they are done before numpy is loaded, and of a day as fast.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, groupby, pairwise
from operator import mul
from pathlib import Path
from typing import cast, get_args

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.machine.history.columns import AT, PEAK
from rigright.machine.history.store import Columns, History, open_history
from rigright.machine.tick import Tick, card_parts
from rigright.verbs.watch.record import CardSpan, Figures, Of, Past, Span

_Numbers = Sequence[float | None]
_KINDS: tuple[Of, ...] = get_args(Of)
MOST_ROWS = 3600  # moments of a sheet, unless more are asked for
_BINS = 120  # stretches of a picture
_GAP = 3.0  # usual steps, beyond which nobody looked
_LEAST_GAP_S = 5.0
_OF_CARD = ("busy_share", "mem_used_bytes", "power_w", "gpu_c", "mem_c", "sm_hz")
_OF_HOST = (
    *("cpu_share", "mem_used_bytes", "disk_read_bytes_per_s", "disk_write_bytes_per_s"),
    *("net_rx_bytes_per_s", "net_tx_bytes_per_s"),
)
_MORE = ("mem_total_bytes", "power_limit_w", "energy_j", "slowed_by", "state", "name", "uuid")
_WANTED = {*_OF_CARD, *_OF_HOST, *_MORE}
_QUIET = {"idle"}


def history(
    of: Of = "ticks",
    *,
    since_s: float | None = None,
    until_s: float | None = None,
    file: str | None = None,
    every_s: float | None = None,
) -> Past:
    """What was kept since a time (seconds since 1970), until another; `every_s` asks for the moments too."""
    if of not in _KINDS:
        raise AskError(say('--of "{of}": choose {kinds}', of=of, kinds=", ".join(_KINDS)))
    to_s = time.time() if since_s is not None and until_s is None else until_s  # clocks may have run ahead
    with open_history(None if file is None else Path(file), writes=False) as kept:
        return Past(
            of=of,
            path=str(kept.path),
            since_s=since_s,
            until_s=until_s,
            span=_span(kept, since_s, until_s=to_s) if of == "ticks" else None,
            moments=_moments(kept, since_s, until_s=to_s, every_s=every_s) if of == "ticks" else (),
            results=kept.results(since_s) if of == "bench" else (),
            machines=kept.machines(since_s, to_s) if of == "machines" else (),
            events=kept.events(since_s, to_s) if of == "events" else (),
        )


def ago(back_s: float) -> float:
    """A time so long ago, in seconds since 1970."""
    return time.time() - back_s


def _moments(
    kept: History, since_s: float | None, *, until_s: float | None, every_s: float | None
) -> tuple[Tick, ...]:
    if every_s is None:
        return ()
    # moments at least so far from each other; none is made up
    ticks = kept.ticks(since_s, until_s)
    spaced: list[Tick] = []
    last_s: float | None = None
    for tick in ticks:
        if last_s is None or not 0 <= tick.at_s - last_s < every_s * 0.99:
            last_s = tick.at_s
            spaced.append(tick)
    return tuple(spaced)


# columns of the history over one time, and what is told of each


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """All columns over one time, and for how long each row stands."""

    at_s: Sequence[float]
    stands_s: Sequence[float]
    numbers: Mapping[str, _Numbers]  # None where nothing was read
    words: Mapping[str, Sequence[str | None]]
    bins: list[tuple[int, slice]] = field(init=False)  # stretches of the picture, each with its rows

    def __post_init__(self) -> None:
        # equal stretches of the whole time; rows that lie in one, as far as they follow each other
        low, high = min(self.at_s, default=0.0), max(self.at_s, default=0.0)
        count = min(_BINS, len(self.at_s))
        per_s = count / max(high - low, 1e-9)
        pairs, start = [], 0
        for place, rows in groupby(min(int((at - low) * per_s), count - 1) for at in self.at_s):
            stop = start + sum(1 for _ in rows)
            pairs.append((place, slice(start, stop)))
            start = stop
        object.__setattr__(self, "bins", pairs)

    @property
    def seen_s(self) -> float:
        """Time for which there are rows."""
        return sum(self.stands_s)


def series(stretches: Iterable[Columns]) -> Series:
    """Stretches one after another, in the order of their time."""
    parts = sorted(stretches, key=lambda row: float(row[AT][0] or 0))
    times = [[float(at or 0) for at in part[AT]] for part in parts]
    columns = {name: _joined(name, parts) for name in dict.fromkeys(name for part in parts for name in part)}
    worded = {name for name, column in columns.items() if str in set(map(type, column))}
    return Series(
        at_s=[at for part in times for at in part],
        stands_s=[stands for part in times for stands in _stands(part)],
        numbers={
            name: cast("_Numbers", column)
            for name, column in columns.items()
            if name not in worded and name != AT
        },
        words={
            name: [value if isinstance(value, str) else None for value in columns[name]] for name in worded
        },
    )


def _joined(name: str, parts: Iterable[Columns]) -> list[float | str | None]:
    """One column through all stretches."""
    return [value for part in parts for value in part.get(name) or [None] * len(part[AT])]


def _stands(at_s: Sequence[float]) -> list[float]:
    """How long each row stands for: until the next, unless nobody looked for long, or the clock was set."""
    if len(at_s) < 2:
        return [1.0] * len(at_s)
    steps = [after - before for before, after in pairwise(at_s)]
    ordered = sorted(map(abs, steps))
    usual = ((ordered[len(ordered) // 2] + ordered[(len(ordered) - 1) // 2]) / 2) or 1.0
    most = max(_GAP * usual, _LEAST_GAP_S)
    return [*(step if 0 < step <= most else usual for step in steps), usual]


def figures(series: Series, column: str) -> Figures | None:
    """Mean, percentile, extremes and picture of one column; None where nothing was read."""
    values = series.numbers.get(column, ())
    # how long each value stood; kept values have steps, so that these are few
    times: dict[float, float] = defaultdict(float)
    for value, stood_s in zip(values, series.stands_s, strict=False):
        if value is not None:
            times[value] += stood_s
    if not times:
        return None
    peaks = [item for item in series.numbers.get(column + PEAK, ()) if item is not None]
    # means of equal stretches of the whole time; None where nobody looked
    seen: dict[int, list[float]] = {}
    for place, rows in series.bins:  # a clock that was set comes to one of them twice
        seen.setdefault(place, []).extend(value for value in values[rows] if value is not None)
    means = (seen.get(place) for place in range(max(seen) + 1))
    return Figures(
        column=column,
        mean=sum(map(mul, times.keys(), times.values())) / sum(times.values()),
        p95=_p95(times),
        most=max(*times, *peaks) if peaks else max(times),
        least=min(times),
        last=next(value for value in reversed(values) if value is not None),
        values=tuple(sum(mean) / len(mean) if mean else None for mean in means),
    )


def _p95(times: Mapping[float, float]) -> float:
    """The value that was not exceeded for 95 % of the time."""
    bound, passed = 0.95 * sum(times.values()), 0.0
    for value in sorted(times):
        passed += times[value]
        if passed >= bound:
            break
    return value


def energy_j(series: Series, card: str) -> float | None:
    """What a card drew: by its own counter, or its power over the time."""
    counter = [value for value in series.numbers.get(f"{card}.energy_j", ()) if value is not None]
    if len(counter) > 1:  # one that began anew loses one step
        return sum(max(after - before, 0.0) for before, after in pairwise(counter))
    power = series.numbers.get(f"{card}.power_w", ())
    drawn = [
        watts * stood_s for watts, stood_s in zip(power, series.stands_s, strict=False) if watts is not None
    ]
    return sum(drawn) if drawn else None


# the machine over a time: each card's figures, energy, brakes and absences; the host's


def _span(history: History, since_s: float | None, *, until_s: float | None) -> Span:
    """What the history holds of a time."""
    stretches = history.columns(
        since_s, until_s, wanted=lambda name: name.rpartition(".")[2].removesuffix(">") in _WANTED
    )
    result = series(stretches)
    names = {*result.numbers, *result.words}
    cards = sorted({name.partition(".")[0] for name in names} - {"host"}, key=card_parts)
    return Span(
        path=str(Path(history.path)),
        since_s=min(result.at_s, default=since_s),
        until_s=max(result.at_s, default=until_s),
        n_moments=len(result.at_s),
        seen_s=result.seen_s,
        cards=tuple(_card(result, card) for card in cards),
        host=_figures(result, "host", names=_OF_HOST),
    )


def _card(series: Series, card: str) -> CardSpan:
    states = series.words.get(f"{card}.state", ())
    ok = [state == "ok" for state in states]
    flags = [state is not None for state in states]
    here_s, told_s = (sum(compress(series.stands_s, which)) for which in (ok, flags))
    # how long each reason held a card back; of thinned rows at most so long
    sums: dict[str, float] = defaultdict(float)
    for words, stands_s in zip(series.words.get(f"{card}.slowed_by", ()), series.stands_s, strict=False):
        for reason in (words or "").split(","):
            if reason and reason not in _QUIET:
                sums[reason] += stands_s
    return CardSpan(
        card=card,
        name=_last(series, f"{card}.name"),
        uuid=_last(series, f"{card}.uuid"),
        figures=_figures(series, card, names=_OF_CARD),
        energy_j=energy_j(series, card),
        seen_s=here_s,
        away_s=told_s - here_s,
        slowed_s=tuple(sorted(sums.items(), key=lambda pair: -pair[1])),
    )


def _figures(series: Series, front: str, *, names: tuple[str, ...]) -> tuple[Figures, ...]:
    given = (figures(series, f"{front}.{name}") for name in names)
    return tuple(item for item in given if item is not None)


def _last(series: Series, column: str) -> str | None:
    return next((word for word in reversed(series.words.get(column, ())) if word), None)

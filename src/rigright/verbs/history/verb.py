"""The verb itself: opens the history and picks what was asked for."""

from __future__ import annotations

import time
from pathlib import Path

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.machine.history.store import History, open_history
from rigright.machine.tick import Tick
from rigright.verbs.history.spans import span_of
from rigright.verbs.watch.watched import Of, Past

KINDS: tuple[Of, ...] = ("ticks", "bench", "machines", "events")
MOST_ROWS = 3600  # moments of a sheet, unless more are asked for


def history(
    of: Of = "ticks",
    *,
    since_s: float | None = None,
    until_s: float | None = None,
    file: str | None = None,
    every_s: float | None = None,
) -> Past:
    """What was kept since a time (seconds since 1970), until another; `every_s` asks for the moments too."""
    if of not in KINDS:
        raise AskError(say('--of "{of}": choose {kinds}', of=of, kinds=", ".join(KINDS)))
    to_s = time.time() if since_s is not None and until_s is None else until_s  # clocks may have run ahead
    with open_history(None if file is None else Path(file), writes=False) as kept:
        return Past(
            of=of,
            path=str(kept.path),
            since_s=since_s,
            until_s=until_s,
            span=span_of(kept, since_s, until_s=to_s) if of == "ticks" else None,
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

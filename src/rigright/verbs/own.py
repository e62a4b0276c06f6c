"""The user's own prices and runs, in force for an answer; and the day that prices are judged by."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime

from rigright.base.errors import AskError
from rigright.base.words import Sentence, say
from rigright.facts.anchors import use as use_runs
from rigright.facts.own_prices import kept, listed
from rigright.facts.own_prices import use as put

NAMED = "RIGRIGHT_TODAY"


def today() -> date:
    """The day, in UTC; a fixed one makes answers that mean the same next year."""
    named = os.environ.get(NAMED)
    if not named:
        return datetime.now(UTC).date()
    try:
        return date.fromisoformat(named)
    except ValueError:
        raise AskError(
            say('{name} is "{text}"; use a date such as 2026-11-21', name=NAMED, text=named)
        ) from None


__all__ = ["sentence", "use", "use_runs"]


@contextmanager
def use(file: str | None = None) -> Iterator[None]:
    """Put both in force; what `file` says of a chip goes before what was kept."""
    with put(kept(), *listed(file, today=today())):
        yield


def sentence(used: Iterable[str]) -> Sentence | None:
    """What to say where own runs moved a figure."""
    names = sorted(used)
    if not names:
        return None
    return say("calibrated to your own runs ({names}); --anchors none turns it off", names="; ".join(names))

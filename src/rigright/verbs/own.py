"""The user's own prices and runs, in force while a question is answered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rigright.base.words import Sentence, say
from rigright.facts.anchors import use as use_runs
from rigright.facts.own_prices import kept, listed
from rigright.facts.own_prices import use as put
from rigright.verbs.clock import today

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

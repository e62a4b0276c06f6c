"""The user's own prices in force while a question is answered: those kept, and a list that is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rigright.facts.own_prices import kept, listed
from rigright.facts.own_prices import use as put
from rigright.verbs.clock import today


@contextmanager
def use(file: str | None = None) -> Iterator[None]:
    """Put both in force; what `file` says of a chip goes before what was kept."""
    with put(kept(), *listed(file, today=today())):
        yield

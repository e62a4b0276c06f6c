"""Terms as they were fitted on runs, a table a subject; and runs of the user's own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from rigright.facts.anchors import Anchor, anchors, told
from rigright.facts.corrections import corrections


def fitted(subject: str, tables: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """The terms of a subject; `tables`: others than ours."""
    return corrections(subject) if tables is None else tables


def own_runs(subject: str, *, engines: Collection[str]) -> tuple[Anchor, ...]:
    """Own runs of engines, "" for those of any."""
    return tuple(one for one in anchors() if one.subject == subject and one.engine in engines)


def noted(own: Iterable[Anchor], *, chips: Collection[str]) -> tuple[Anchor, ...]:
    """Those of chips, "" for any; it is noted that they move a figure, so that the answer says so."""
    mine = tuple(one for one in own if one.chip in chips)
    for first in {(one.figure, one.chip): one for one in reversed(mine)}.values():
        told(first)
    return mine

"""The user's own runs, as far as they tell of an engine on a chip."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from rigright.facts.anchors import Anchor, anchors, told


def own_runs(subject: str, *, engines: Collection[str]) -> tuple[Anchor, ...]:
    """Own runs of engines, "" for those of any."""
    return tuple(one for one in anchors() if one.subject == subject and one.engine in engines)


def noted(own: Iterable[Anchor], *, chips: Collection[str]) -> tuple[Anchor, ...]:
    """Those of chips, "" for any; it is noted that they move a figure, so that the answer says so."""
    mine = tuple(one for one in own if one.chip in chips)
    for first in {(one.figure, one.chip): one for one in reversed(mine)}.values():
        told(first)
    return mine

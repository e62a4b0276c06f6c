"""Own runs, as `calibrate --from` kept them, taken into account while a question is answered."""

from __future__ import annotations

from collections.abc import Iterable

from rigright.base.words import Sentence, say
from rigright.facts.anchors import use

__all__ = ["sentence", "use"]


def sentence(used: Iterable[str]) -> Sentence | None:
    """What to say where own runs moved a figure."""
    names = sorted(used)
    if not names:
        return None
    return say("calibrated to your own runs ({names}); --anchors none turns it off", names="; ".join(names))

from __future__ import annotations

from rigright.base.words import say
from rigright.machine.bench.figures import taken

TITLE = say("done")
GROUP = "cards"
NEEDS = ()
SHARE = 1.0


def run(_ask):
    yield taken("before", on="cpu", times_s=[1.0])
    raise ValueError("first line\nsecond line")

from __future__ import annotations

from rigright.base.words import say
from rigright.machine.bench.figures import taken
from rigright.machine.bench.record import Skipped

TITLE = say("done")
GROUP = "cards"
NEEDS = ()
SHARE = 1.0


def run(_ask):
    yield taken("a", on="cpu", times_s=[1.0, 2.0, 3.0])
    yield Skipped(part="", why=say("only one GPU"))

from __future__ import annotations

import os
import sys

from rigright.base.words import say
from rigright.machine.bench.figures import taken

TITLE = say("done")
GROUP = "cards"
NEEDS = ()
SHARE = 1.0


def run(_ask):
    yield taken("before", on="cpu", times_s=[1.0])
    sys.stderr.write("the driver is gone\n")
    sys.stderr.flush()
    os._exit(7)

from __future__ import annotations

import json
import sys

from rigright.base.words import say
from rigright.machine.bench.figures import taken

TITLE = say("done")
GROUP = "cards"
NEEDS = ()
SHARE = 1.0


def run(_ask):
    sys.stdout.write("a library that prints" + "\n")
    sys.stdout.write(json.dumps({"result": {"part": "forged"}}) + "\n")
    yield taken("a", on="cpu", times_s=[1.0])

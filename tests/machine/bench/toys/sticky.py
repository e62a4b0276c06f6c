from __future__ import annotations

from rigright.base.words import say

TITLE = say("done")
GROUP = "cards"
NEEDS = ()
SHARE = 1.0


def run(_ask):
    raise RuntimeError("CUDA error: an illegal memory access was encountered")
    yield

"""Whether the cards a plan exchanges over are the ones that lie nearest to each other.

Only with `doctor --for PLAN` where cards exchange at every layer. A pair under one switch (PIX, PXB) is
nearer than one under one processor (PHB, NODE), and that nearer than across processors (SYS). Engines take
the first cards; where another group of as many lies nearer, they should be told to take it: note with the
very variable, a warning where the first cards span processors and others would not.

Source: nvidia-smi topo -m; NCCL's order of paths.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice

from rigright.base.words import say
from rigright.doctor.gpus import answering
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step

TITLE = say("cards that exchange lie near each other")
ORDER = ("NV", "C2C", "PIX", "PXB", "PHB", "NODE", "SYS")
MOST_GROUPS = 20_000

Group = tuple[int, ...]


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the plan."""
    wanted = case.wanted
    indexes = sorted(device.index for device, _ in answering(case))
    if wanted is None or not 2 <= wanted.tp <= len(indexes) or not case.machine.paths:
        return
    ranks = {frozenset((path.a, path.b)): _rank(path.kind) for path in case.machine.paths}

    def worst(group: Group) -> int:
        return max(ranks.get(frozenset(pair), len(ORDER) - 1) for pair in combinations(group, 2))

    first: Group = tuple(indexes[: wanted.tp])
    best = min(islice(combinations(indexes, wanted.tp), MOST_GROUPS), key=worst)
    if worst(best) < worst(first):
        ways = (ORDER[worst(first)], ORDER[worst(best)])
        chosen = ",".join(map(str, best))
        yield Finding(
            severity="warning" if ways[0] == "SYS" else "note",
            title=say("other cards lie nearer to each other than the first {count}", count=len(first)),
            evidence=seen(
                say(
                    "cards {first} reach each other over {far}, cards {best} over {near}",
                    first=",".join(map(str, first)),
                    best=chosen,
                    far=ways[0],
                    near=ways[1],
                ),
                "nvidia-smi topo -m",
            ),
            why=say("the plan exchanges at every layer; each step waits for the farthest pair"),
            fix=(
                step(
                    say("let the engine see the nearer cards"),
                    f"export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES={chosen}",
                ),
            ),
        )
    else:
        yield Fine(
            says=say(
                "the first {count} are as near as any: {kind}", count=wanted.tp, kind=ORDER[worst(first)]
            )
        )


def _rank(kind: str) -> int:
    return next((rank for rank, start in enumerate(ORDER) if kind.startswith(start)), len(ORDER) - 1)

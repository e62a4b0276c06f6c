"""What it costs to start a kernel: handing it over, waiting for one, and one of many in a recorded graph.

Small models are bound by this and by the processor's speed, not by the card.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from rigright.base.words import say
from rigright.machine.bench.accelerator import Accelerator, accelerators
from rigright.machine.bench.ask import BenchRequest, Deadline
from rigright.machine.bench.figures import taken, timed
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.bench.torched import pytorch

TITLE = say("kernel launch overhead")
GROUP = "cards"
NEEDS = ("torch", "accelerator")
SHARE = 0.5

COUNT, GRAPH_COUNT, REPEATS = 500, 200, 10


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """On each card: handed over, waited for, replayed."""
    torch = pytorch()

    cards = accelerators(ask)
    until = Deadline.of(ask.spare_s)
    for index, card in enumerate(cards):
        share = Deadline.of(until.left_s() / (len(cards) - index))
        thing = torch.zeros(1, device=card.device)

        def once(thing: Any = thing) -> None:
            thing.add_(1)

        card.batch_s(once, REPEATS)
        settings = (("kernel", "add 1 to one number"),)
        # seconds of the processor for each, while the card works behind it
        values: list[float] = []
        while len(values) < REPEATS and not (values and share.is_over()):
            card.wait()
            began = time.perf_counter()
            for _ in range(COUNT):
                once()
            values.append((time.perf_counter() - began) / COUNT)
        card.wait()
        yield taken("hand over", on=card.on, times_s=values, settings=settings)
        times = timed(partial(card.batch_s, once, 1), share, fewest=REPEATS, most=COUNT)
        yield taken("hand over and wait", on=card.on, times_s=times, settings=settings)
        if card.kind == "cuda":
            yield taken("in a graph", on=card.on, times_s=_replayed(card, once), settings=settings)


def _replayed(card: Accelerator, once: Callable[[], object]) -> list[float]:
    """Seconds of one kernel of a graph."""
    torch = pytorch()

    with torch.cuda.device(card.index):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(GRAPH_COUNT):
                once()
        card.batch_s(graph.replay, 3)
        return [card.batch_s(graph.replay, 5) / 5 / GRAPH_COUNT for _ in range(REPEATS)]

"""Whether each card's memory gives back what was written to it.

Nearly all that is free is filled, all of it before any is read again: each word holds its own place, so that
a line of address that is stuck shows, and then the opposite of that, so that every bit was on and off. Error
correction hides what it can mend; its counters are looked at by the doctor afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rigright.base.units import GIB, MIB
from rigright.base.words import say
from rigright.machine.bench.accelerator import Accelerator, accelerators
from rigright.machine.bench.ask import BenchRequest
from rigright.machine.bench.figures import spread
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.bench.torched import pytorch

TITLE = say("GPU memory test: write, read back, compare")
GROUP = "cards"
NEEDS = ("torch", "accelerator")
SHARE = 1.0

FILLED = 0.85  # of the free memory
CHUNK, SMALLEST = GIB, 16 * MIB
WORD = 8  # bytes
MASKS = (0, -1)  # each word's own place, and the opposite of it


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """One card after another."""
    if ask.quick:
        yield Skipped(part="", why=say("takes too long for a quick run"))
        return
    for card in accelerators(ask):
        free = card.free_bytes() or 2 * CHUNK
        size = CHUNK
        while size * 4 > free and size >= SMALLEST:
            size //= 2
        if size < SMALLEST:
            yield Skipped(part="", why=say("{on} has too little free memory", on=card.on))
            continue
        count = int(FILLED * free) // size - 2  # two more are needed to compare
        wrong = sum(_wrong(card, mask, count=count, words=size // WORD) for mask in MASKS)
        yield spread(
            "kept what was written",
            on=card.on,
            values=[count * size / free],
            unit="ratio",
            settings=(("wrong", str(wrong)), ("counted", "of the free memory")),
        )  # fmt: skip


def _wrong(card: Accelerator, mask: int, *, count: int, words: int) -> int:
    """How many words differ from what was written."""
    torch = pytorch()

    def written(index: int, into: Any) -> Any:
        torch.arange(index * words, (index + 1) * words, out=into)
        return into.bitwise_xor_(mask)

    chunks = [torch.empty(words, dtype=torch.int64, device=card.device) for _ in range(count)]
    for index, chunk in enumerate(chunks):
        written(index, chunk)
    card.wait()
    right = torch.empty(words, dtype=torch.int64, device=card.device)
    values = [(chunk != written(index, right)).sum() for index, chunk in enumerate(chunks)]
    return sum(int(value.item()) for value in values)

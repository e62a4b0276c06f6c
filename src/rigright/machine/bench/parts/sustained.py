"""All cards at once under full load for a while: what each still computes once it is warm, against its start.

A single short measurement meets a cold card alone. Here heat, the power supply and the power limit have their
say: a card that loses a tenth is held back by one of them, and `watch` shows by which.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from threading import Barrier, Thread

from rigright.base.words import say
from rigright.machine.bench.accelerator import Accelerator, accelerators
from rigright.machine.bench.ask import Ask, Deadline
from rigright.machine.bench.figures import rate, spread
from rigright.machine.bench.parts.gemm import can, multiplication
from rigright.machine.bench.record import Result, Skipped

TITLE = say("all cards at once under full load, once they are warm")
GROUP = "cards"
NEEDS = ("torch", "accelerator")
SHARE = 3.0

SIDE = 4096
LONGEST_S, SHORTEST_S = 60.0, 5.0
PIECE_S = 0.5  # one figure for each such stretch
EDGE = 5  # stretches at the start and at the end that are held against each other


def run(ask: Ask) -> Iterator[Result | Skipped]:
    """Every card in a thread of its own, from a common start."""
    if ask.quick:
        yield Skipped(part="", why=say("cards do not get warm in a quick run"))
        return
    cards = accelerators(ask)
    lasts_s = min(LONGEST_S, max(SHORTEST_S, ask.spare_s * 0.8))
    found: dict[int, list[float]] = {card.index: [] for card in cards}
    start = Barrier(len(cards))
    threads = [
        Thread(target=_loaded, args=(card, start), kwargs={"found": found[card.index], "lasts_s": lasts_s})
        for card in cards
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for card in cards:
        times = found[card.index]
        if len(times) < 2:
            yield Skipped(part="", why=say("{on} stopped under load", on=card.on))
            continue
        yield from told(card, times, lasts_s=lasts_s)


def told(card: Accelerator, times_s: list[float], *, lasts_s: float) -> Iterator[Result]:
    """What the card computes at the end, and how much of its start that is."""
    edge = min(EDGE, len(times_s) // 2)
    first, last = times_s[:edge], times_s[-edge:]
    name = format_of(card)
    words = (("shape", f"{SIDE}x{SIDE}x{SIDE}"), ("data", "random"), ("lasted", f"{lasts_s:.0f} s"))
    yield rate(
        f"{name}, warm", on=card.on, work=2.0 * SIDE**3, times_s=last, unit="flops_per_s", settings=words
    )
    kept = (sum(first) / len(first)) / (sum(last) / len(last))
    yield spread("kept of the start", on=card.on, values=[kept], unit="ratio", settings=words)


def format_of(card: Accelerator) -> str:
    """The 16-bit format that it has hardware for."""
    return "bf16" if can("bf16", card) else "fp16"


def _loaded(card: Accelerator, start: Barrier, *, found: list[float], lasts_s: float) -> None:
    """Seconds of one multiplication in each stretch."""
    try:
        once = multiplication(format_of(card), card.device, sizes=(SIDE, SIDE, SIDE))
        single = max(card.batch_s(once, 3) / 3, 1e-6)
        count = max(1, round(PIECE_S / single))
        start.wait(30.0)
        until = Deadline.of(lasts_s)
        while not until.is_over():
            began = time.perf_counter()
            card.batch_s(once, count)
            found.append((time.perf_counter() - began) / count)
    except Exception:  # noqa: BLE001 - a card that fails under load is told by its missing figures
        start.abort()

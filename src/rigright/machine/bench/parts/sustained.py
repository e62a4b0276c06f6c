"""All cards at once under full load: what each still computes once it is warm, and whether it is right.

A single short measurement meets a cold card alone. Here heat, the power supply and the power limit have their
say: a card that loses a tenth is held back by one of them, and `watch` shows by which. Every card multiplies
the same two matrices over and over. Between two timed stretches some products are compared with its first
one, value by value: a sound card gives the same bits each time. That first one is told as a short sum, so
that cards can be compared with each other too: one that is always wrong in the same way agrees with itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from threading import Barrier, Thread
from typing import Any

from rigright.base.words import say
from rigright.machine.bench.accelerator import Accelerator, accelerators
from rigright.machine.bench.ask import BenchRequest, Deadline
from rigright.machine.bench.figures import Settings, rate, spread
from rigright.machine.bench.parts.gemm import can
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.bench.torched import pytorch

TITLE = say("all GPUs together under full load, warmed up, every value checked")
GROUP = "cards"
NEEDS = ("torch", "accelerator")
SHARE = 3.0

SIDE = 4096
MATRICES = 2026  # the seed of them, the same everywhere
LONGEST_S, SHORTEST_S = 60.0, 5.0
PIECE_S = 0.5  # one figure for each such stretch
EDGE = 5  # stretches at the start and at the end that are held against each other
CHECKED = 20  # products that are compared after each stretch
PRIME = 65_521  # weights of the sum of values: two that change places show


class UnderLoad:
    """What one card did."""

    def __init__(self) -> None:
        self.times_s: list[float] = []  # of one multiplication, in each stretch
        self.wrong = 0
        self.total = ""  # of its first product
        self.hottest: float | None = None


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Every card in a thread of its own, from a common start."""
    if ask.quick:
        yield Skipped(part="", why=say("GPUs do not warm up in a quick run"))
        return
    torch = pytorch()
    cards = accelerators(ask)
    longest_s = ask.spare_s if ask.is_timed else LONGEST_S
    lasts_s = min(longest_s, max(SHORTEST_S, ask.spare_s * 0.8))
    under_loads = {card.index: UnderLoad() for card in cards}
    chance = torch.Generator().manual_seed(MATRICES)
    pair = [torch.randn(SIDE, SIDE, generator=chance) for _ in range(2)]
    together: dict[str, Any] = {"start": Barrier(len(cards)), "lasts_s": lasts_s}
    threads = [
        Thread(target=_loaded, args=(card, under_loads[card.index]), kwargs={**together, "pair": pair})
        for card in cards
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for card in cards:
        if len(under_loads[card.index].times_s) < 2:
            yield Skipped(part="", why=say("{on} stopped under load", on=card.on))
            continue
        yield from _sustained_results(card, under_loads[card.index], lasts_s=lasts_s)


def _sustained_results(card: Accelerator, under_load: UnderLoad, *, lasts_s: float) -> Iterator[Result]:
    """What the card computes at the end, and how much of its start that is."""
    edge = min(EDGE, len(under_load.times_s) // 2)
    first, last = under_load.times_s[:edge], under_load.times_s[-edge:]
    name = format_of(card)
    words = (("shape", f"{SIDE}x{SIDE}x{SIDE}"), ("data", "random"), ("lasted", f"{lasts_s:.0f} s"))
    seen: Settings = (("wrong", str(under_load.wrong)), ("sum", under_load.total))
    if under_load.hottest is not None:
        seen += (("hottest", f"{under_load.hottest:.0f} C"),)
    yield rate(
        f"{name}, warm",
        on=card.on,
        work=2.0 * SIDE**3,
        times_s=last,
        unit="flops_per_s",
        settings=(*words, *seen),
    )
    kept = (sum(first) / len(first)) / (sum(last) / len(last))
    yield spread("kept of the start", on=card.on, values=[kept], unit="ratio", settings=words)


def format_of(card: Accelerator) -> str:
    """The 16-bit format that it has hardware for."""
    return "bf16" if can("bf16", card) else "fp16"


def _loaded(
    card: Accelerator, under_load: UnderLoad, *, start: Barrier, pair: list[Any], lasts_s: float
) -> None:
    """Multiply and compare until the time is over."""
    torch = pytorch()
    kind = torch.bfloat16 if format_of(card) == "bf16" else torch.float16
    try:
        left, right = (value.to(card.device, kind) for value in pair)
        right_at_first = torch.mm(left, right)
        out = torch.empty_like(right_at_first)
        wrong = torch.zeros((), dtype=torch.int64, device=card.device)
        under_load.total = total(right_at_first)

        def once() -> None:
            torch.mm(left, right, out=out)

        single = max(card.batch_s(once, 3) / 3, 1e-6)
        count = max(1, round(PIECE_S / single))
        start.wait(30.0)
        until = Deadline.of(lasts_s)
        while not until.is_over():
            began = time.perf_counter()
            card.batch_s(once, count)
            under_load.times_s.append((time.perf_counter() - began) / count)
            for _ in range(CHECKED):
                once()
                # by bits: no rounding is allowed for
                wrong += (out.view(torch.int16) != right_at_first.view(torch.int16)).sum()
            under_load.hottest = _hotter(card, under_load.hottest)
        under_load.wrong = int(wrong.item())
    except Exception:  # noqa: BLE001 - a card that fails under load is stated by its missing figures
        under_load.times_s.clear()
        start.abort()


def total(product: Any) -> str:
    """A short sum of all bits of a product; equal products have equal sums on whatever card."""
    torch = pytorch()
    bits = product.view(torch.int16).to(torch.int64).flatten()
    weights = torch.arange(bits.numel(), device=bits.device) % PRIME + 1
    return f"{int((bits * weights).sum().item()) & (2**64 - 1):016x}"


def _hotter(card: Accelerator, before: float | None) -> float | None:
    """The most degrees so far, where PyTorch can ask the driver."""
    with suppress(Exception):  # it wants NVIDIA's module of readings in that Python
        now = float(getattr(pytorch(), card.kind).temperature(card.index))
        return now if before is None else max(before, now)
    return before

"""The forward pass of PyTorch's own Transformer on the processor and on a card, waited for.

The guide that this comes from timed the card without waiting for it, so it timed the asking; and it called
the network with one input where it needs two. Here one sequence of 512 tokens passes encoder and decoder
(width 512, 6 + 6 layers, fp32), and what the guide's clock would have shown is kept beside the truth.
Without PyTorch the same layers run in NumPy, on the processor alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from rigright.base.words import say
from rigright.machine.bench import plain
from rigright.machine.bench.accelerator import CPU, Accelerator, accelerators
from rigright.machine.bench.ask import BenchRequest, Deadline
from rigright.machine.bench.figures import spread, taken, timed
from rigright.machine.bench.needs import NO_TORCH
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.bench.torched import has_pytorch, pytorch

TITLE = say("transformer forward pass on CPU and GPU")
GROUP = "cards"
NEEDS = ("numpy",)
SHARE = 1.0

TOKENS, WIDTH = 512, 512
SHAPE = (("tokens", str(TOKENS)), ("width", str(WIDTH)), ("batch", "1"), ("precision", "fp32"))


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """The processor, each card, and how many times faster the first card is."""
    if not has_pytorch():
        if not ask.quick:
            until = Deadline.of(min(ask.spare_s, 5.0))
            times = timed(plain.transformer(TOKENS, WIDTH), until, fewest=1)
            yield taken("forward", on=CPU.on, times_s=times, settings=(*SHAPE, plain.BY))
        yield Skipped(part="", why=say("{what}: {why}", what=say("GPU"), why=NO_TORCH))
        return
    torch = pytorch()

    torch.set_num_threads(ask.cpus)
    cards = accelerators(ask)
    spare_s = ask.spare_s / (len(cards) + 2)
    slow = _forward(CPU, min(spare_s, 5.0))
    yield slow
    fast = None
    for card in cards:
        result = _forward(card, min(spare_s, 2.0))
        fast = fast or result
        yield result
    if fast is None:
        yield Skipped(part="", why=say("no GPU to compare the CPU with"))
        return
    yield spread("processor over card", on=fast.on, values=[slow.value / fast.value], unit="ratio")


def _forward(card: Accelerator, spare_s: float) -> Result:
    torch = pytorch()

    threads = (("threads", str(torch.get_num_threads())),) if card.kind == "cpu" else ()
    shape = (*SHAPE, *threads)
    with torch.inference_mode():
        network = torch.nn.Transformer(d_model=WIDTH, batch_first=True).to(card.device).eval()
        source, target = (torch.randn(1, TOKENS, WIDTH, device=card.device) for _ in range(2))

        def once() -> Any:
            return network(source, target)

        times = card.times(once, spare_s)
        result = taken("forward", on=card.on, times_s=times, settings=shape)
        if card.kind == "cpu":
            return result
        return replace(
            result, settings=(*result.settings, ("without_waiting_s", f"{_unwaited(card, once):.3g}"))
        )


def _unwaited(card: Accelerator, once: Callable[[], Any]) -> float:
    """What a clock shows that does not wait."""
    card.wait()
    began = time.perf_counter()
    once()
    value = time.perf_counter() - began
    card.wait()
    return value

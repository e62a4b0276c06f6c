"""The forward pass of PyTorch's own Transformer on the processor and on a card, waited for.

The guide that this comes from timed the card without waiting for it, so it timed the asking; and it called
the network with one input where it needs two. Here one sequence of 512 tokens passes encoder and decoder
(width 512, 6 + 6 layers, fp32), and what the guide's clock would have shown is kept beside the truth.
Without PyTorch the same layers run in NumPy, on the processor alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from rigright.base.errors import MissingError
from rigright.base.words import say
from rigright.machine.bench.accelerator import (
    BY_NUMPY,
    CPU,
    Accelerator,
    accelerators,
    has_pytorch,
    pytorch,
)
from rigright.machine.bench.record import BenchRequest, Result, Skipped
from rigright.machine.bench.table import NO_TORCH
from rigright.machine.bench.tasks import Deadline, Task, measure, once_s, spread, taken, timed

TOKENS, WIDTH = 512, 512
_SHAPE = (("tokens", str(TOKENS)), ("width", str(WIDTH)), ("batch", "1"), ("precision", "fp32"))
HEADS, LAYERS, _INNER = 8, 6, 4  # of PyTorch's own Transformer; the inner layer in widths
_ATTENTIONS = 3 * LAYERS  # one an encoder layer, two a decoder layer
FORWARD_FLOPS = 2 * TOKENS * WIDTH * (_ATTENTIONS * (4 * WIDTH + 2 * TOKENS) + 4 * LAYERS * _INNER * WIDTH)
FORWARD_LAUNCHES = _ATTENTIONS * 12 + 2 * LAYERS * 6  # kernels that PyTorch starts, about


def transformer(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """The processor, each card, and how many times faster the first card is."""
    if not has_pytorch():
        if not ask.quick:
            until = Deadline.of(min(ask.spare_s, 5.0))
            times = timed(numpy_transformer(TOKENS, WIDTH), until, fewest=1)
            yield taken("forward", on=CPU.on, times_s=times, settings=(*_SHAPE, BY_NUMPY))
        yield Skipped(part="", why=say("{what}: {why}", what=say("GPU"), why=NO_TORCH))
        return
    pytorch().set_num_threads(ask.cpus)
    cards = accelerators(ask)
    tasks = [
        Task(what="forward", on=card.on, run=partial(_forward, card=card), most_s=most_s, always=True)
        for card, most_s in ((CPU, 5.0), *((card, 2.0) for card in cards))
    ]
    values: dict[str, float] = {}
    for item in measure(tasks, Deadline.of(ask.spare_s)):
        if isinstance(item, Result):
            values[item.on] = item.value
        yield item
    if not cards:
        raise MissingError(say("no GPU to compare the CPU with"))
    fast = next((card.on for card in cards if card.on in values), None)
    if fast is not None and CPU.on in values:
        yield spread("processor over card", on=fast, values=[values[CPU.on] / values[fast]], unit="ratio")


def _forward(spare_s: float, *, card: Accelerator) -> Iterator[Result]:
    torch = pytorch()
    with torch.inference_mode():
        network = torch.nn.Transformer(d_model=WIDTH, batch_first=True).to(card.device).eval()
        source, target = (torch.randn(1, TOKENS, WIDTH, device=card.device) for _ in range(2))
        once = partial(network, source, target)
        times = card.times(once, spare_s)
        if card.kind == "cpu":
            own = ("threads", str(torch.get_num_threads()))
        else:  # what a clock shows that does not wait
            card.wait()
            own = ("without_waiting_s", f"{once_s(once):.3g}")
            card.wait()
    yield taken(times_s=times, settings=(*_SHAPE, own))


def numpy_transformer(tokens: int, width: int) -> Callable[[], Any]:
    """One pass through encoder and decoder with NumPy alone, in fp32."""
    import numpy as np

    source = np.random.default_rng(0)

    def weights(rows: int, columns: int) -> Any:
        return source.standard_normal((rows, columns), np.float32) * np.float32(rows**-0.5)

    def layer(*, crosses: bool) -> tuple[list[Any], list[Any]]:
        attentions = [[weights(width, width) for _ in range(4)] for _ in range(2 if crosses else 1)]
        return attentions, [weights(width, _INNER * width), weights(_INNER * width, width)]

    encoder, decoder = ([layer(crosses=crosses) for _ in range(LAYERS)] for crosses in (False, True))
    inputs, targets = (source.standard_normal((tokens, width), np.float32) for _ in range(2))

    def once() -> Any:
        memory = inputs
        for layers, crosses in ((encoder, False), (decoder, True)):
            hidden = targets if crosses else inputs
            for attentions, (rising, falling) in layers:
                for number, attention in enumerate(attentions):
                    hidden = _even(
                        hidden + _attended(hidden, memory if number else hidden, weights=attention)
                    )
                hidden = _even(hidden + np.maximum(hidden @ rising, 0) @ falling)
            memory = hidden
        return memory

    return once


def _attended(asks: Any, about: Any, *, weights: list[Any]) -> Any:
    """Attention of several heads."""
    import numpy as np

    tokens, width = asks.shape

    def heads(values: Any, matrix: Any) -> Any:
        return (values @ matrix).reshape(tokens, HEADS, width // HEADS).transpose(1, 0, 2)

    queries, keys, values = heads(asks, weights[0]), heads(about, weights[1]), heads(about, weights[2])
    scores = queries @ keys.transpose(0, 2, 1) * np.float32((width / HEADS) ** -0.5)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    return (shares @ values).transpose(1, 0, 2).reshape(tokens, width) @ weights[3]


def _even(values: Any) -> Any:
    """Layer normalisation."""
    import numpy as np

    middle = values - values.mean(-1, keepdims=True)
    return middle / np.sqrt((middle * middle).mean(-1, keepdims=True) + np.float32(1e-5))

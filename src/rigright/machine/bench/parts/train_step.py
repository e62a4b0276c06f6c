"""A step of training: ResNet-50 and a stack of transformer blocks; samples a second, and the peak of memory.

In fp32, in mixed precision, with recomputation, and compiled.
Without a card the processor trains, with a small batch. Loss and optimizer (AdamW) are part of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from rigright.base.words import say
from rigright.machine.bench.accelerator import CPU, Accelerator, accelerators, is_sticky
from rigright.machine.bench.ask import BenchRequest, Deadline
from rigright.machine.bench.figures import rate, spread
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.bench.resnet import CLASSES, resnet50
from rigright.machine.bench.start import brief
from rigright.machine.bench.torched import pytorch

TITLE = say("one training step: speed and memory")
GROUP = "cards"
NEEDS = ("torch",)
SHARE = 4.0

SIDE = 224
WIDTH, HEADS, LAYERS, TOKENS, WORDS = 1024, 16, 8, 1024, 32000
BATCH = {"resnet50": 64, "transformer": 4}
CPU_BATCH = {"resnet50": 2, "transformer": 1}
CPU_TOKENS, CPU_LAYERS = 64, 2
WAYS = ("fp32", "amp", "amp recompute", "amp channels_last", "amp compile")
ONLY = {"amp recompute": "transformer", "amp channels_last": "resnet50"}
COMPILE_S = 45.0  # what compiling may take: with less time left it is not begun


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One network in one way on one card."""

    network: str
    way: str
    card: Accelerator

    @property
    def batch(self) -> int:
        """Samples of one step."""
        return (CPU_BATCH if self.card.kind == "cpu" else BATCH)[self.network]


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Both networks in every way, on the first card or the processor."""
    torch = pytorch()

    torch.set_num_threads(ask.cpus)
    until = Deadline.of(ask.spare_s)
    cards = accelerators(ask)
    if ask.quick and not cards:
        yield Skipped(part="", why=say("skipped in a quick run without GPUs"))
        return
    todo = tasks(cards[0] if cards else CPU, quick=ask.quick)
    for index, task in enumerate(todo):
        if until.is_over() or (task.way.endswith("compile") and until.left_s() < COMPILE_S):
            yield Skipped(part="", why=say("time ran out before {what}", what=f"{task.network} {task.way}"))
            continue
        try:
            yield from _step(task, min(until.left_s() / (len(todo) - index), 10.0))
        except Exception as error:
            if is_sticky(error):
                raise
            what = f"{task.network} {task.way}"
            yield Skipped(
                part="", why=say("{what} on {on}: {why}", what=what, on=task.card.on, why=brief(error))
            )
        _forget()


def tasks(card: Accelerator, *, quick: bool) -> list[Task]:
    """What is trained, the most telling first."""
    ways: tuple[str, ...] = ("fp32",) if card.kind == "cpu" else WAYS
    ways = ways[:2] if quick else ways
    return [
        Task(network=network, way=way, card=card)
        for way in ways
        for network in BATCH
        if ONLY.get(way, network) == network
    ]


def _step(task: Task, spare_s: float) -> Iterator[Result]:
    card = task.card
    card.forget_peak()
    once = step(task)
    if task.network == "resnet50":
        layout = "nhwc" if "channels_last" in task.way else "nchw"
        shape: tuple[tuple[str, str], ...] = (("image", str(SIDE)), ("layout", layout))
    else:
        tokens, layers = _size(task.card)
        shape = (("tokens", str(tokens)), ("width", str(WIDTH)), ("layers", str(layers)))
    settings = (*shape, ("batch", str(task.batch)), ("precision", task.way.split(" ")[0]))
    what = f"{task.network} {task.way}"
    times = card.times(once, spare_s)
    yield rate(what, on=card.on, work=float(task.batch), times_s=times, unit="items_per_s", settings=settings)
    peak = card.peak_bytes()
    if peak is not None:
        yield spread(f"{what}, peak memory", on=card.on, values=[peak], unit="bytes", settings=settings)


def _size(card: Accelerator) -> tuple[int, int]:
    return (CPU_TOKENS, CPU_LAYERS) if card.kind == "cpu" else (TOKENS, LAYERS)


def step(task: Task) -> Callable[[], Any]:
    """Forward, backward and optimizer of one batch."""
    torch = pytorch()

    card, words = task.card, task.way.split(" ")
    network, sample, goal = (_image if task.network == "resnet50" else _text)(task)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4)
    forward = torch.compile(network) if "compile" in words else network
    mixed = torch.autocast(card.kind, dtype=torch.bfloat16) if "amp" in words else nullcontext()

    def once() -> None:
        with mixed:
            value = forward(sample)
            loss = torch.nn.functional.cross_entropy(value.flatten(0, -2).float(), goal.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return once


def _image(task: Task) -> tuple[Any, Any, Any]:
    torch = pytorch()

    layout = torch.channels_last if "channels_last" in task.way else torch.contiguous_format
    network = resnet50().to(task.card.device).to(memory_format=layout).train()
    sample = torch.randn(task.batch, 3, SIDE, SIDE, device=task.card.device).to(memory_format=layout)
    return network, sample, torch.randint(0, CLASSES, (task.batch,), device=task.card.device)


def _text(task: Task) -> tuple[Any, Any, Any]:
    """Blocks with causal attention between an embedding and a head."""
    torch = pytorch()

    tokens, layers = _size(task.card)
    network = _blocks(layers, recompute="recompute" in task.way).to(task.card.device).train()
    sample = torch.randint(0, WORDS, (task.batch, tokens), device=task.card.device)
    return network, sample, torch.randint(0, WORDS, (task.batch, tokens), device=task.card.device)


def _blocks(layers: int, *, recompute: bool) -> Any:
    nn = pytorch("nn")
    checkpoint = pytorch("utils.checkpoint").checkpoint

    class LayerStack(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(WORDS, WIDTH)
            self.blocks = nn.ModuleList(
                nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, 0.0, batch_first=True, norm_first=True)
                for _ in range(layers)
            )
            self.head = nn.Linear(WIDTH, WORDS, bias=False)

        def forward(self, words: Any) -> Any:
            flow = self.embed(words)
            mask = nn.Transformer.generate_square_subsequent_mask(flow.shape[1], device=flow.device)
            for block in self.blocks:
                if recompute:
                    flow = checkpoint(block, flow, mask, is_causal=True, use_reentrant=False)
                else:
                    flow = block(flow, mask, is_causal=True)
            return self.head(flow)

    return LayerStack()


def _forget() -> None:
    import gc

    torch = pytorch()

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()

"""A step of training: ResNet-50 and a stack of transformer blocks; samples a second, and the peak of memory.

In fp32, in mixed precision, with recomputation, and compiled. Without a card the processor trains, with a
small batch. Loss and optimizer (AdamW) are part of the step.

ResNet-50 is as published (He and others 2015, the stride in the 3x3 convolution as torchvision has it). It is
our own so that no further package is needed; 25,557,032 parameters say that it is the same network.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from rigright.base.errors import MissingError
from rigright.base.words import say
from rigright.machine.bench.accelerator import CPU, Accelerator, accelerators, pytorch
from rigright.machine.bench.record import BenchRequest, Result, Settings, Skipped
from rigright.machine.bench.tasks import Deadline, Task, measure, rate, spread

SIDE = 224
WIDTH, HEADS, _LAYERS, _TOKENS, WORDS = 1024, 16, 8, 1024, 32000
BATCH = {"resnet50": 64, "transformer": 4}
CPU_BATCH = {"resnet50": 2, "transformer": 1}
_CPU_TOKENS, _CPU_LAYERS = 64, 2
WAYS = ("fp32", "amp", "amp recompute", "amp channels_last", "amp compile")
_ONLY = {"amp recompute": "transformer", "amp channels_last": "resnet50"}
_COMPILE_S = 45.0  # what compiling may take: with less time left it is not begun
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # of ResNet: width, blocks, stride of the first
_GROWTH = 4
_CLASSES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTask:
    """One network in one way on one card."""

    network: str
    way: str
    card: Accelerator

    @property
    def on_cpu(self) -> bool:
        """Whether the processor trains: then all is smaller."""
        return self.card.kind == "cpu"

    @property
    def batch(self) -> int:
        """Samples of one step."""
        return (CPU_BATCH if self.on_cpu else BATCH)[self.network]

    @property
    def tokens(self) -> int:
        """Of a sample, where it is text."""
        return _CPU_TOKENS if self.on_cpu else _TOKENS

    @property
    def layers(self) -> int:
        """Blocks of the transformer."""
        return _CPU_LAYERS if self.on_cpu else _LAYERS


def train_step(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Both networks in every way, on the first card or the processor."""
    pytorch().set_num_threads(ask.cpus)
    cards = accelerators(ask)
    if ask.quick and not cards:
        raise MissingError(say("skipped in a quick run without GPUs"))
    tasks = [
        Task(
            what=f"{training.network} {training.way}",
            on=training.card.on,
            run=partial(_step, training=training),
            most_s=10.0,
            least_s=_COMPILE_S if training.way.endswith("compile") else 0.0,
        )
        for training in trainings(cards[0] if cards else CPU, quick=ask.quick)
    ]
    yield from measure(tasks, Deadline.of(ask.spare_s))


def trainings(card: Accelerator, *, quick: bool) -> list[StepTask]:
    """What is trained, the most telling first."""
    ways: tuple[str, ...] = ("fp32",) if card.kind == "cpu" else WAYS
    ways = ways[:2] if quick else ways
    return [
        StepTask(network=network, way=way, card=card)
        for way in ways
        for network in BATCH
        if _ONLY.get(way, network) == network
    ]


def _step(spare_s: float, *, training: StepTask) -> Iterator[Result]:
    card = training.card
    _forget()
    card.forget_peak()
    once = step(training)
    if training.network == "resnet50":
        layout = "nhwc" if "channels_last" in training.way else "nchw"
        shape: Settings = (("image", str(SIDE)), ("layout", layout))
    else:
        tokens, layers = str(training.tokens), str(training.layers)
        shape = (("tokens", tokens), ("width", str(WIDTH)), ("layers", layers))
    batch, precision = training.batch, training.way.split(" ")[0]
    settings = (*shape, ("batch", str(batch)), ("precision", precision))
    times = card.times(once, spare_s)
    yield rate(work=float(batch), times_s=times, unit="items_per_s", settings=settings)
    peak = card.peak_bytes()
    if peak is not None:
        what = f"{training.network} {training.way}, peak memory"
        yield spread(what, values=[peak], unit="bytes", settings=settings)


def _forget() -> None:
    """Give back the memory of the training before."""
    torch = pytorch()
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def step(training: StepTask) -> Callable[[], Any]:
    """Forward, backward and optimizer of one batch."""
    torch = pytorch()
    words = training.way.split(" ")
    network, sample, goal = (_image if training.network == "resnet50" else _text)(training)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4)
    forward = torch.compile(network) if "compile" in words else network
    kind = training.card.kind
    mixed = torch.autocast(kind, dtype=torch.bfloat16) if "amp" in words else nullcontext()

    def once() -> None:
        with mixed:
            value = forward(sample)
            loss = torch.nn.functional.cross_entropy(value.flatten(0, -2).float(), goal.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return once


def _image(training: StepTask) -> tuple[Any, Any, Any]:
    torch, device = pytorch(), training.card.device
    layout = torch.channels_last if "channels_last" in training.way else torch.contiguous_format
    network = resnet50().to(device).to(memory_format=layout).train()
    sample = torch.randn(training.batch, 3, SIDE, SIDE, device=device).to(memory_format=layout)
    return network, sample, torch.randint(0, _CLASSES, (training.batch,), device=device)


def _text(training: StepTask) -> tuple[Any, Any, Any]:
    """Blocks with causal attention between an embedding and a head."""
    device = training.card.device
    network = _blocks(training.layers, recompute="recompute" in training.way).to(device).train()
    shape = (training.batch, training.tokens)
    sample, goal = (pytorch().randint(0, WORDS, shape, device=device) for _ in range(2))
    return network, sample, goal


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


def resnet50() -> Any:
    """The network, with random weights."""
    nn = pytorch("nn")
    layers: list[Any] = [
        nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, stride=2, padding=1),
    ]
    wide = 64
    for width, blocks, stride in STAGES:
        for index in range(blocks):
            layers.append(_block(wide, width, stride=stride if index == 0 else 1))
            wide = width * _GROWTH
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(wide, _CLASSES))


def _block(wide: int, width: int, *, stride: int) -> Any:
    """A bottleneck: narrow, look around, widen, and add what came in."""
    torch, nn = pytorch(), pytorch("nn")

    class Bottleneck(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            out = width * _GROWTH
            self.inner = nn.Sequential(
                *(nn.Conv2d(wide, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)),
                nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False),
                *(nn.BatchNorm2d(width), nn.ReLU(inplace=True)),
                *(nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)),
            )
            same = stride == 1 and wide == out
            self.across: Any = (
                nn.Identity()
                if same
                else nn.Sequential(nn.Conv2d(wide, out, 1, stride=stride, bias=False), nn.BatchNorm2d(out))
            )

        def forward(self, image: Any) -> Any:
            return torch.relu(self.inner(image) + self.across(image))

    return Bottleneck()

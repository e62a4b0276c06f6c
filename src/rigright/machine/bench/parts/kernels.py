"""What each card computes: products by number format, the cost of starting a kernel, and all under load.

Random numbers, not zeros: zeros draw less power and run faster. Batches of at least 20 ms, after a warm-up,
waited for at both ends. The square shape shows what the card can; the others are those of a language model
of eight billion parameters: a prompt of 4096 tokens, and 16 users that each get one token. Small models are
bound by the start of kernels and by the processor's speed, not by the card.

Under load all cards compute at once, until they are warm. A single short measurement meets a cold card alone.
Here heat, the power supply and the power limit have their say: a card that loses a tenth is held back by one
of them, and `watch` shows by which. Every card multiplies the same two matrices over and over. Between two
timed stretches some products are compared with its first one, value by value: a sound card gives the same
bits each time. That first one is told as a short sum, so that cards can be compared with each other too: one
that is always wrong in the same way agrees with itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from threading import Barrier, Thread
from typing import Any

from rigright.base.errors import MissingError
from rigright.base.words import say
from rigright.machine.bench.accelerator import Accelerator, accelerators, pytorch
from rigright.machine.bench.record import BenchRequest, Result, Settings, Skipped
from rigright.machine.bench.tasks import Deadline, Task, measure, once_s, rate, spread, taken, timed

SQUARES = (8192, 4096, 2048, 1024)
_SHAPES = {"prompt": (4096, 14336, 4096), "next tokens": (16, 14336, 4096)}
FORMATS = ("bf16", "fp16", "tf32", "fp32", "fp8", "int8")
_LEAST = {"bf16": (8, 0), "tf32": (8, 0), "fp8": (8, 9), "int8": (7, 5), "fp16": (5, 3)}  # compute capability
_SLOWEST_S = 0.25  # of one multiplication: else a smaller square
_COUNT, _GRAPH_COUNT, _REPEATS = 500, 200, 10  # starts of a kernel

SIDE = 4096  # of the product under load
_MATRICES = 2026  # the seed of its factors, the same everywhere
_LONGEST_S, _SHORTEST_S = 60.0, 5.0
_PIECE_S = 0.5  # one figure for each such stretch
_EDGE = 5  # stretches at the start and at the end that are held against each other
_CHECKED = 20  # products that are compared after each stretch
_PRIME = 65_521  # weights of the sum of values: two that change places show


def gemm(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """The square in every format on every card, then the shapes of a language model."""
    cards = accelerators(ask)
    kinds = [(name, "square") for name in FORMATS]
    kinds += [] if ask.quick else [(name, shape) for shape in _SHAPES for name in ("bf16", "fp8")]
    tasks = [
        Task(
            what=f"{name} {shape}",
            on=card.on,
            run=partial(measure_product, name=name, card=card, shape=shape),
            most_s=2.0,
        )
        for name, shape in kinds
        for card in cards
        if can(name, card)
    ]
    yield from measure(tasks, Deadline.of(ask.spare_s))


def can(name: str, card: Accelerator) -> bool:
    """Whether the card has hardware for a format; AMD's and Apple's are simply tried."""
    capability = card.capability()
    return (
        capability == (0, 0)
        or getattr(pytorch().version, "hip", None) is not None
        or capability >= _LEAST.get(name, (0, 0))
    )


def measure_product(spare_s: float, *, name: str, card: Accelerator, shape: str) -> Iterator[Result]:
    """One format in one shape on one card."""
    matmul = pytorch().backends.cuda.matmul
    before, matmul.allow_tf32 = matmul.allow_tf32, name == "tf32"
    try:
        rows, columns, depth = _SHAPES.get(shape) or _square(name, card)
        once = multiplication(name, card.device, sizes=(rows, columns, depth))
        yield rate(
            work=2.0 * rows * columns * depth,
            times_s=card.times(once, spare_s),
            unit="flops_per_s",
            settings=(
                ("shape", f"{rows}x{columns}x{depth}"),
                ("data", "random"),
                ("accumulate", "int32" if name == "int8" else "fp32"),
            ),
        )
    finally:
        matmul.allow_tf32 = before


def _square(name: str, card: Accelerator) -> tuple[int, int, int]:
    """The largest square that fits and that does not take too long."""
    free = card.free_bytes()
    pilot = SQUARES[-1]
    once = multiplication(name, card.device, sizes=(pilot, pilot, pilot))
    card.batch_s(once, 2)
    single = card.batch_s(once, 4) / 4
    for side in SQUARES:
        takes_s, room = single * (side / pilot) ** 3, 3 * 4 * side**2 * 1.2
        if (free is None or room < free) and takes_s < _SLOWEST_S:
            return (side, side, side)
    return (pilot, pilot, pilot)


def multiplication(name: str, device: str, *, sizes: tuple[int, int, int]) -> Callable[[], Any]:
    """One multiplication of random matrices, ready to be run."""
    torch = pytorch()
    rows, columns, depth = sizes
    if name == "int8":
        left = torch.randint(-127, 127, (rows, depth), dtype=torch.int8, device=device)
        right = torch.randint(-127, 127, (columns, depth), dtype=torch.int8, device=device)
        multiply = torch._int_mm  # noqa: SLF001 - PyTorch's only int8 product
        return lambda: multiply(left, right.t())
    if name == "fp8":
        left = torch.randn(rows, depth, device=device).to(torch.float8_e4m3fn)
        right = torch.randn(columns, depth, device=device).to(torch.float8_e4m3fn)
        one = torch.tensor(1.0, device=device)
        scaled = torch._scaled_mm  # noqa: SLF001 - PyTorch's only fp8 product
        return lambda: scaled(left, right.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    kind = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(name, torch.float32)
    left = torch.randn(rows, depth, device=device, dtype=kind)
    right = torch.randn(depth, columns, device=device, dtype=kind)
    out = torch.empty(rows, columns, device=device, dtype=kind)
    return lambda: torch.mm(left, right, out=out)


def launch(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """What it costs to start a kernel: handing it over, waiting for one, one of many in a recorded graph."""
    tasks = [
        Task(what=what, on=card.on, run=partial(start, card=card), always=True)
        for card in accelerators(ask)
        for what, start in (
            ("hand over", _hand_over),
            ("hand over and wait", _hand_over_and_wait),
            *([("in a graph", _replay_graph)] if card.kind == "cuda" else []),
        )
    ]
    yield from measure(tasks, Deadline.of(ask.spare_s))


def _launch_time(times_s: list[float]) -> Result:
    return taken(times_s=times_s, settings=(("kernel", "add 1 to one number"),))


def _kernel(card: Accelerator) -> Callable[[], object]:
    """The smallest kernel, once it has run."""
    number = pytorch().zeros(1, device=card.device)

    def once() -> None:
        number.add_(1)

    card.batch_s(once, _REPEATS)
    return once


def _hand_over(spare_s: float, *, card: Accelerator) -> Iterator[Result]:
    """Seconds of the processor for each, while the card works behind it."""
    once, until = _kernel(card), Deadline.of(spare_s)
    times: list[float] = []

    def many() -> None:
        for _ in range(_COUNT):
            once()

    while len(times) < _REPEATS and not (times and until.is_over()):
        card.wait()
        times.append(once_s(many) / _COUNT)
    card.wait()
    yield _launch_time(times)


def _hand_over_and_wait(spare_s: float, *, card: Accelerator) -> Iterator[Result]:
    once = partial(card.batch_s, _kernel(card), 1)
    yield _launch_time(timed(once, Deadline.of(spare_s), fewest=_REPEATS, most=_COUNT))


def _replay_graph(_spare_s: float, *, card: Accelerator) -> Iterator[Result]:
    """Seconds of one kernel of a graph."""
    torch, once = pytorch(), _kernel(card)
    with torch.cuda.device(card.index):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(_GRAPH_COUNT):
                once()
        card.batch_s(graph.replay, 3)
        yield _launch_time([card.batch_s(graph.replay, 5) / 5 / _GRAPH_COUNT for _ in range(_REPEATS)])


class _UnderLoad:
    """What one card did."""

    def __init__(self) -> None:
        self.times_s: list[float] = []  # of one multiplication, in each stretch
        self.wrong = 0
        self.total = ""  # of its first product
        self.hottest: float | None = None


def sustained(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Every card in a thread of its own, from a common start."""
    if ask.quick:
        raise MissingError(say("GPUs do not warm up in a quick run"))
    torch = pytorch()
    cards = accelerators(ask)
    longest_s = ask.spare_s if ask.budget_s is not None else _LONGEST_S
    lasts_s = min(longest_s, max(_SHORTEST_S, ask.spare_s * 0.8))
    loads = [(card, _UnderLoad()) for card in cards]
    chance = torch.Generator().manual_seed(_MATRICES)
    pair = [torch.randn(SIDE, SIDE, generator=chance) for _ in range(2)]
    together = {"start": Barrier(len(cards)), "lasts_s": lasts_s, "pair": pair}
    threads = [Thread(target=_burn, args=load, kwargs=together) for load in loads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for card, load in loads:
        if len(load.times_s) < 2:
            yield Skipped(part="", why=say("{on} stopped under load", on=card.on))
            continue
        yield from _sustained_results(card, load, lasts_s=lasts_s)


def _sustained_results(card: Accelerator, load: _UnderLoad, *, lasts_s: float) -> Iterator[Result]:
    """What the card computes at the end, and how much of its start that is."""
    edge = min(_EDGE, len(load.times_s) // 2)
    first, last = load.times_s[:edge], load.times_s[-edge:]
    words = (("shape", f"{SIDE}x{SIDE}x{SIDE}"), ("data", "random"), ("lasted", f"{lasts_s:.0f} s"))
    checked: Settings = (("wrong", str(load.wrong)), ("sum", load.total))
    if load.hottest is not None:
        checked += (("hottest", f"{load.hottest:.0f} C"),)
    yield rate(
        f"{_format_of(card)}, warm",
        on=card.on,
        work=2.0 * SIDE**3,
        times_s=last,
        unit="flops_per_s",
        settings=(*words, *checked),
    )
    kept = (sum(first) / len(first)) / (sum(last) / len(last))
    yield spread("kept of the start", on=card.on, values=[kept], unit="ratio", settings=words)


def _format_of(card: Accelerator) -> str:
    """The 16-bit format that it has hardware for."""
    return "bf16" if can("bf16", card) else "fp16"


def _burn(card: Accelerator, load: _UnderLoad, *, start: Barrier, pair: list[Any], lasts_s: float) -> None:
    """Multiply and compare until the time is over."""
    torch = pytorch()
    kind = torch.bfloat16 if _format_of(card) == "bf16" else torch.float16
    try:
        left, right = (value.to(card.device, kind) for value in pair)
        right_at_first = torch.mm(left, right)
        out = torch.empty_like(right_at_first)
        wrong = torch.zeros((), dtype=torch.int64, device=card.device)
        load.total = total(right_at_first)
        once = partial(torch.mm, left, right, out=out)
        single = max(card.batch_s(once, 3) / 3, 1e-6)
        count = max(1, round(_PIECE_S / single))
        start.wait(30.0)
        until = Deadline.of(lasts_s)
        while not until.is_over():
            load.times_s.append(card.batch_s(once, count) / count)
            for _ in range(_CHECKED):
                once()
                # by bits: no rounding is allowed for
                wrong += (out.view(torch.int16) != right_at_first.view(torch.int16)).sum()
            with suppress(Exception):  # it wants NVIDIA's module of readings in that Python
                now = float(getattr(torch, card.kind).temperature(card.index))
                load.hottest = max(now, load.hottest or now)
        load.wrong = int(wrong.item())
    except Exception:  # noqa: BLE001 - a card that fails under load is stated by its missing figures
        load.times_s.clear()
        start.abort()


def total(product: Any) -> str:
    """A short sum of all bits of a product; equal products have equal sums on whatever card."""
    torch = pytorch()
    bits = product.view(torch.int16).to(torch.int64).flatten()
    weights = torch.arange(bits.numel(), device=bits.device) % _PRIME + 1
    return f"{int((bits * weights).sum().item()) & (2**64 - 1):016x}"

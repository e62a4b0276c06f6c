"""Matrix multiplication on each card, by number format and shape.

Random numbers, not zeros: zeros draw less power and run faster. Batches of at least 20 ms, after a warm-up,
waited for at both ends. The square shape shows what the card can; the others are those of a language model
of eight billion parameters: a prompt of 4096 tokens, and 16 users that each get one token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rigright.base.words import say
from rigright.machine.bench.accelerator import Accelerator, accelerators, is_sticky
from rigright.machine.bench.ask import BenchRequest, Deadline
from rigright.machine.bench.figures import rate
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.bench.start import brief
from rigright.machine.bench.torched import pytorch

TITLE = say("matrix multiplication on each GPU, by precision")
GROUP = "cards"
NEEDS = ("torch", "accelerator")
SHARE = 4.0

SQUARES = (8192, 4096, 2048, 1024)
SHAPES = {"prompt": (4096, 14336, 4096), "next tokens": (16, 14336, 4096)}
FORMATS = ("bf16", "fp16", "tf32", "fp32", "fp8", "int8")
LEAST = {"bf16": (8, 0), "tf32": (8, 0), "fp8": (8, 9), "int8": (7, 5), "fp16": (5, 3)}  # compute capability
SLOWEST_S = 0.25  # of one multiplication: else a smaller square


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """The square in every format on every card, then the shapes of a language model."""
    until = Deadline.of(ask.spare_s)
    cards = accelerators(ask)
    tasks: list[tuple[str, Accelerator, str | None]]
    tasks = [(name, card, None) for name in FORMATS for card in cards]
    if not ask.quick:
        tasks += [(name, card, shape) for shape in SHAPES for name in ("bf16", "fp8") for card in cards]
    for index, (name, card, shape) in enumerate(tasks):
        if until.is_over():
            yield Skipped(part="", why=say("time ran out after {done} of {all}", done=index, all=len(tasks)))
            return
        if can(name, card):
            spare_s = min(until.left_s() / (len(tasks) - index), 2.0)
            yield from _measured(name, card, shape=shape, spare_s=spare_s)


def can(name: str, card: Accelerator) -> bool:
    """Whether the card has hardware for a format; AMD's and Apple's are simply tried."""
    capability = card.capability()
    return (
        capability == (0, 0)
        or getattr(pytorch().version, "hip", None) is not None
        or capability >= LEAST.get(name, (0, 0))
    )


def _measured(
    name: str, card: Accelerator, *, shape: str | None, spare_s: float
) -> Iterator[Result | Skipped]:
    torch = pytorch()

    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
    try:
        rows, columns, depth = SHAPES[shape] if shape else _square(name, card)
        once = multiplication(name, card.device, sizes=(rows, columns, depth))
        yield rate(
            f"{name} {shape or 'square'}",
            on=card.on,
            work=2.0 * rows * columns * depth,
            times_s=card.times(once, spare_s),
            unit="flops_per_s",
            settings=(
                ("shape", f"{rows}x{columns}x{depth}"),
                ("data", "random"),
                ("accumulate", "int32" if name == "int8" else "fp32"),
            ),
        )
    except Exception as error:
        if is_sticky(error):
            raise
        yield Skipped(part="", why=say("{what} on {on}: {why}", what=name, on=card.on, why=brief(error)))
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def _square(name: str, card: Accelerator) -> tuple[int, int, int]:
    """The largest square that fits and that does not take too long."""
    free = card.free_bytes()
    pilot = SQUARES[-1]
    once = multiplication(name, card.device, sizes=(pilot, pilot, pilot))
    card.batch_s(once, 2)
    single = card.batch_s(once, 4) / 4
    for side in SQUARES:
        takes_s, room = single * (side / pilot) ** 3, 3 * 4 * side**2 * 1.2
        if (free is None or room < free) and takes_s < SLOWEST_S:
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
        return _eight_bits(device, sizes)
    kind = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(name, torch.float32)
    left = torch.randn(rows, depth, device=device, dtype=kind)
    right = torch.randn(depth, columns, device=device, dtype=kind)
    out = torch.empty(rows, columns, device=device, dtype=kind)
    return lambda: torch.mm(left, right, out=out)


def _eight_bits(device: str, sizes: tuple[int, int, int]) -> Callable[[], Any]:
    torch = pytorch()

    rows, columns, depth = sizes
    left = torch.randn(rows, depth, device=device).to(torch.float8_e4m3fn)
    right = torch.randn(columns, depth, device=device).to(torch.float8_e4m3fn)
    value = torch.tensor(1.0, device=device)
    multiply = torch._scaled_mm  # noqa: SLF001 - PyTorch's only fp8 product
    return lambda: multiply(left, right.t(), scale_a=value, scale_b=value, out_dtype=torch.bfloat16)

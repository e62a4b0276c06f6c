"""An accelerator as PyTorch drives it: wait for it, time it, ask it for memory. Child processes only."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rigright.machine.bench.record import BenchRequest
from rigright.machine.bench.tasks import Deadline

_BATCH_S = 0.02  # repeats are timed in batches at least so long, so that the clock does not matter
_MOST_IN_BATCH = 2000
BY_NUMPY = ("library", "NumPy")  # of the settings of a figure that PyTorch would measure otherwise
_WARM_S = 0.15  # clocks rise and kernels are chosen in the first moments


def pytorch(part: str = "") -> Any:
    """PyTorch, or a part of it ("distributed"): an extra that only a child process ever loads."""
    return import_module(f"torch.{part}" if part else "torch")


def has_pytorch() -> bool:
    """Whether this Python has it."""
    return find_spec("torch") is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """One card as this process sees it; the CPU is one too."""

    kind: str  # "cuda" (AMD's too), "xpu", "mps", "cpu"
    index: int
    on: str  # what a result calls it: "gpu 2"
    name: str | None = None

    @property
    def device(self) -> str:
        """PyTorch's word for it."""
        return self.kind if self.kind in {"cpu", "mps"} else f"{self.kind}:{self.index}"

    def wait(self) -> None:
        """Until all it was given is done: without this a time is that of asking, not of doing."""
        if self.kind == "cpu":
            return
        driver = self._driver()
        driver.synchronize() if self.kind == "mps" else driver.synchronize(self.index)

    def free_bytes(self) -> float | None:
        """Memory left on it, where it can be asked."""
        if self.kind == "cuda":
            return float(self._driver().mem_get_info(self.index)[0])
        return None

    def forget_peak(self) -> None:
        """Start counting the peak anew."""
        if self.kind in {"cuda", "xpu"}:
            self._driver().reset_peak_memory_stats(self.index)

    def peak_bytes(self) -> float | None:
        """The most that tensors took since then."""
        if self.kind in {"cuda", "xpu"}:
            return float(self._driver().max_memory_allocated(self.index))
        return None

    def capability(self) -> tuple[int, int]:
        """CUDA's compute capability; (0, 0) where there is none."""
        if self.kind != "cuda":
            return (0, 0)
        major, minor = self._driver().get_device_capability(self.index)
        return (int(major), int(minor))

    def times(self, once: Callable[[], object], spare_s: float) -> list[float]:
        """Seconds of one run, as means of batches, after a warm-up; waits at both ends of a batch.

        Where two runs alone take longer than there is time, the second is all there is.
        """
        until = Deadline.of(spare_s)
        self.batch_s(once, 1)
        single = self.batch_s(once, 1)
        if until.is_over():
            return [single]
        single = self._warm(once, single, until=Deadline.of(min(_WARM_S, spare_s / 3)))
        count = _in_batch(single, _BATCH_S)
        values: list[float] = []
        while not values or not until.is_over():
            values.append(self.batch_s(once, count) / count)
        return values

    def batch_s(self, once: Callable[[], object], count: int) -> float:
        """Seconds until so many runs are done."""
        self.wait()
        began = time.perf_counter()
        for _ in range(count):
            once()
        self.wait()
        return max(time.perf_counter() - began, 1e-9)

    def _warm(self, once: Callable[[], object], single: float, *, until: Deadline) -> float:
        """Seconds of one run once it is warm."""
        while not until.is_over():
            count = _in_batch(single, _BATCH_S / 4)
            single = self.batch_s(once, count) / count
        return single

    def _driver(self) -> Any:
        return getattr(pytorch(), self.kind)


def _in_batch(single_s: float, batch_s: float) -> int:
    """How many runs fill a batch."""
    return min(max(1, round(batch_s / single_s)), _MOST_IN_BATCH)


CPU = Accelerator(kind="cpu", index=0, on="cpu")


def accelerators(ask: BenchRequest) -> tuple[Accelerator, ...]:
    """Every card this process sees."""
    kind, count = seen()
    return tuple(
        Accelerator(
            kind=kind,
            index=index,
            on=ask.names[index] if index < len(ask.names) else f"gpu {index}",
            name=_name(kind, index),
        )
        for index in range(count)
    )


def seen() -> tuple[str, int]:
    """The kind of cards PyTorch can use here, and how many."""
    torch = pytorch()

    if torch.cuda.is_available():
        return "cuda", torch.cuda.device_count()
    xpu = getattr(torch, "xpu", None)
    if xpu is not None and xpu.is_available():
        return "xpu", int(xpu.device_count())
    if torch.backends.mps.is_available():
        return "mps", 1
    return "cpu", 0


def _name(kind: str, index: int) -> str | None:
    if kind == "mps":
        return "Apple GPU"
    return str(getattr(pytorch(), kind).get_device_name(index))

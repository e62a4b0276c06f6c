"""Matrix multiplication on the processor with NumPy, on all threads that this process may use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rigright.base.words import say
from rigright.machine.bench.ask import BenchRequest, Deadline
from rigright.machine.bench.figures import rate, timed
from rigright.machine.bench.record import Result, Skipped

TITLE = say("matrix multiplication on the CPU")
GROUP = "processor"
NEEDS = ("numpy",)
SHARE = 0.5

SIDES = (4096, 2048, 1024, 512)
PILOT_S = 0.2
RUNS = 5  # of each kind, at least, and as many as there is time for
KINDS = {"fp32": "float32", "fp64": "float64"}


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Squares of random numbers."""
    import numpy as np

    until = Deadline.of(min(ask.spare_s, 20.0))
    source = np.random.default_rng(0)
    side = _side(source, until.left_s() / len(KINDS) / RUNS)
    for index, (name, kind) in enumerate(KINDS.items()):
        left, right = (source.standard_normal((side, side)).astype(kind) for _ in range(2))
        out = np.empty_like(left)
        np.matmul(left, right, out=out)
        half = Deadline.of(until.left_s() / (len(KINDS) - index))
        times = timed(lambda a=left, b=right, c=out: np.matmul(a, b, out=c), half, most=20)  # type: ignore[misc]
        settings = (("shape", f"{side}x{side}x{side}"), ("threads", str(ask.cpus)), ("library", _library()))
        yield rate(name, on="cpu", work=2.0 * side**3, times_s=times, unit="flops_per_s", settings=settings)


def _side(source: Any, spare_s: float) -> int:
    """The largest square whose product, in the slower kind, takes no longer than that.

    Beside other programs the small pilot waits up to thirty times as long as it works: its best run counts.
    """
    import numpy as np

    pilot = SIDES[-1]
    square = source.standard_normal((pilot, pilot))
    np.matmul(square, square)
    single_s = min(timed(lambda: np.matmul(square, square), Deadline.of(min(PILOT_S, spare_s))))
    fits = (side for side in SIDES if single_s * (side / pilot) ** 3 < spare_s)
    return next(fits, pilot)


def _library() -> str:
    """What NumPy multiplies with."""
    import numpy as np

    try:
        value: Any = np.show_config(mode="dicts")
        blas = value["Build Dependencies"]["blas"]
        return f"{blas['name']} {blas['version']}"
    except (TypeError, KeyError):
        return f"numpy {np.__version__}"

"""Real traces, replayed request by request."""

from __future__ import annotations

from collections.abc import Iterator

from lab.page.held import RUNS
from rigright.verbs.simulate.frame import simulate
from rigright.verbs.simulate.wish import PlayWish


def replayed() -> Iterator[str]:
    """Mean times of every trace beside this checkout, simulated over measured."""
    yield "| trace | requests | TTFT measured | off | TPOT measured | off | median request: TTFT off | TPOT |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for path in sorted((RUNS / "traces").glob("*.csv")):
        found = simulate(load=PlayWish(trace=str(path), setup=str(path.with_suffix(".json")))).against
        if found is not None:
            yield (
                f"| {path.stem} | {found.requests} | {found.ttft_s:.2f} s | {found.ttft_error:+.1%} | "
                f"{found.tpot_s * 1e3:.1f} ms | {found.tpot_error:+.1%} | {found.request_ttft_error:.1%} | "
                f"{found.request_tpot_error:.1%} |"
            )

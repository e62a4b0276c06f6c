"""Real traces, replayed request by request."""

from __future__ import annotations

from collections.abc import Iterator

from lab.page.validated import RUNS
from rigright.verbs.simulate.setup import PlayWish
from rigright.verbs.simulate.verb import simulate


def replayed() -> Iterator[str]:
    """Mean times of every trace beside this checkout, simulated over measured."""
    yield "| trace | requests | TTFT measured | off | TPOT measured | off | median request: TTFT off | TPOT |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for path in sorted((RUNS / "traces").glob("*.csv")):
        against = simulate(load=PlayWish(trace=str(path), setup=str(path.with_suffix(".json")))).against
        if against is not None:
            yield (
                f"| {path.stem} | {against.requests} | {against.ttft_s:.2f} s | {against.ttft_error:+.1%} "
                f"| {against.tpot_s * 1e3:.1f} ms | {against.tpot_error:+.1%} "
                f"| {against.request_ttft_error:.1%} | {against.request_tpot_error:.1%} |"
            )

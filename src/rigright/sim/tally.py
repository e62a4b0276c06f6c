"""What was counted: how long requests waited and took, what met its limits, how full the cache was."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rigright.sim.fleet import Played
from rigright.sim.load import Load
from rigright.sim.log import Curves, Log

PERCENTILES = (50.0, 90.0, 95.0, 99.0)
BINS = 48
FEWEST = 20  # requests of a steady state, to be counted alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How a figure is spread over requests or tokens."""

    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One stretch of the time that was played: means over it."""

    start_s: float
    end_s: float
    running: float
    waiting: float
    cache_share: float
    output_tok_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What a request must meet to count as good."""

    ttft_s: float | None = None
    tpot_s: float | None = None
    percentile: float | None = None  # the share of requests they hold for; None: on average


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """One load, played. Of a service in steady state, times and rates are those while all users are there."""

    requests: int
    served: int
    counted: int  # requests that the times, rates and shares below are of
    refused: int  # too long for the cache or the model
    span_s: float
    ttft_s: Spread
    tpot_s: Spread
    itl_s: Spread  # gaps between tokens as users see them
    queue_s: Spread
    latency_s: Spread
    requests_per_s: float
    output_tok_per_s: float
    total_tok_per_s: float
    good_share: float  # of all requests: served and within the targets
    good_per_s: float
    ttft_reached_s: float  # what is held against the target: the mean, or the percentile that was asked for
    tpot_reached_s: float  # the same of the time between tokens
    ttft_share: float  # of all requests: the first token came within its target
    tpot_share: float
    backlog_share: float  # of all requests: not yet started when the last one arrived
    preempted: int  # times that a sequence lost its cache
    cache_most: float  # share of the cache
    cache_mean: float
    busy_share: float  # of the time, on average over replicas
    running_mean: float
    passes: int
    decode_only_share: float  # of the busy time, in passes without prompts
    timeline: tuple[Moment, ...]
    hit_share: float | None = None  # of prompt tokens, found in the prefix cache where memory decides it


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """When each request arrived, was let in, had its first and its last token; nan: never."""

    arrival_s: np.ndarray
    started_s: np.ndarray
    first_s: np.ndarray
    last_s: np.ndarray

    @property
    def ttft_s(self) -> np.ndarray:
        """Until the first token."""
        return np.asarray(self.first_s - self.arrival_s)


def moments_of(played: Played) -> Moments:
    """The book as arrays."""
    book = played.book
    return Moments(
        arrival_s=np.asarray(book.arrival_s),
        started_s=np.asarray(book.started_s),
        first_s=np.asarray(book.first_s),
        last_s=np.asarray(book.last_s),
    )


def tally(load: Load, played: Played, *, targets: Targets) -> Tally:
    """Count."""
    moments = moments_of(played)
    served = np.isfinite(moments.last_s)
    more = np.maximum(load.output_tok - 1, 1)
    tpot = np.where(load.output_tok > 1, (moments.last_s - moments.first_s) / more, np.nan)
    start = float(moments.arrival_s.min())
    end = float(np.max(moments.last_s[served], initial=start))
    span = max(end - start, 1e-9)
    mine = _counted(load, moments)
    ok, count = served & mine, max(int(mine.sum()), 1)
    soon = ok & _within(moments.ttft_s, targets.ttft_s)
    steady = ok & (_within(tpot, targets.tpot_s) | (load.output_tok == 1))
    good = soon & steady
    window = (
        (start, end) if mine.all() else (float(moments.arrival_s[mine].min()), float(moments.arrival_s.max()))
    )
    ended = served & (moments.last_s > window[0]) & (moments.last_s <= window[1])
    over = max(window[1] - window[0], 1e-9)
    way_s = (*played.prefill_servers, *played.servers)[0].shop.request_s
    logs = [server.log for server in played.servers]
    all_logs = logs + [server.log for server in played.prefill_servers]
    curves = [log.curves() for log in all_logs][: len(logs)]
    busy = sum(log.busy_s for log in all_logs)
    filled = [
        float(curve.filled[-1]) / server.shop.blocks if len(curve.filled) else 0.0
        for curve, server in zip(curves, played.servers, strict=True)
    ]
    return Tally(
        requests=load.count,
        served=int(served.sum()),
        counted=count,
        refused=len(played.refused),
        span_s=span,
        ttft_s=spread(moments.ttft_s[ok]),
        tpot_s=spread(tpot[ok]),
        itl_s=_gaps(logs),
        queue_s=spread(np.maximum(moments.started_s - moments.arrival_s - way_s, 0.0)[ok]),
        latency_s=spread((moments.last_s - moments.arrival_s)[ok]),
        requests_per_s=float(ended.sum()) / over,
        output_tok_per_s=float(load.output_tok[ended].sum()) / over,
        total_tok_per_s=float((load.output_tok + load.prompt_tok)[ended].sum()) / over,
        good_share=float(good.sum()) / count,
        good_per_s=float(good.sum()) / count * float(ended.sum()) / over,
        ttft_reached_s=_reached(moments.ttft_s[ok], targets.percentile),
        tpot_reached_s=_reached(tpot[ok], targets.percentile),
        ttft_share=float(soon.sum()) / count,
        tpot_share=float(steady.sum()) / count,
        backlog_share=float((moments.started_s > moments.arrival_s.max()).sum()) / max(load.count, 1),
        preempted=sum(server.preempted for server in (*played.servers, *played.prefill_servers)),
        cache_most=max(server.log.most_blocks / server.shop.blocks for server in played.servers),
        cache_mean=float(np.mean(filled)) / span,
        busy_share=busy / span / len(all_logs),
        running_mean=float((moments.last_s - moments.started_s)[served].sum()) / span,
        passes=int(sum(log.passes for log in all_logs)),
        decode_only_share=sum(log.alone_s for log in all_logs) / busy if busy else 0.0,
        hit_share=_found(load, played),
        timeline=_timeline(moments, played, curves=curves, window=(start, end)),
    )  # fmt: skip


def _found(load: Load, played: Played) -> float | None:
    """The share of prompt tokens that was in the cache; None: it was stated, or nothing comes back."""
    if load.sessions is None or played.prefill_servers:
        return None
    prompt, cached = (
        np.asarray(column)[load.sessions.first :] for column in (played.book.prompt, played.book.cached)
    )
    return float(cached.sum() / max(prompt.sum(), 1))


def _counted(load: Load, moments: Moments) -> np.ndarray:
    """The requests that are counted: all, or those that came while all users of a service were there.

    A user's first request comes earlier, and the last find others gone; where too few are left, all count.
    """
    every = np.ones(load.count, dtype=bool)
    if not load.steady or load.users is None:
        return every
    values = np.arange(load.count) >= load.users
    kept = values & (moments.arrival_s >= moments.arrival_s[: load.users].max())
    latest = np.argsort(moments.arrival_s)[load.count - load.users // 2 :]
    kept[latest] = False
    return kept if kept.sum() >= FEWEST else every


def spread(values: np.ndarray) -> Spread:
    """Mean and percentiles; nan where there is nothing."""
    known = values[np.isfinite(values)]
    if not len(known):
        return _spread(float("nan"), [float("nan")] * 5)
    return _spread(float(known.mean()), [*np.percentile(known, PERCENTILES).tolist(), float(known.max())])


def _reached(values: np.ndarray, percentile: float | None) -> float:
    known = values[np.isfinite(values)]
    if not len(known):
        return float("nan")
    return float(known.mean() if percentile is None else np.percentile(known, 100 * percentile))


def _spread(mean: float, marks: list[float]) -> Spread:
    p50, p90, p95, p99, most = marks
    return Spread(mean=mean, p50=p50, p90=p90, p95=p95, p99=p99, most=most)


def _within(values: np.ndarray, limit_s: float | None) -> np.ndarray:
    return np.ones(len(values), dtype=bool) if limit_s is None else values <= limit_s


def _gaps(logs: list[Log]) -> Spread:
    """Gaps between tokens as users see them."""
    pairs = [log.gaps() for log in logs]
    gaps = np.concatenate([gap for gap, _ in pairs]) if pairs else np.zeros(0)
    weights = np.concatenate([weight for _, weight in pairs]) if pairs else np.zeros(0)
    total = weights.sum()
    if not total > 0:
        return spread(np.zeros(0))
    order = np.argsort(gaps)
    reached = np.cumsum(weights[order]) / total
    places = np.minimum(np.searchsorted(reached, np.array(PERCENTILES) / 100), len(gaps) - 1)
    longest = max(log.longest_gap_s for log in logs)
    mean = sum(log.gap_s for log in logs) / float(total)
    return _spread(mean, [*gaps[order[places]].tolist(), longest])


def _timeline(
    result: Moments, played: Played, *, curves: list[Curves], window: tuple[float, float]
) -> tuple[Moment, ...]:
    """Equal stretches of the time: who was at work and who waited, cache and tokens."""
    edges = np.linspace(*window, BINS + 1)
    if not window[1] > window[0]:
        return ()
    values, started, ended = (
        np.sort(moments) for moments in (result.arrival_s, result.started_s, result.last_s)
    )
    seen = [_until(moments, edges) for moments in (values, started, ended)]
    width = edges[1] - edges[0]
    waiting, running = (np.maximum(np.diff(item - other), 0.0) / width for item, other in pairwise(seen))
    cache = np.mean(
        [
            _over(curve, curve.filled, edges=edges) / server.shop.blocks
            for curve, server in zip(curves, played.servers, strict=True)
        ],
        axis=0,
    )
    firsts = np.sort(result.first_s[np.isfinite(result.first_s)])
    made = np.diff(np.searchsorted(firsts, edges, side="right")) / width
    made += sum(_over(curve, curve.made, edges=edges) for curve in curves)
    return tuple(
        Moment(
            start_s=float(edges[place]),
            end_s=float(edges[place + 1]),
            running=float(running[place]),
            waiting=float(waiting[place]),
            cache_share=float(cache[place]),
            output_tok_per_s=float(made[place]),
        )
        for place in range(BINS)
    )


def _until(moments: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Seconds since each moment, summed, at each edge."""
    known = moments[np.isfinite(moments)]
    sums = np.concatenate([[0.0], np.cumsum(known)])
    reached = np.searchsorted(known, edges)
    return np.asarray(reached * edges - sums[reached])


def _over(curve: Curves, done: np.ndarray, *, edges: np.ndarray) -> np.ndarray:
    """What was done between edges, a second."""
    moments = np.maximum.accumulate(np.concatenate([edges[:1], curve.end_s]))
    return np.asarray(np.diff(np.interp(edges, moments, np.concatenate([[0.0], done]))) / np.diff(edges))

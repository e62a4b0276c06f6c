"""Whether a limit is kept: the figure it is held against, the share of requests, and how sure that is.

Three words, one meaning each. A figure keeps a limit where its expected value does, in the statistic that was
asked for: the mean, or a percentile of the requests. The share of requests that keep it follows from their
percentiles. How sure it is follows from the band of the figure: what is safe keeps it in nine cases of ten.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from math import log
from typing import TYPE_CHECKING

import numpy as np

from rigright.arch.record import Arch
from rigright.cost.bands import EDGE, band, figure_of
from rigright.cost.estimate import Estimate
from rigright.cost.known import NOTHING, Known, ran
from rigright.cost.speed.service import Service
from rigright.demand import Numbers
from rigright.facts.anchors import ANY, RunCase, unmoved
from rigright.facts.chips import Chip
from rigright.facts.engines import Engine
from rigright.facts.hosts import Host, host_chip
from rigright.predict.bands import MEASURED, least_known, subject_of, widened_for_host
from rigright.terms.known import known_of

if TYPE_CHECKING:
    from rigright.cost.speed.apart import Apart

SAFE = 0.9  # chance that a limit is kept, from which on it counts as safe: the edge of an 80 % band
TIMES = ("ttft_s", "tpot_s")  # that limits are set for, the less the better
RATES = ("output_tok_per_s", "requests_per_s")
UNPROVEN = "unproven"  # of its chip or any like it no run is known
KNOWN_SHARES = {  # of requests -> what holds for them
    "ttft_s": {0.5: "ttft_p50_s", 0.95: "ttft_p95_s", 0.99: "ttft_p99_s"},
    "tpot_s": {0.5: "tpot_s", 0.95: "tpot_p95_s"},
}
SHARES = np.linspace(0.005, 0.995, 100)
LOGISTIC = 1.702  # a logistic curve so steep is a normal one, to a hundredth
FARTHEST = 30.0  # from the middle, where a chance is 0 or 1


def at_percentile(served: Mapping[str, Numbers], figure: str, *, percentile: float | None) -> Numbers:
    """What holds for such a share of requests, on average where none is told.

    Between known shares it is a straight line in the rest's logarithm. Those who wait longer and longer thin
    out by the same part each time, so it goes on beyond the last.
    """
    if percentile is None:
        return served[figure]
    shares = KNOWN_SHARES[figure]
    place = min(max(bisect_left(list(shares), percentile), 1), len(shares) - 1)
    (less, low), (more, high) = list(shares.items())[place - 1 : place + 1]
    part = max(log((1 - less) / (1 - percentile)) / log((1 - less) / (1 - more)), 0.0)
    rest = np.subtract(served[high], served[low], where=np.isfinite(served[high]), out=served[high].copy())
    return served[low] + part * rest if part else served[low]


def columns_of(service: Service | Apart) -> dict[str, Numbers]:
    """The times of a service that percentiles are told of, by their names."""
    names = {*TIMES, *(name for shares in KNOWN_SHARES.values() for name in shares.values())}
    return {name: np.asarray(getattr(service, name)) for name in names}


def share_kept(served: Mapping[str, Numbers], figure: str, *, bound: float) -> Numbers:
    """The share of requests that keep a limit: the other way round."""
    reached = [at_percentile(served, figure, percentile=float(share)) for share in SHARES]
    return (np.stack(reached) <= bound).mean(axis=0)


def chance(excess: Numbers, edge: Numbers) -> Numbers:
    """That a limit is kept by what may be `edge` times worse than expected in one case of ten.

    `excess`: how far beyond the limit it is expected, as a logarithm; 0 or less keeps it.
    """
    away = -np.asarray(excess) * EDGE / np.log(np.maximum(edge, 1.001))
    return 1 / (1 + np.exp(np.clip(-LOGISTIC * away, -FARTHEST, FARTHEST)))


def chance_of(estimate: Estimate, *, bound: float) -> float:
    """The same of one time and its band."""
    if not np.isfinite(estimate.value) or estimate.value <= 0:
        return 0.0
    return float(chance(np.log(estimate.value / bound), estimate.high / estimate.value))


@unmoved
def edges_of(
    arch: Arch,
    engine: Engine,
    *,
    kinds: tuple[tuple[Chip, ...], ...],
    hosts: tuple[Host | None, ...] = (),
    case: RunCase = ANY,
) -> dict[str, Numbers]:
    """How many times worse each figure may be in one case of ten, one entry a kind of machine."""
    hosts = hosts or (None,) * len(kinds)
    values = {name: np.ones(len(kinds)) for name in (*TIMES, *RATES, UNPROVEN)}
    plain = [
        place
        for place, (chips, host) in enumerate(zip(kinds, hosts, strict=True))
        if host is None and len(set(chips)) == 1
    ]
    groups: dict[str, list[int]] = {}
    for place in plain:
        groups.setdefault(subject_of(engine, kinds[place][0]), []).append(place)
    for subject, places in groups.items():
        known = known_of(
            subject,
            [kinds[place][0] for place in places],
            what=ran(arch, engine=engine, case=case),
        )
        _put(values, subject, places=places, known=known, apart=case.apart)
    for place in sorted({*range(len(kinds))} - {*plain}):
        host = hosts[place]
        chips = kinds[place] if host is None else (host_chip(host),)
        subject = subject_of(engine, chips[0])
        least = least_known(subject, arch=arch, engine=engine, chips=chips, case=case)
        _put(values, subject, places=[place], known=widened_for_host(least, host=host), apart=case.apart)
    return values


def _put(
    fields: Mapping[str, Numbers], subject: str, *, places: Sequence[int], known: Known, apart: bool
) -> None:
    for name in (*TIMES, *RATES):
        figure, is_inverse = MEASURED[subject][name]
        low, high = band(figure_of(figure, split=apart), known=known)
        fields[name][places] = high if (name in RATES) == is_inverse else 1 / low
    fields[UNPROVEN][places] = np.asarray(known.chip) <= NOTHING

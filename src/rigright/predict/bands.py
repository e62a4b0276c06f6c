"""Serving figures with their bands: each uses the runs that measured it, or its inverse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import replace
from rigright.base.units import KILO
from rigright.cost.bands import estimate, figure_of
from rigright.cost.estimate import Estimate
from rigright.cost.known import Known, ran
from rigright.cost.layers import transcribes
from rigright.demand import Numbers, Traffic
from rigright.facts.anchors import ANY, RunCase
from rigright.facts.chips import Chip
from rigright.facts.engines import Engine, engines
from rigright.facts.hosts import CPU, Host, host_chip
from rigright.terms.known import known_of
from rigright.terms.speed import stream_table

SERVING, STREAMS, HYBRID = "speed_serving", "speed_streams", "speed_hybrid"
MANY = 512  # engines on chips
UNSAID = {"cpu": 0.35, "transfers": 0.1, "channels": 0.0}  # of a host: how much wider a band is for it
HOSTED = ("decode", "prefill", "tpot", "ttft", "output")
Measured = tuple[str, bool]  # the figure that runs measured; whether ours is one over it
MEASURED: dict[str, Mapping[str, Measured]] = {
    SERVING: {
        "ttft_s": ("ttft_s", False),
        "tpot_s": ("tpot_s", False),
        "output_tok_per_s": ("output_tok_per_s", False),
        "requests_per_s": ("output_tok_per_s", False),
        "user_tok_per_s": ("tpot_s", True),
        "prefill_tok_per_s": ("ttft_s", True),
        "total_tok_per_s": ("total_tok_s", False),
    },
    STREAMS: {
        "ttft_s": ("prefill_tok_s", True),
        "tpot_s": ("decode_tok_s_per_user", True),
        "output_tok_per_s": ("output_tok_per_s", False),
        "requests_per_s": ("output_tok_per_s", False),
        "user_tok_per_s": ("decode_tok_s_per_user", False),
        "prefill_tok_per_s": ("prefill_tok_s", False),
        "total_tok_per_s": ("total_tok_s", False),
    },
}
MEASURED[HYBRID] = MEASURED[STREAMS]
METRICS = {  # of run files -> as plans name them
    "ttft_ms": "ttft_s",
    "tpot_ms": "tpot_s",
    "output_tok_s_total": "output_tok_per_s",
    "requests_s_total": "requests_per_s",
    "decode_tok_s_per_user": "user_tok_per_s",
    "prefill_tok_s": "prefill_tok_per_s",
    "total_tok_s": "total_tok_per_s",
}
OTHERS = {"latency_ms": "latency_s", "itl_ms": "itl_s"}  # that plans do not show


def figure_in(values: Mapping[str, np.ndarray], metric: str) -> np.ndarray | None:
    """A figure under its name in run files and in their unit; None: there is none of that name."""
    column = values.get(METRICS.get(metric) or OTHERS.get(metric, metric))
    return column if column is None or not metric.endswith("_ms") else column * KILO


@lru_cache(maxsize=MANY)
def subject_of(engine: Engine, chip: Chip, *, alone: bool = False) -> str:
    """The corrections that time an engine on a chip: its own as a stream, else those of servers.

    A server is one whatever a lone stream of its early days took; `alone`: it is such a stream, without one.
    """
    if chip.vendor == CPU:
        return HYBRID
    own = engines().get(engine.id, engine)
    table = stream_table(engine if alone or own.pool != "share" else own, chip)
    return SERVING if table is None else STREAMS


def tell(
    figures: Mapping[str, float],
    *,
    arch: Arch,
    engine: Engine,
    chips: Sequence[Chip],
    host: Host | None = None,
    case: RunCase = ANY,
) -> dict[str, Estimate]:
    """Each figure with the band of the least known of the chips.

    `host`: what works on a part in main memory; of the two it decides, and is known less of. `case`: how it
    runs, of which the user's own runs may tell.
    """
    chips = chips if host is None else (host_chip(host),)
    subject = subject_of(engine, chips[0])
    known = widened_for_host(
        least_known(subject, arch=arch, engine=engine, chips=chips, case=case), host=host
    )
    estimates = _tell_known(figures, subject, known=known, case=case)
    if not transcribes(arch):
        return estimates
    return {
        name: replace(estimate, mark="physics") for name, estimate in estimates.items()
    }  # no run of such was fitted


def _tell_known(
    figures: Mapping[str, float], subject: str, *, known: Known, case: RunCase
) -> dict[str, Estimate]:
    """The same where it is settled what is known."""
    estimates = {
        name: _with_band(subject, name, value=value, known=known, apart=case.apart)
        for name, value in figures.items()
    }
    output, each = estimates.get("output_tok_per_s"), estimates.get("tpot_s")
    if output is not None and each is not None:
        estimates["output_tok_per_s"] = at(
            output, float(most_output(output.value, each.value, load=case.load))
        )
    return estimates


def widened_for_host(known: Known, *, host: Host | None) -> Known:
    """The same with bands as much wider as what nobody said of a host makes them."""
    width = 1.0 if host is None else 1.0 + sum(UNSAID.get(name, 0.0) for name in host.assumed)
    wider = {figure: width * np.asarray(known.narrow.get(figure, 1.0)) for figure in HOSTED}
    return known if width == 1.0 else replace(known, narrow={**known.narrow, **wider})


def least_known(
    subject: str,
    *,
    arch: Arch,
    engine: Engine,
    chips: Sequence[Chip],
    case: RunCase = ANY,
    source: str = "",
) -> Known:
    """What was measured of the chip that least was measured of."""
    known = known_of(subject, chips, what=ran(arch, engine=engine, case=case, source=source))
    return known.at(known.least())


def metric_with_band(subject: str, metric: str, *, value: float, known: Known, apart: bool) -> Estimate:
    """A figure of a run file with the band that a plan gives it."""
    if metric in METRICS:
        return _with_band(subject, METRICS[metric], value=value, known=known, apart=apart)
    return estimate(figure_of(metric, split=apart), value=value, known=known)


def measured_as(subject: str, metric: str) -> tuple[str, bool]:
    """The figure whose runs tell of a metric of a run file, and whether the metric is one over it."""
    figure, is_inverse = MEASURED[subject].get(METRICS.get(metric, ""), (metric, False))
    return figure_of(figure), is_inverse


def _with_band(subject: str, name: str, *, value: float, known: Known, apart: bool) -> Estimate:
    figure, is_inverse = MEASURED[subject][name]
    figure = figure_of(figure, split=apart)
    if not is_inverse:
        return estimate(figure, value=value, known=known)
    result = estimate(figure, value=_inverse(value), known=known)
    low, high = _inverse(result.high), _inverse(result.low)
    return Estimate(value=_inverse(result.value), low=low, high=high, mark=result.mark)


def most_output(output_tok_per_s: Numbers, tpot_s: Numbers, *, load: Numbers) -> Numbers:
    """Tokens a second of all, where own runs moved them apart: never more than so many make at their pace."""
    most = np.divide(load, tpot_s, out=np.full(np.shape(tpot_s), np.inf), where=np.asarray(tpot_s) > 0)
    return np.where(np.asarray(load) > 0, np.minimum(output_tok_per_s, most), output_tok_per_s)


def case_of(
    traffic: Traffic, weights: str, *, chips: float, staged: bool = False, apart: bool = False
) -> RunCase:
    """A load as own runs tell of it: a prompt counts by what is read of it anew."""
    load = 0.0 if traffic.concurrency is None else float(traffic.concurrency)
    return RunCase(
        weights=weights,
        chips=chips,
        load=load,
        prompt_tok=float(traffic.prompt_tok - traffic.cached_tok),
        output_tok=float(traffic.output_tok),
        apart=apart,
        staged=staged,
    )


def at(estimate: Estimate, value: float) -> Estimate:
    """The band of a figure around a value that the user's own runs have moved already."""
    if not np.isfinite(estimate.value) or estimate.value <= 0:
        return replace(estimate, value=value)
    ratio = value / estimate.value
    return replace(estimate, value=value, low=estimate.low * ratio, high=estimate.high * ratio)


def _inverse(value: float) -> float:
    """One over it; an endless wait is a rate of nothing, and the other way round."""
    with np.errstate(divide="ignore"):
        return float(np.divide(1.0, value))

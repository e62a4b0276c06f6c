"""The page of `simulate`: waiting, first and next tokens, what met its targets, and how the time went."""

from __future__ import annotations

from dataclasses import fields
from math import isnan
from typing import Any

from rigright.base.units import show_seconds
from rigright.base.words import Sentence, say
from rigright.cost.estimate import Estimate
from rigright.report.page import Bar, Bars, Column, Line, Page, Part, Piece, Points, Table
from rigright.report.simulated import Against, Simulated
from rigright.sim.tally import Moment, Spread

ROWS = 16  # of the picture of the time
SHARES = 100


def page(result: Simulated) -> Page:
    """The page for people."""
    counted = result.tally
    parts: list[Part] = [
        Line(said=_verdict(result), tone="good" if counted.served == counted.requests else "warn"),
        Line(said=result.load, tone="dim"),
        Line(said=_served_by(result), tone="dim"),
        _table(result),
        Line(said=_throughput(result)),
    ]
    if _has_targets(result):
        parts.append(_good(result))
    parts.append(Points(title=say("what holds it back"), items=result.binds))
    if counted.timeline:
        parts.append(_picture(result))
    if result.against is not None:
        parts.append(_against(result, result.against))
    if result.wrote is not None:
        parts.append(Line(said=say("each request's tokens are in {file}", file=result.wrote), tone="dim"))
    parts += [Line(said=note, tone="dim") for note in result.notes]
    return Page(
        title=say("{model} on {machine}, played", model=result.model, machine=result.machine),
        parts=tuple(parts),
    )


def _verdict(result: Simulated) -> Sentence:
    if not result.tally.served:
        return say("no request was served")
    return say(
        "first token after {ttft}, then {tpot} a token; {rate} tok/s in all",
        ttft=_banded(result.ttft_s),
        tpot=_banded(result.tpot_s),
        rate=f"{result.output_tok_per_s.value:,.0f}",
    )


def _banded(found: Estimate) -> Sentence | str:
    if isnan(found.value):  # nobody was served, or nobody had a second token
        return say("never")
    return f"{show_seconds(found.value)} ({show_seconds(found.low)}-{show_seconds(found.high)})"


def _served_by(result: Simulated) -> Sentence:
    layout = result.layout
    return say(
        "{engine} {version}, {weights}, tp {tp} pp {pp}, replicas: {replicas}, policy {policy}: "
        "{seats} seats, {budget} tokens a pass, {pool} tokens of cache each",
        engine=result.engine,
        version=result.engine_version,
        weights=result.weights_format,
        tp=layout.tp,
        pp=layout.pp,
        replicas=result.replicas,
        policy=result.policy.replace("_", "-"),
        seats=f"{result.max_seqs:,}",
        budget=f"{result.budget_tok:,}",
        pool=say("endless") if result.pool_tok is None else f"{result.pool_tok:,}",
    )


def _table(result: Simulated) -> Table:
    counted = result.tally
    rows = (
        (say("in the queue"), counted.queue_s),
        (say("first token (TTFT)"), counted.ttft_s),
        (say("a further token, a request's mean (TPOT)"), counted.tpot_s),
        (say("gap between tokens (ITL)"), counted.itl_s),
        (say("whole answer"), counted.latency_s),
    )
    heads = (say("mean"), "p50", "p90", "p95", "p99", say("most"))
    return Table(
        columns=(Column(head="", flexible=True), *(Column(head=head, right=True) for head in heads)),
        rows=tuple((name, *(_time(value) for value in _values(spread))) for name, spread in rows),
    )


def _values(spread: Spread) -> tuple[float, ...]:
    return tuple(getattr(spread, field.name) for field in fields(spread))


def _time(value_s: float) -> str:
    return show_seconds(value_s) if value_s > 0 else ("0" if value_s == 0 else "-")


def _throughput(result: Simulated) -> Sentence:
    counted = result.tally
    return say(
        "requests served: {served} of {requests} in {span}, {rate} a second; "
        "cache at most {most} % full; at work {busy} % of the time",
        served=f"{counted.served:,}",
        requests=f"{counted.requests:,}",
        span=show_seconds(counted.span_s),
        rate=f"{counted.requests_per_s:.3g}",
        most=f"{SHARES * counted.cache_most:.0f}",
        busy=f"{SHARES * counted.busy_share:.0f}",
    )


def _has_targets(result: Simulated) -> bool:
    return result.targets.ttft_s is not None or result.targets.tpot_s is not None


def _good(result: Simulated) -> Line:
    share = result.tally.good_share
    return Line(
        said=say(
            "{share} % of the requests meet the targets (first token {ttft}, further ones {tpot}): "
            "{rate} good ones a second",
            share=f"{SHARES * share:.1f}",
            ttft=_limit(result.targets.ttft_s),
            tpot=_limit(result.targets.tpot_s),
            rate=f"{result.tally.good_per_s:.3g}",
        ),
        tone="good" if share >= 0.9 else "warn",
    )


def _limit(limit_s: float | None) -> Sentence | str:
    return say("any") if limit_s is None else show_seconds(limit_s)


def _picture(result: Simulated) -> Bars:
    """Requests at work and waiting over the time."""
    moments = _thinned(result.tally.timeline)
    most = max((moment.running + moment.waiting for moment in moments), default=0.0)
    began = moments[0].start_s
    return Bars(
        title=say("requests over time; on the right, share of the cache in use"),
        bars=tuple(
            Bar(
                label=show_seconds(moment.start_s - began) if moment.start_s > began else "0",
                pieces=(
                    Piece(name=say("at work"), size=moment.running, shown=f"{moment.running:.0f}"),
                    Piece(name=say("waiting"), size=moment.waiting, shown=f"{moment.waiting:.0f}"),
                ),
                limit=most,
                shown=f"{moment.running:.0f} + {moment.waiting:.0f}, {SHARES * moment.cache_share:.0f} %",
            )
            for moment in moments
        ),
    )


def _thinned(timeline: tuple[Moment, ...]) -> list[Moment]:
    """Neighbours put together until few enough are left."""
    each = -(-len(timeline) // ROWS)
    return [_together(timeline[start : start + each]) for start in range(0, len(timeline), each)]


def _together(part: tuple[Moment, ...]) -> Moment:
    means = {
        name: sum(getattr(moment, name) for moment in part) / len(part)
        for name in ("running", "waiting", "cache_share", "output_tok_per_s")
    }
    return Moment(start_s=part[0].start_s, end_s=part[-1].end_s, **means)


def _against(result: Simulated, found: Against) -> Table:
    rows = (
        (say("first token (TTFT)"), result.tally.ttft_s.mean, found.ttft_s,
         found.ttft_error, found.request_ttft_error),
        (say("a further token, a request's mean (TPOT)"), result.tally.tpot_s.mean, found.tpot_s,
         found.tpot_error, found.request_tpot_error),
    )  # fmt: skip
    return Table(
        title=say("against what was measured"),
        columns=(
            Column(head="", flexible=True),
            Column(head=say("played"), right=True),
            Column(head=say("measured"), right=True),
            Column(head=say("error of the mean"), right=True),
            Column(head=say("median error of a request"), right=True),
        ),
        rows=tuple(
            (name, _time(own), _time(measured), f"{SHARES * error:+.1f} %", f"{SHARES * median:.1f} %")
            for name, own, measured, error, median in rows
        ),
    )


def plain(result: Simulated, _language: str) -> dict[str, Any]:
    """The same for scripts."""
    counted = result.tally
    own = {name: getattr(result, name) for name in (
        "model", "machine", "engine", "engine_version", "weights_format", "kv", "policy", "replicas",
        "prefill_workers", "router", "pool_tok", "max_seqs", "budget_tok")}  # fmt: skip
    cuts = {name: int(getattr(result.layout, name)) for name in ("tp", "pp", "dp", "ep", "cp")}
    return {
        **own,
        "layout": cuts,
        "load": result.load,
        "targets": {"ttft_s": result.targets.ttft_s, "tpot_s": result.targets.tpot_s},
        "means": {
            name: {part: getattr(getattr(result, name), part) for part in ("value", "low", "high", "mark")}
            for name in ("ttft_s", "tpot_s", "output_tok_per_s")
        },
        **{field.name: _data(getattr(counted, field.name)) for field in fields(counted)},
        "binds": list(result.binds),
        "against": None if result.against is None else _record(result.against),
        "notes": list(result.notes),
    }


def _data(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_record(moment) for moment in value]
    return _record(value) if isinstance(value, Spread) else value


def _record(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}

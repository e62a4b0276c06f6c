"""The page of `simulate`: whether the load is carried and targets are met, times by percentile, the time."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from rigright.base import telling
from rigright.base.page import Line, Page, Shown, Strip, Strips, Table, Tone, number, prose, table
from rigright.base.units import KILO, show_seconds, show_short
from rigright.base.words import Sentence, say, with_commas, with_semicolons
from rigright.facts.chips import short
from rigright.predict.kept import SAFE
from rigright.report.pages.brief import model_name, note_lines, overloaded, short_format
from rigright.report.pages.figures import at_share
from rigright.search.sure import limit_time
from rigright.sim.tally import Moment, Spread
from rigright.verbs.simulate.verb import Against, Simulated

SHARES = 100
_BACKLOG = 0.05  # of all requests still queue when the last one arrives: more is an overload
_CARRIED = 0.9  # of the requests that arrive a second


def page(result: Simulated, *, details: bool = False) -> Page:
    """The page for people."""
    hits = result.tally.hit_share
    return Page.of(
        _verdict(result),
        Line.dim(result.load),
        Line.dim(_served_by(result)) if details else None,
        _table(result, details=details),
        Line(text=_throughput(result)),
        None if hits is None else Line.dim(say("prefix cache hit rate {share}", share=f"{hits:.0%}")),
        map(Line.dim, result.binds),
        _strips(result.tally.timeline, details=details),
        None if result.against is None else _against(result, result.against),
        Line.dim(say("tokens of each request: {file}", file=result.wrote)),
        note_lines(result.notes, details=details),
    )


def _verdict(result: Simulated) -> Line:
    """Whether the load is carried and its targets are met, before any figure."""
    counted, rate = result.tally, result.rate_per_s
    if not counted.served:
        return Line.bad(say("no request completed"))
    late = list(_late(result))
    if rate is not None and counted.backlog_share > _BACKLOG and counted.requests_per_s < _CARRIED * rate:
        served, is_one = counted.requests_per_s, result.machine.startswith("1x ")
        sentence = overloaded(short(result.machine), served=served, rate=rate, needed=None, is_one=is_one)
        return Line.bad(with_semicolons([sentence, *late]) or sentence)
    at = at_share(result.targets.percentile)
    sentences = [
        say("TTFT{at} {time}", at=at, time=_time(counted.ttft_reached_s)),
        say("TPOT{at} {time}", at=at, time=_time(counted.tpot_reached_s)),
    ]
    figures = with_commas([*sentences, _rate(result)]) or ""
    refused, tone = counted.requests - counted.served, _tone(result)
    if late:
        sentence = with_semicolons(late) or late[0]
    elif _has_targets(result):
        share = f"{SHARES * counted.good_share:.3g}"
        sentence = say("{figures}: {share} % of requests meet the targets", figures=figures, share=share)
    else:
        form = short_format(result.weights_format) + ("" if result.kv == "16bit" else f", {result.kv} KV")
        sentence = say("{machine} serves {model} in {format}: {figures}", machine=short(result.machine),
                   model=model_name(result.model), format=form, figures=figures)  # fmt: skip
    if refused:
        tone = "warn" if tone == "good" else tone
        sentence = say("{said}; requests not served: {count}", said=sentence, count=f"{refused:,}")
    return Line(text=sentence, tone=tone)


def _tone(result: Simulated) -> Tone:
    """Good where every target is surely met, bad where one is not."""
    if any(over for *_, over in _targets(result)):
        return "bad"
    return "warn" if any(sure < SAFE for sure in result.certainty.values()) else "good"


def _rate(result: Simulated) -> Sentence:
    if result.audio_h_per_h is not None:
        return say("{hours} hours of audio per hour", hours=show_short(result.audio_h_per_h))
    return say("{rate} tok/s", rate=show_short(result.output_tok_per_s.value))


def _targets(result: Simulated) -> Iterator[tuple[str, str, float, float, float, bool]]:
    """Each target: figure, name, what is reached and wanted, who meets it, and whether it is missed."""
    counted, targets = result.tally, result.targets
    known = (
        ("ttft_s", "TTFT", counted.ttft_reached_s, targets.ttft_s, counted.ttft_share),
        ("tpot_s", "TPOT", counted.tpot_reached_s, targets.tpot_s, counted.tpot_share),
    )
    for figure, name, reached, target, share in known:
        if target is not None:
            yield figure, name, reached, target, share, reached > target


def _late(result: Simulated) -> Iterator[Sentence]:
    """Each target that is missed, with the share of requests that meet it; or that may well be."""
    at = at_share(result.targets.percentile)
    for figure, name, reached, target, share, over in _targets(result):
        if over:
            yield say(
                "{name}{at} {time}: over the {target} target ({share} % of requests meet it)",
                name=name, at=at, time=_time(reached), target=limit_time(target),
                share=f"{SHARES * share:.3g}",
            )  # fmt: skip
        elif result.certainty.get(figure, 1.0) < SAFE:
            limit, count = f"{name}{at} <= {limit_time(target)}", int(10 * result.certainty[figure])
            yield say("{limit} in only {count} of 10 cases", limit=limit, count=count)


def _strips(timeline: tuple[Moment, ...], *, details: bool) -> Strips | None:
    """Requests at work and waiting over the time, with `details` how full the caches are."""
    if not timeline:
        return None
    running, queued = [moment.running for moment in timeline], [moment.waiting for moment in timeline]
    caches = [moment.cache_share for moment in timeline]
    shown: list[tuple[Sentence, list[float], str, float | None]] = [
        (say("running"), running, show_short(max(running)), None),
        (say("queued"), queued, show_short(max(queued)), None),
    ]
    if details:
        shown.append((say("KV cache in use"), caches, f"{max(caches):.0%}", 1.0))
    return Strips(
        strips=tuple(
            Strip(label=name, values=tuple(values), shown=say("max {most}", most=most), high=high)
            for name, values, most, high in shown
        ),
        span=say("over {time}", time=show_seconds(timeline[-1].end_s - timeline[0].start_s)),
    )


def _served_by(result: Simulated) -> Sentence:
    layout, pool = result.layout, result.pool_tok
    return say(
        "{engine} {version}, {weights}, tp {tp} pp {pp}, {replicas} replicas, policy {policy}: "
        "{slots} slots, {budget} tokens per step, KV cache for {pool} tokens each",
        engine=result.engine, version=result.engine_version, weights=result.weights_format,
        tp=layout.tp, pp=layout.pp, replicas=result.replicas, policy=result.policy.replace("_", "-"),
        slots=f"{result.max_seqs:,}", budget=f"{result.budget_tok:,}",
        pool=say("unlimited") if pool is None else f"{pool:,}",
    )  # fmt: skip


def _table(result: Simulated, *, details: bool) -> Table:
    """Times by percentile, their unit in the name of the row."""
    counted = result.tally
    rows = (
        (say("TTFT, s"), counted.ttft_s, 1.0),
        (say("TPOT, ms"), counted.tpot_s, KILO),
        (say("gap between tokens (ITL), ms"), counted.itl_s, KILO),
        (say("queue, s"), counted.queue_s, 1.0),
        (say("whole request, s"), counted.latency_s, 1.0),
    )
    heads: dict[str, Shown] = {
        "mean": say("mean"),
        "p50": "p50",
        "p90": "p90",
        "p95": "p95",
        "p99": "p99",
        "most": say("max"),
    }
    kept = [name for name in heads if details or name not in {"p90", "most"}]

    def cells(spread: Spread, scale: float) -> Iterator[str]:
        values = (getattr(spread, name) * scale for name in kept)
        return ("-" if isnan(value) else show_short(value) if value > 0.001 else "0" for value in values)

    shown: list[tuple[Shown, ...]] = [(name, *cells(spread, scale)) for name, spread, scale in rows]
    return table((prose(""), *(number(heads[name]) for name in kept)), shown)


def _time(value_s: float) -> str:
    return show_seconds(value_s) if value_s > 0 else ("0" if value_s == 0 else "-")


def _throughput(result: Simulated) -> Sentence:
    counted, output = result.tally, result.output_tok_per_s
    tokens, low, high = (show_short(each) for each in (output.value, output.low, output.high))
    shares = {"most": f"{SHARES * counted.cache_most:.0f}", "busy": f"{SHARES * counted.busy_share:.0f}"}
    return say(
        "{rate} requests/s, {tokens} output tok/s ({low}-{high}); KV cache peak {most} %, GPU busy {busy} %",
        rate=f"{counted.requests_per_s:.3g}", tokens=tokens, low=low, high=high, **shares,
    )  # fmt: skip


def _has_targets(result: Simulated) -> bool:
    return result.targets.ttft_s is not None or result.targets.tpot_s is not None


def _against(result: Simulated, against: Against) -> Table:
    tally = result.tally
    rows = (
        ("TTFT", tally.ttft_s.mean, against.ttft_s, against.ttft_error, against.request_ttft_error),
        ("TPOT", tally.tpot_s.mean, against.tpot_s, against.tpot_error, against.request_tpot_error),
    )
    simulated, measured = number(say("simulated")), number(say("measured"))
    errors = number(say("error of the mean")), number(say("median error of a request"))
    cells = (
        (name, _time(own), _time(seen), f"{SHARES * error:+.1f} %", f"{SHARES * median:.1f} %")
        for name, own, seen, error, median in rows
    )
    return table((prose(""), simulated, measured, *errors), cells, title=say("against what was measured"))


plain = telling.RecordPrinter(Simulated)

"""inference.csv: speed of serving and generation, each row by its load, over all that nobody said."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rigright.base.errors import AskError, unknown
from rigright.base.record import dataclass, replace
from rigright.base.tables import Row
from rigright.base.units import KILO, MIB, show_bytes
from rigright.base.words import Sentence, say, with_semicolons
from rigright.choice.layout import is_staged
from rigright.cost.known import Known, ran
from rigright.cost.unsaid import trials, weighed
from rigright.facts.anchors import FULL, anchors
from rigright.predict.bands import (
    METRICS,
    at,
    case_of,
    measured_as,
    metric_with_band,
    most_output,
    subject_of,
    widened_for_host,
)
from rigright.terms.known import known_of_one
from rigright.terms.memory import weights_bytes
from rigright.verbs.validate.ask import RunAsk, count_of, is_encoding, most_bytes, node_of, runs_of
from rigright.verbs.validate.hybrid_asks import is_split, read_hybrid
from rigright.verbs.validate.record import Answer, Basis, Prediction, TableKind, each, together
from rigright.verbs.validate.served_asks import is_loaded, read_served
from rigright.verbs.validate.stream_asks import predict_encoder, read_stream

MODES = ("serve", "batch", "single", "max")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedRow:
    """A row as it was read."""

    row: Row
    asks: tuple[RunAsk, ...]  # as asked, and with each thing that nobody said moved


def answers(rows: Sequence[Row]) -> list[Answer]:
    """A load of many is served; one stream or one static batch runs alone, some on a processor."""
    return speeds(each(_read, rows))


def _read(row: Row) -> SpeedRow | tuple[Prediction, ...]:
    """A row as it was read; of an encoder, what it comes to."""
    _refuse(row)
    if (row.get("cpu") and not row.get("chip")) or is_split(row.get("offload") or ""):
        return _beside(row)
    if row.get("mode") in {"serve", "max"} or is_loaded(row):
        return read_loaded(row)
    if is_encoding(row):
        return (predict_encoder(row),)
    ask = read_stream(row)
    if _spills(ask):
        return _beside(row)
    size, room = _weights(ask), most_bytes(ask.chip) * len(ask.case.cards)
    if size > room:
        raise AskError(
            say(
                "weights take {size}; {cards}x {chip} has {room}",
                size=show_bytes(size), cards=len(ask.case.cards), chip=ask.chip.name, room=show_bytes(room),
            )
        )  # fmt: skip
    moved = [read_stream({**row, **trial}) for trial in trials(ask.unsaid)] if ask.unsaid else []
    return SpeedRow(row=row, asks=(ask, *moved))


def read_loaded(row: Row) -> SpeedRow:
    """What a row of a server asks; raises a RigError that says what is missing."""
    ask = read_served(row)
    return SpeedRow(row=row, asks=tuple(ask.sent(**trial) if trial else ask for trial in trials(ask.unsaid)))


def _beside(row: Row) -> SpeedRow:
    """A row of a model that main memory holds a part of, or all, as hybrid.csv has it."""
    cards = 0 if row.get("cpu") and not row.get("chip") else row.get("n_chips") or 1
    batch = row.get("batch") or row.get("load") or 1
    fields = {**row, "gpu": row.get("chip"), "n_gpus": cards, "batch": batch}
    return SpeedRow(row=row, asks=(read_hybrid(fields),))


def speeds(read: Sequence[SpeedRow | Answer]) -> list[Answer]:
    """What each row measures, the figures of all worked out together; what is an answer stays one."""
    asked = [row for row in read if isinstance(row, SpeedRow)]
    known: dict[object, Known] = {}  # rows alike in what was measured of them share their bands
    errors = iter(
        each(lambda value, values: _predictions(value, values, seen=known), asked, together(_figures, asked))
    )
    return [next(errors) if isinstance(row, SpeedRow) else row for row in read]


def _figures(read: Sequence[SpeedRow]) -> list[list[float]]:
    """The figure of every ask of every row."""
    values = runs_of([ask for row in read for ask in row.asks]).figures()
    ends = np.cumsum([len(row.asks) for row in read])[:-1]
    return [part.tolist() for part in np.split(values, ends)]


def _predictions(
    asked: SpeedRow, values: Sequence[float], *, seen: dict[object, Known]
) -> tuple[Prediction, ...]:
    """What a row measures, from the figures of its asks."""
    row, ask, value = asked.row, asked.asks[0], values[0]
    case, metric, chip = ask.case, ask.metric, ask.timed
    if not np.isfinite(value) or value <= 0 or (ask.host and metric not in METRICS):
        raise AskError(_why_none(ask, value))
    split = ask.host is None and ask.is_laid_out and bool(is_staged(case.engine.split, case.layout.pp))
    load = case_of(
        ask.traffic, case.serving.weights, chips=len(case.cards), staged=split,
        apart=bool(row.get("disagg")) and not case.is_alone and ask.host is None,
    )  # fmt: skip
    load = replace(load, load=load.load or FULL)
    subject = subject_of(case.engine, chip, alone=case.is_alone)
    what = ran(case.arch, engine=case.engine, source=row.get("source"), case=load)
    alike = (subject, chip.id, case.engine, what.model, what.source, load if anchors() else load.staged)
    known = seen.get(alike) or seen.setdefault(alike, known_of_one(subject, chip, what=what))
    known = widened_for_host(known, host=ask.host)
    estimate = metric_with_band(subject, metric, value=value, known=known, apart=load.apart)
    if known.shift and (ask.host or not case.is_alone):
        estimate = at(estimate, _together(ask, estimate.value, known=known))
    tried = values[-len(trials(ask.unsaid)) :]
    integral = weighed(
        tried, ask.unsaid, band=(estimate.low / estimate.value, estimate.high / estimate.value)
    )
    figure, is_inverse = measured_as(subject, metric)
    return (
        Prediction.of(
            metric,
            integral,
            times=estimate.value / value,  # by the user's own runs
            why=with_semicolons(ask.assumed),
            basis=Basis(
                subject=subject, figure=figure, inverse=is_inverse, chip=chip.id,
                engine=case.engine.id, model=case.arch.name, case=load,
            ),
        ),
    )  # fmt: skip


def _why_none(ask: RunAsk, value: float) -> Sentence:
    """Why a row has no figure."""
    if ask.host is not None:
        return say('"{metric}" is not a single-stream metric', metric=ask.metric)
    if ask.case.is_alone:
        return say(
            'cannot predict "{metric}" on {chip}: its FLOP/s or bandwidth is unknown',
            metric=ask.metric, chip=ask.chip.name,
        )  # fmt: skip
    if np.isnan(value):
        return say('unknown serving metric "{metric}"', metric=ask.metric)
    if value > 0:
        return say("overloaded: requests arrive faster than they are served")
    return say("a single request does not fit in the memory of these GPUs")


def _together(ask: RunAsk, value: float, *, known: Known) -> float:
    """A figure that own runs moved, beside the others that they moved: they hang together still.

    Output is never above concurrency over TPOT; a latency that nobody measured is TTFT and TPOT together.
    """
    sent = ask.traffic
    if sent.concurrency is None or ask.metric not in {"output_tok_s_total", "latency_ms"}:
        return value
    subject = subject_of(ask.case.engine, ask.timed)
    asks = [replace(ask, metric=metric) for metric in ("ttft_ms", "tpot_ms")]
    ttft_ms, tpot_ms = (
        metric_with_band(subject, one.metric, value=float(figure), known=known, apart=False).value
        for one, figure in zip(asks, runs_of(asks).figures(), strict=True)
    )
    if ask.metric == "output_tok_s_total":
        return float(most_output(value, tpot_ms / KILO, load=sent.concurrency))
    measured = float(known.narrow.get("latency", 1.0)) < 1
    return value if measured else ttft_ms + max(sent.output_tok - 1, 0) * tpot_ms


def _spills(ask: RunAsk) -> bool:
    """Whether an engine that can would leave a part of the model in main memory: no card has room for all."""
    engine, cards = ask.case.engine, len(ask.case.cards)
    if engine.ram_tok is None or ask.chip.unified_memory:
        return False
    return _weights(ask) + engine.margin_mib * MIB > ask.chip.mem_usable_bytes * cards


def _weights(ask: RunAsk) -> float:
    return weights_bytes(ask.case.arch, ask.case.serving.weights)


def _refuse(row: Row) -> None:
    """Raise for the first thing of a row that cannot be beside another."""
    value = row.get("mode")
    if value and value not in MODES:
        raise unknown(say("{text}", text="mode"), value, known=MODES)
    _refuse_chips(row)
    tp, pp, chips = row.get("tp") or 1, row.get("pp") or 1, row.get("n_chips")
    if chips is not None and tp * pp > chips and not row.get("disagg"):
        raise AskError(
            say(
                "tp {tp} x pp {pp} x dp {dp} x cp {cp} needs {needed} GPUs; there are {cards}",
                tp=tp, pp=pp, dp=1, cp=1, needed=tp * pp, cards=chips,
            )
        )  # fmt: skip
    context, least = row.get("context_tok"), (row.get("prompt_tok") or 0) + (row.get("output_tok") or 0)
    if context is not None and least > context:
        said = {"told": f"{least:,g}", "context": f"{context:,g}"}
        raise AskError(say("{told} tokens do not fit in a context of {context}", **said))


def _refuse_chips(row: Row) -> None:
    """A cell of chips that names unlike ones, or another number than that of the row."""
    name = row.get("chip") or ""
    node = node_of(name)
    if node is None:
        return
    if node.is_mixed:
        raise AskError(say('"{text}" names several GPUs: a row has one kind', text=name))
    count, value = count_of(node), row.get("n_chips") or 1
    if count not in {1, value}:
        raise AskError(
            say('"{text}" is {count} GPUs; n_chips says {said}', text=name, count=count, said=value)
        )


KIND = TableKind(
    name="inference",
    marks=("engine", "mode", "metric"),
    metrics=lambda raw: (raw.get("metric") or "value",),
    answers=answers,
    needed=("metric",),
    measured=("value",),
)

"""Rows of inference.csv of one stream or one static batch, which run alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from rigright.base.errors import AskError, RigError
from rigright.base.tables import Row
from rigright.base.units import MIB, show_bytes
from rigright.base.words import say, with_semicolons
from rigright.cost.known import ran
from rigright.cost.speed.reach import KERNEL
from rigright.cost.unsaid import Prior, integrated
from rigright.facts.anchors import RunCase
from rigright.predict.told import measured_as, subject_of, told_metric
from rigright.terms.known import known_of_one
from rigright.terms.stored import weights_bytes
from rigright.terms.unsaid import priors
from rigright.verbs.validate.encoder_rows import is_encoding, predict_encoder
from rigright.verbs.validate.record import Basis, Prediction, caught
from rigright.verbs.validate.stream_asks import StreamAsk, read_stream
from rigright.verbs.validate.stream_cases import figures, group_streams

Move = tuple[tuple[str, Any], ...]


def spills(row: Row) -> bool:
    """Whether an engine that can would leave a part of the model in main memory: no card has room for all."""
    ask = None if is_encoding(row) else read_stream(row)
    if ask is None or ask.engine.ram_tok is None or ask.chip.unified_memory:
        return False
    size = weights_bytes(ask.arch, ask.weights.partition(KERNEL)[0])
    return size + ask.engine.margin_mib * MIB > ask.chip.mem_usable_bytes * ask.cards


def _unsaid(row: Row, ask: StreamAsk) -> tuple[Prior, ...]:
    """What a row leaves open, with how people run: lengths, the format, the backend."""
    tables = ["streams", ask.engine.unsaid_weights]
    if not ask.engine.backend and ask.engine.backends:
        tables.append(ask.chip.vendor)
    found = {name: prior for table in tables for name, prior in priors(table).items()}
    return tuple(prior for name, prior in found.items() if row.get(name) is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _StreamRow:
    """A row as it was read, and what its prediction takes: as asked, and with each unsaid thing moved."""

    row: Row
    ask: StreamAsk
    unsaid: tuple[Prior, ...]
    asks: Mapping[Move, StreamAsk]


def predict_stream(row: Row) -> Prediction:
    """The figure a row measures; raises a RigError that says why there is none."""
    if is_encoding(row):
        return predict_encoder(row)
    asked = _read(row)
    return _predicted(asked, [*figures(group_streams([*asked.asks.values()]))])


def predict_all_streams(rows: Sequence[Row]) -> list[Prediction | RigError]:
    """The same of many rows, their figures worked out together."""
    read = [caught(_read_any, row) for row in rows]
    asks = [ask for asked in read if isinstance(asked, _StreamRow) for ask in asked.asks.values()]
    found = caught(figures, group_streams(asks))
    if isinstance(found, RigError):  # of one of them
        return [caught(predict_stream, row) for row in rows]
    values = iter(found)
    return [
        caught(_predicted, one, [*islice(values, len(one.asks))]) if isinstance(one, _StreamRow) else one
        for one in read
    ]


def _read_any(row: Row) -> _StreamRow | Prediction:
    """A row as it was read; of an encoder, what it comes to."""
    return predict_encoder(row) if is_encoding(row) else _read(row)


def _read(row: Row) -> _StreamRow:
    ask = read_stream(row)
    _check_room(ask)
    unsaid = _unsaid(row, ask)
    middle = {prior.name: prior.middle for prior in unsaid}
    told = [middle, *({**middle, one.name: value} for one in unsaid for value in one.values)]
    asks = {tuple(one.items()): read_stream({**row, **one}) if one else ask for one in [{}, *told]}
    return _StreamRow(row=row, ask=ask, unsaid=unsaid, asks=asks)


def _check_room(ask: StreamAsk) -> None:
    """Refuse weights that no memory of these cards could hold."""
    size = weights_bytes(ask.arch, ask.weights.partition(KERNEL)[0])
    room = max(ask.chip.mem_bytes, *ask.chip.mem_options_bytes, 0.0)
    if size > room * ask.cards:
        raise AskError(
            say(
                "weights take {size}; {cards}x {chip} has {room}",
                size=show_bytes(size),
                cards=ask.cards,
                chip=ask.chip.name,
                room=show_bytes(room * ask.cards),
            )
        )


def _predicted(asked: _StreamRow, values: Sequence[float]) -> Prediction:
    """What a row measures; `values`: its figure, and as each unsaid thing moves it."""
    row, ask = asked.row, asked.ask
    told = dict(zip(asked.asks, map(float, values), strict=True))
    value = told[()]
    if not np.isfinite(value) or value <= 0:
        raise AskError(
            say(
                'cannot predict "{metric}" on {chip}: its FLOP/s or bandwidth is unknown',
                metric=ask.metric,
                chip=ask.chip.name,
            )
        )
    case = RunCase(
        weights=ask.weights.partition(KERNEL)[0],
        chips=ask.cards,
        load=ask.seqs,
        prompt_tok=ask.prompt_tok,
        output_tok=ask.output_tok,
    )
    subject = subject_of(ask.engine, ask.chip, alone=True)
    known = known_of_one(
        subject, ask.chip, what=ran(ask.arch, engine=ask.engine, source=row.get("source"), case=case)
    )
    said = told_metric(subject, ask.metric, value=value, known=known, apart=False)
    figure, is_inverse = measured_as(subject, ask.metric)
    band = (said.low / value, said.high / value)
    found = integrated(lambda moved: told[tuple(moved.items())], asked.unsaid, band=band)
    moved = float(said.value) / value  # by the user's own runs
    return Prediction(
        metric=ask.metric,
        group=ask.metric,
        measured=row.get("value"),
        predicted=found.value * moved,
        low=found.low,
        high=found.high,
        why=with_semicolons(ask.assumed),
        basis=Basis(
            subject=subject, figure=figure, inverse=is_inverse, chip=ask.chip.id,
            engine=ask.engine.id, model=ask.arch.name, case=case,
        ),
    )  # fmt: skip

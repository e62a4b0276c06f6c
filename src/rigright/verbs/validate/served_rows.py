"""Rows of inference.csv that were served: loads of many, in a closed loop or as much as fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from rigright.base.errors import RigError
from rigright.base.record import replace
from rigright.base.tables import Row
from rigright.base.units import KILO
from rigright.base.words import say, with_semicolons
from rigright.cost.bands import figure_of
from rigright.cost.known import Known, ran
from rigright.cost.unsaid import Prior, integrated
from rigright.facts.anchors import FULL, RunCase
from rigright.predict.told import at, measured_as, most_output, subject_of, told_metric
from rigright.terms.known import known_of_one
from rigright.terms.unsaid import priors
from rigright.verbs.validate.record import Basis, Prediction, caught
from rigright.verbs.validate.served_asks import ServedAsk, read_served
from rigright.verbs.validate.served_cases import figures_of

Move = tuple[tuple[str, float], ...]
UNSURE = (0.6, 1.0, 1.7)  # of a length that was estimated from what runs came out at


@dataclass(frozen=True, slots=True, kw_only=True)
class _ServedRow:
    """A row as it was read, and what its prediction takes: the case as asked, and with each length moved."""

    row: Row
    ask: ServedAsk
    unsaid: tuple[Prior, ...]
    moves: tuple[Move, ...]

    @property
    def asks(self) -> list[ServedAsk]:
        changes: list[dict[str, Any]] = [dict(move) for move in self.moves]
        return [replace(self.ask, **change) for change in changes]


def predict_served(row: Row) -> Prediction:
    """The figure a row measures; raises a RigError that says why there is none."""
    asked = _read(row)
    return _predicted(asked, [*figures_of(asked.asks)])


def predict_all_served(rows: Sequence[Row]) -> list[Prediction | RigError]:
    """The same of many rows, their figures worked out together."""
    read = [caught(_read, row) for row in rows]
    asks = [ask for asked in read if isinstance(asked, _ServedRow) for ask in asked.asks]
    found = caught(figures_of, asks)
    if isinstance(found, RigError):  # of one of them
        return [caught(predict_served, row) for row in rows]
    values = iter(found)
    return [
        one if isinstance(one, RigError) else caught(_predicted, one, [*islice(values, len(one.moves))])
        for one in read
    ]


def _read(row: Row) -> _ServedRow:
    ask = read_served(row)
    unsaid = _unsaid(ask)
    moved = (((one.name, value),) for one in unsaid for value in one.values if value != one.middle)
    return _ServedRow(row=row, ask=ask, unsaid=unsaid, moves=((), *moved))


def _predicted(asked: _ServedRow, values: Sequence[float]) -> Prediction:
    """What a row measures; `values`: its figure, and as each unsaid length moves it."""
    row, ask, metric = asked.row, asked.ask, asked.ask.metric
    told = dict(zip(asked.moves, map(float, values), strict=True))
    value = told[()]
    if not np.isfinite(value) or value <= 0:
        if np.isnan(value):
            why = say('unknown serving metric "{metric}"', metric=metric)
        elif value > 0:
            why = say("overloaded: requests arrive faster than they are served")
        else:
            why = say("a single request does not fit in the memory of these GPUs")
        return Prediction(metric=metric, group=metric, why=why)
    case = RunCase(
        weights=ask.weights,
        chips=ask.chips,
        load=ask.load or FULL,
        prompt_tok=ask.prompt_tok,
        output_tok=ask.output_tok,
        apart=bool(row.get("disagg")),
    )
    subject = subject_of(ask.engine, ask.chip)
    known = known_of_one(
        subject, ask.chip, what=ran(ask.arch, engine=ask.engine, source=row.get("source"), case=case)
    )
    said = told_metric(subject, metric, value=value, known=known, apart=case.apart)
    if known.shift:
        said = at(said, _together(ask, said.value, metric=metric, known=known))
    found = integrated(
        lambda values: told[_place(values, ask=ask)],
        asked.unsaid,
        band=(said.low / said.value, said.high / said.value),
    )
    moved = said.value / value  # by the user's own runs
    figure, is_inverse = measured_as(subject, metric)
    return Prediction(
        metric=metric,
        group=metric,
        measured=row.get("value"),
        predicted=found.value * moved,
        low=found.low * moved,
        high=found.high * moved,
        why=with_semicolons(ask.assumed),
        basis=Basis(
            subject=subject, figure=figure, inverse=is_inverse, chip=ask.chip.id,
            engine=ask.engine.id, model=ask.arch.name, case=case,
        ),
    )  # fmt: skip


def _together(ask: ServedAsk, value: float, *, metric: str, known: Known) -> float:
    """A figure that own runs moved, beside the others that they moved: they hang together still.

    Output is never above concurrency over TPOT; a latency that nobody measured is TTFT and TPOT together.
    """
    if ask.load is None or metric not in {"output_tok_s_total", "latency_ms"}:
        return value
    ttft_ms, tpot_ms = (
        float(figures_of([one])[0]) * float(known.shift.get(figure_of(one.metric), 1.0))
        for one in (replace(ask, metric="ttft_ms"), replace(ask, metric="tpot_ms"))
    )
    if metric == "output_tok_s_total":
        return float(most_output(value, tpot_ms / KILO, load=ask.load))
    measured = float(known.narrow.get("latency", 1.0)) < 1
    return value if measured else ttft_ms + max(ask.output_tok - 1, 0) * tpot_ms


def _unsaid(ask: ServedAsk) -> tuple[Prior, ...]:
    """Lengths that neither the row nor its benchmark tells, and those that we only estimate."""
    sent, found = ask.sent, list[Prior]()
    for name, said, known in (
        ("prompt_tok", sent.said_prompt, sent.prompt_tok),
        ("output_tok", sent.said_output, sent.output_tok),
    ):
        if known is None:
            found.append(priors("serving")[name])
        elif not said and sent.unsure:
            values = tuple(known * share for share in UNSURE)
            found.append(replace(priors("serving")[name], values=values, weights=(0.25, 0.5, 0.25)))
    return tuple(found)


def _place(values: Mapping[str, float], *, ask: ServedAsk) -> Move:
    return tuple((name, value) for name, value in values.items() if getattr(ask, name) != value)

"""Rows of inference.csv that were served: loads of many, in a closed loop or as much as fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rigright.base.tables import Row
from rigright.base.units import KILO
from rigright.base.words import say, with_semicolons
from rigright.cost.bands import figure_of
from rigright.cost.known import Known, known_of_one, ran
from rigright.cost.unsaid import Prior, integrated, priors
from rigright.facts.anchors import FULL, RunCase
from rigright.predict.told import at, most_output, subject_of, told_metric
from rigright.verbs.validate.record import Basis, Prediction
from rigright.verbs.validate.served_asks import ServedAsk, read_served
from rigright.verbs.validate.served_cases import figures_of

UNSURE = (0.6, 1.0, 1.7)  # of a length that was estimated from what runs came out at


def predict_served(row: Row) -> Prediction:
    """The figure a row measures."""
    metric = row["metric"]
    ask = read_served(row)
    unsaid = _unsaid(ask)
    told = _over(ask, unsaid)
    value = told[()]
    if not np.isfinite(value) or value <= 0:
        if np.isnan(value):
            why = say('unknown serving metric "{metric}"', metric=metric)
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
        unsaid,
        band=(said.low / said.value, said.high / said.value),
    )
    moved = said.value / value  # by the user's own runs
    return Prediction(
        metric=metric,
        group=metric,
        measured=row.get("value"),
        predicted=found.value * moved,
        low=found.low * moved,
        high=found.high * moved,
        why=with_semicolons(ask.assumed),
        basis=Basis(
            subject=subject, figure=figure_of(metric), chip=ask.chip.id,
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


def _over(ask: ServedAsk, unsaid: Sequence[Prior]) -> Mapping[tuple[tuple[str, float], ...], float]:
    """The figure as asked, and with each unsaid length moved over its prior: all at once."""
    moves = [(), *(((one.name, value),) for one in unsaid for value in one.values if value != one.middle)]
    asks = [replace(ask, **dict(move)) for move in moves]
    return dict(zip(moves, map(float, figures_of(asks)), strict=True))


def _place(values: Mapping[str, float], *, ask: ServedAsk) -> tuple[tuple[str, float], ...]:
    return tuple((name, value) for name, value in values.items() if getattr(ask, name) != value)

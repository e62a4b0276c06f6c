"""Serving under a load: the rates that cards reach, what a replica admits at once, and the law of both.

`explain`, every row of `plan`, and a row of a table of runs are predicted here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import replace
from rigright.choice.case import Case
from rigright.cost.memory_split import even_bounds
from rigright.cost.speed.eras import table_of
from rigright.cost.speed.rates import SUBJECT, Rates, rates_of
from rigright.cost.speed.service import Limits, Service, serve
from rigright.cost.speed.work import Work
from rigright.demand import Layout, Numbers, Traffic
from rigright.facts.chips import Chip
from rigright.facts.corrections import corrections
from rigright.facts.engines import Engine, find_engine
from rigright.predict.columns import at
from rigright.predict.told import STREAMS

if TYPE_CHECKING:
    from rigright.cost.speed.apart import Apart

DEFAULT_SEQS = 256  # of engines that set no number themselves
SPARE_SEQS = 2.33  # standard deviations of those at work, that arrive by themselves: slots for 99 of 100
MANY = 512  # kinds of engine, chip and format
NO_STREAMS: Mapping[str, Any] = {"engines": {}, "eras": {}}


def served(
    work: Work,
    rates: Rates,
    *,
    layout: Layout,
    traffic: Traffic,
    limits: Limits,
    prefill: Layout | None = None,
) -> Service | Apart:
    """What users see; `prefill`: workers of prompts alone."""
    if prefill is None:
        return serve(work, rates, layout=layout, traffic=traffic, limits=limits)
    from rigright.cost.speed.apart import serve_apart

    return serve_apart(work, rates, layout=layout, traffic=traffic, limits=limits, prefill=prefill)


def server_rates(
    chips: Sequence[Chip],
    engine: Engine,
    *,
    weights: str,
    manner: str = "",
    tables: Mapping[str, Any] | None = None,
) -> Rates:
    """The rates of chips under an engine, whatever a lone stream of its early days took.

    `manner`: how such runs are tuned; `tables`: other terms than those of the table.
    """
    if tables is None:
        return _usual_rates(tuple(chips), engine, weights=weights, manner=manner)
    if table_of(corrections(STREAMS), find_engine(engine.id), chip=chips[0]) is None:
        tables = {**tables, "streams": NO_STREAMS}
    return rates_of(chips, engine, weights=weights, tables=tables, manner=manner)


@lru_cache(maxsize=MANY)
def _usual_rates(chips: tuple[Chip, ...], engine: Engine, *, weights: str, manner: str) -> Rates:
    return server_rates(chips, engine, weights=weights, manner=manner, tables=corrections(SUBJECT))


def piped(arch: Arch, engine: Engine, *, work: Work, stages: Numbers) -> Numbers:
    """What is left of a pipeline's gain where an engine deals whole layers out to cards alike."""
    stages = np.asarray(stages, dtype=int)
    gain = np.ones(int(stages.max(initial=1)) + 1)
    if engine.split == "layer":
        from rigright.cost.speed.dealt import evenness

        for pp in {*stages.ravel().tolist()} - {1}:
            gain[pp] = evenness(work, even_bounds(len(arch.trunk.layers), pp, split=engine.split))
    return gain[stages]


def most_seqs(engine: Engine, *, seqs: Numbers, slots: Numbers, load: Numbers) -> Numbers:
    """Sequences that an engine is started for where nobody says how many; all of one rank.

    One that sets its cache aside has `slots`, of whole contexts; another is started for the `load` (nan: not
    known), and for no less than `seqs`, its own default.
    """
    if engine.pool != "share":
        return np.minimum(DEFAULT_SEQS, slots)
    return np.fmax(seqs or DEFAULT_SEQS, np.ceil(np.asarray(load, dtype=float)))


def started_for(case: Case, *, users: float | None) -> float:
    """The same of a case: what was said of it, else by its load; `users` are those of all its ranks."""
    layout, own = case.layout, float(case.settings.max_seqs)
    if case.serving.max_seqs is not None:
        return own
    ranks = layout.dp * (layout.tp if layout.attention_dp else 1)
    load = np.nan if users is None else users / ranks
    return float(most_seqs(case.engine, seqs=own, slots=own, load=load))


def set_up(running: Numbers, *, ranks: Numbers, slots: Numbers, by_rate: bool) -> Numbers:
    """Sequences that each rank is set up for, where so many are at work on average.

    Where requests arrive by themselves, an engine that sets its cache aside has slots for most moments, and
    not for all that would fit.
    """
    held = np.maximum(np.ceil(running / ranks), 1)
    if not by_rate or not np.isfinite(slots).all():
        return held
    return np.minimum(np.ceil(held + SPARE_SEQS * np.sqrt(held)), slots)


def at_kinds(rates: Rates, kind: Numbers, *, piped: Numbers = 1.0) -> Rates:
    """Rates of kinds of cards as rates of cases."""
    found = at(rates, kind)
    return replace(found, piped=found.piped * piped)  # type: ignore[no-any-return]

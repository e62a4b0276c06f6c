"""Trainings in time: one case or arrays of cases, the same bits; and the band that people are told.

`explain`, every row of `plan`, a row of a table of runs and the lab are timed here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass, replace
from rigright.cost.bands import banded, mark
from rigright.cost.known import ran
from rigright.cost.training.learners import trunk_of
from rigright.cost.training.rates import PLAIN, SUBJECT, TrainingRates, matmul_of
from rigright.cost.training.setup import Setup
from rigright.cost.training.time import TrainingTime, own_case, training_time
from rigright.demand import Layout, Training
from rigright.facts.chips import Chip
from rigright.facts.fabrics import fabric_of
from rigright.facts.training import objectives
from rigright.predict.columns import at
from rigright.terms.fitted import wire_of_fabrics
from rigright.terms.known import known_of_one
from rigright.terms.training import program_of, set_up, training_rates

__all__ = ["PLAIN", "SUBJECT", "TrainingRates", "TrainingTime", "matmul_of", "own_case"]
FIGURE = "tok_per_s_per_chip"
COUNTS = (*("micro_batch", "seq_tok", "rank", "accumulate", "virtual_stages", "host", "padded", "imbalance"),)
CUTS = ("tp", "pp", "dp", "ep", "cp")
_ONES: Mapping[str, Any] = dict.fromkeys(COUNTS, 1)
_uncounted: Callable[[Training], tuple[Hashable, ...]] = attrgetter(
    *(name for name in Training.__annotations__ if name not in _ONES)
)
MANY = 2048  # kinds of program, chip and format
Wired = tuple[Chip, int | None]  # a chip, and the cards of its box where links end there


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingCase:
    """One training on ranks alike."""

    arch: Arch
    training: Training
    layout: Layout
    chip: Chip | None = None  # None: nobody says, and it has no speed
    box: int | None = None  # cards of a box, where its links end there

    @property
    def wired(self) -> Wired:
        """Its chip, as it stands; asked only of trainings whose time is."""
        if self.chip is None:
            raise ValueError("a training on no chip has no speed")
        return self.chip, self.box


def setup_of(arch: Arch, training: Training) -> Setup:
    """The trainer's habits and precisions, looked up."""
    return set_up(training, hidden=trunk_of(arch).hidden)


def in_sequences(training: Training) -> Training:
    """As the laws count it: a pair is two sequences."""
    if training.post is None:
        return training
    pairs = objectives()[training.post.objective].sequences
    return replace(training, micro_batch=training.micro_batch * pairs)


def is_timed(arch: Arch) -> bool:
    """Whether a law of time is for such a model: one of tokens."""
    return bool(arch.vocab)


def step_rates(
    arch: Arch, training: Training, *, wired: Sequence[Wired], tables: Mapping[str, Any] | None = None
) -> TrainingRates:
    """The rates of chips under a trainer, in their order; `tables`: other terms than the table's."""
    setup = setup_of(arch, replace(training, **_ONES))
    usual = tables is None
    rates = _usual_rates(setup, tuple(wired)) if usual else _rates(setup, wired, tables=tables)
    if training.post is None or not training.post.rollout:
        return rates
    from rigright.predict.rollout import rollout_rates

    return replace(rates, rollout=rollout_rates([chip for chip, _ in wired]))


@lru_cache(maxsize=MANY)
def _usual_rates(setup: Setup, wired: tuple[Wired, ...]) -> TrainingRates:
    return _rates(setup, wired, tables=None)


def _rates(setup: Setup, wired: Sequence[Wired], *, tables: Mapping[str, Any] | None) -> TrainingRates:
    wire = wire_of_fabrics([fabric_of(chip, box=box) for chip, box in wired])
    return training_rates([chip for chip, _ in wired], setup, tables=tables, wire=wire)


def steps(arch: Arch, training: Training, *, layout: Layout, rates: TrainingRates) -> TrainingTime:
    """Steps of trainings that share a model and their settings; every number may be an array."""
    setup = setup_of(arch, in_sequences(training))
    plain = training_time(arch, setup, layout=layout, rates=rates)
    if training.post is None:
        return plain
    from rigright.predict.rollout import post_time

    return post_time(arch, setup, plain=plain, layout=layout, rates=rates)


def steps_of(cases: Sequence[TrainingCase], *, tables: Mapping[str, Any] | None = None) -> TrainingTime:
    """Steps of any cases with a chip, in their order; those alike in one call of the law."""
    names = [field.name for field in fields(TrainingTime)]
    columns = {name: np.full(len(cases), np.nan) for name in names}
    for places in alike(cases):
        some = [cases[place] for place in places]
        training, layout = columns_of(some)
        wired = [case.wired for case in some]
        unlike = tuple(dict.fromkeys(wired))
        index = {pair: place for place, pair in enumerate(unlike)}
        each = step_rates(some[0].arch, training, wired=unlike, tables=tables)
        rates = at(each, np.array([index[pair] for pair in wired]))
        training_time = steps(some[0].arch, training, layout=layout, rates=rates)
        for name in names:
            columns[name][list(places)] = getattr(training_time, name)
    return TrainingTime(**columns)


def alike(cases: Sequence[TrainingCase]) -> Iterator[tuple[int, ...]]:
    """Places of cases that differ in numbers alone."""
    groups: dict[Hashable, list[int]] = {}
    plain: dict[tuple[int, int], Hashable] = {}
    for place, case in enumerate(cases):
        training, layout = case.training, case.layout
        asked = (id(training), id(layout))
        if asked not in plain:
            row = (training.accumulate is None, layout.sequence_parallel, layout.attention_dp)
            plain[asked] = (*_uncounted(training), *row)
        groups.setdefault((id(case.arch), plain[asked]), []).append(place)
    return (tuple(places) for places in groups.values())


def columns_of(cases: Sequence[TrainingCase]) -> tuple[Training, Layout]:
    """Cases alike as one training and one layout of arrays."""
    first = cases[0]
    counts: dict[str, Any] = {
        name: np.array([getattr(case.training, name) for case in cases])
        for name in COUNTS
        if getattr(first.training, name) is not None
    }
    cuts: dict[str, Any] = {name: np.array([getattr(case.layout, name) for case in cases]) for name in CUTS}
    return replace(first.training, **counts), replace(first.layout, **cuts)


def edges_of(case: TrainingCase) -> tuple[float, float, float, str]:
    """Low and high of a speed as ratios, how far own runs move it, and how it is known."""
    program = program_of(case.training)
    what = ran(case.arch, engine=program, case=own_case(case.training))
    known = known_of_one(SUBJECT, case.wired[0], what=what)
    result = banded(FIGURE, value=1.0, known=known)
    moved = float(result.value)
    return float(result.low) / moved, float(result.high) / moved, moved, mark(FIGURE, known=known)

"""Trainings in time, one case or arrays of cases, the same bits; and a step as people read it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import Inner, Pairs, dataclass, derived, replace
from rigright.cost.bands import banded, mark
from rigright.cost.estimate import Estimate
from rigright.cost.known import ran
from rigright.cost.training.learners import trunk_of
from rigright.cost.training.rates import PLAIN, SUBJECT, TrainingRates, matmul_of
from rigright.cost.training.setup import Setup
from rigright.cost.training.time import LINKS, TrainingTime, own_case, training_time
from rigright.cost.unsaid import trials, weighed
from rigright.demand import Layout, Training
from rigright.facts.chips import Chip
from rigright.facts.fabrics import fabric_of
from rigright.facts.training import objectives
from rigright.predict.columns import at
from rigright.terms.fitted import priors, wire_of_fabrics
from rigright.terms.known import known_of_one
from rigright.terms.training import program_of, set_up, training_rates

PARTS = ("rollout", "scoring", "forward", "backward", "recompute", "optimizer", *LINKS, "bubble", "host")
HOUR_S = 3600
LEAST_SHARE = 0.002  # of a step: what takes less is not stated


@dataclass(frozen=True, slots=True, kw_only=True)
class StepUse:
    """Time of one optimizer step, where own runs put it; its band follows that of the speed."""

    step_s: Estimate
    parts_s: Pairs[str, float]  # what the step goes into; parts next to nothing left out
    tok_per_s_per_chip: Estimate
    ranks: Inner[int]
    tok_per_step: float  # of all ranks
    samples_per_s: float  # of all ranks
    mfu: float  # of the stated peak, useful work alone
    hfu: float  # of the stated peak, recomputing counted
    bound: str  # "compute", "links", "bubble", "host", "optimizer", "rollout", "scoring"
    moved: Inner[float] = 1.0  # by own runs: a factor of every rate

    @derived
    def steps_per_h(self) -> Estimate:
        """Steps an hour."""
        return self.times(HOUR_S)

    def times(self, many: float) -> Estimate:
        """So many a step, in a second."""
        step = self.step_s
        return replace(step, value=many / step.value, low=many / step.high, high=many / step.low)

    @derived
    def tok_per_s(self) -> float:
        """Of all ranks."""
        return self.tok_per_s_per_chip.value * self.ranks


def slowest(cases: Sequence[TrainingCase]) -> StepUse | None:
    """Of one training on unlike chips: all wait for the slowest; None where the speed of one is not known."""
    steps = [step_use(case) for case in cases]
    known = [step for step in steps if step is not None]
    return max(known, key=lambda item: item.step_s.value) if len(known) == len(steps) else None


def step_use(case: TrainingCase) -> StepUse | None:
    """The time of a step; None where no speed of such a model or chip is known.

    Nobody says what the host makes of launches: the band is over all it may be.
    """
    if case.chip is None or not bool(case.arch.vocab):
        return None
    hosts = [priors("training")["host"]]
    training_time = steps_of(
        [replace(case, training=replace(case.training, **values)) for values in trials(hosts)]
    )
    if not np.isfinite(training_time.step_s[0]):
        return None
    low, high, moved, known = edges_of(case)
    post = case.training.post
    if post is not None and post.rollout:
        from rigright.predict.rollout import NEVER_TIMED

        low, high, known = low * NEVER_TIMED[0], high * NEVER_TIMED[1], "physics"
    rate = weighed(training_time.tok_per_s_per_chip, hosts, band=(low, high))
    speed = Estimate(value=rate.value * moved, low=rate.low * moved, high=rate.high * moved, mark=known)
    step_s = float(training_time.step_s[0]) / moved
    parts = {name: float(getattr(training_time, f"{name}_s")[0]) / moved for name in PARTS}
    layout = case.layout
    return StepUse(
        step_s=Estimate(
            value=step_s,
            low=step_s * speed.value / speed.high,
            high=step_s * speed.value / speed.low,
            mark=known,
        ),
        parts_s=tuple((name, size) for name, size in parts.items() if size > LEAST_SHARE * step_s),
        tok_per_s_per_chip=speed,
        ranks=layout.tp * layout.pp * layout.dp * layout.cp,
        tok_per_step=float(training_time.tok_per_step[0]),
        samples_per_s=float(training_time.samples_per_s[0]) * moved,
        mfu=float(training_time.mfu[0]) * moved,
        hfu=float(training_time.hfu[0]) * moved,
        bound=bound_of(parts),
        moved=moved,
    )


def bound_of(parts_s: Mapping[str, float]) -> str:
    """What most of a step goes into: "compute", "links", "bubble", "host", "rollout" ..."""
    compute = sum(parts_s[name] for name in ("forward", "backward", "recompute"))
    shares = {"compute": compute, "links": sum(parts_s[name] for name in LINKS)}
    shares |= {name: parts_s[name] for name in ("rollout", "scoring", "bubble", "host", "optimizer")}
    return max(shares, key=lambda name: shares[name])


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

"""Trainings of which something was left open: their priors, and how people make room where they do not fit.

Any number of them at once: those that differ in numbers alone share a call of the law.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from rigright.base.record import dataclass, replace
from rigright.cost.estimate import Estimate
from rigright.cost.unsaid import Decides, Integrated, Prior, trials, weighed
from rigright.demand import Training
from rigright.facts.anchors import unmoved
from rigright.predict.trained import TrainingCase, edges_of, setup_of, steps_of
from rigright.predict.trained_memory import Fullest, ended, fullest_of, least_bytes
from rigright.terms.fitted import priors
from rigright.terms.training import peak_band

HABIT = {"training": 0.7, "pretraining": 0.92}  # share of runs that leave a default of their program as it is
HABITS = frozenset({"recompute", "optimizer", "targets", "flash"})
MICRO_BATCHES = 2 ** np.arange(13)
BATCH_WEIGHTS = (0.25, 0.25, 0.25, 0.15, 0.1)  # from one to what fits, by equal factors
SMALLER = ("adamw-8bit", "adamw-8bit-paged")  # optimizers that full fine-tuning falls back on
OF_MEMORY, OF_SPEED = frozenset({"host"}), frozenset({"optimizer"})  # what does not bear on the other


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """A training with the inputs that nobody said, on a card of this size (None: any)."""

    case: TrainingCase
    unsaid: tuple[str, ...] = ()
    room_bytes: float | None = None
    loose: bool = False  # the optimizer is told by its family alone
    work: str = "training"  # or "pretraining"

    def priors(self, *, but: Collection[str] = ()) -> list[Prior]:
        """What each may be, `but` what does not bear on a figure."""
        return [prior for name in self.unsaid if name not in but and (prior := self._prior(name))]

    def batches(self) -> Prior:
        """Samples of a micro-batch: one, all that fits, or in between; large models are cut with few."""
        prior = priors(self.work)["micro_batch"]
        if self.room_bytes is None or self.case.training.trainer.startswith("megatron"):
            return prior
        most = _most_samples(self.case, self.room_bytes)
        shares = np.linspace(0, 1, len(BATCH_WEIGHTS))
        values = tuple(round(most**share) for share in shares)
        return replace(prior, values=values, weights=BATCH_WEIGHTS)

    def leaner(self, training: Training) -> Iterator[Training]:
        """What people turn to in turn: recompute, a smaller optimizer, no gradients kept, a smaller batch."""
        gives = {*self.unsaid, *(("optimizer",) if self.loose else ())}
        if "recompute" in gives:
            training = replace(training, recompute="full")
            yield training
        if "optimizer" in gives:
            for optimizer in SMALLER:
                training = replace(training, optimizer=optimizer)
                yield training
            training = replace(training, step_in_backward=True)
            yield training
        if "micro_batch" in gives:
            training = replace(training, micro_batch=1)
            yield training
        while "seq_tok" in gives and training.seq_tok > 256:
            training = replace(training, seq_tok=training.seq_tok // 2)
            yield training

    def _prior(self, name: str) -> Prior | None:
        """What an input may be; the program's own habit counts most."""
        if name == "micro_batch":
            return self.batches()
        prior = (dict(priors("training")) | dict(priors(self.work))).get(name)
        arch, training = self.case.arch, self.case.training
        if prior is not None and name == "seq_tok":
            most = arch.max_context_tok or max(prior.values)
            prior = replace(prior, values=tuple(min(value, most) for value in prior.values))
        if prior is None or name not in HABITS:
            return prior
        setup = setup_of(arch, training)
        own = {"recompute": setup.habit.recompute, "optimizer": setup.optimizer.id}
        habit = own.get(name, getattr(training, name))
        share = HABIT[self.work]
        rest = dict(zip(prior.values, prior.weights, strict=True))
        rest.pop(habit, None)
        total = sum(rest.values()) or 1.0
        weights = {value: weight / total * (1 - share) for value, weight in rest.items()}
        return replace(prior, values=(habit, *weights), weights=(share, *weights.values()))


@unmoved
def _most_samples(case: TrainingCase, room_bytes: float) -> float:
    """The largest micro-batch that fits; 1 where none does."""
    asked = replace(case.training, micro_batch=MICRO_BATCHES)
    fits = least_bytes(case.arch, asked, layout=case.layout) <= room_bytes
    return float(MICRO_BATCHES[fits][-1]) if fits.any() else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What an open training may be: its trials, the middle of all first."""

    priors: tuple[Prior, ...]
    cases: tuple[TrainingCase, ...]


def tried(opens: Sequence[Open], *, but: Collection[str] = (), weigh: bool) -> tuple[list[Tried], Fullest]:
    """All trials, with room made where they do not fit, one after another; and their memory.

    `weigh`: of those on any card too, where nothing has to fit.
    """
    known = [tuple(one.priors(but=but)) for one in opens]
    values = [trials(prior) for prior in known]
    of = [one for one, some in zip(opens, values, strict=True) for _ in some]
    cases = [
        replace(one.case, training=replace(one.case.training, **value)) if value else one.case
        for one, some in zip(opens, values, strict=True)
        for value in some
    ]
    rooms = np.array([np.inf if one.room_bytes is None else one.room_bytes for one in of])
    found = {one.name: np.full(len(cases), np.nan) for one in fields(Fullest)}
    asked = {place: case for place, case in enumerate(cases) if weigh or np.isfinite(rooms[place])}
    leaner: dict[int, Iterator[Training]] = {}
    while asked:  # what each that has no room yet may turn to
        sizes = fullest_of(list(asked.values()))
        fits = sizes.least_bytes <= rooms[list(asked)]
        following: dict[int, TrainingCase] = {}
        for here, (place, case) in enumerate(asked.items()):
            if fits[here] or place not in leaner:  # as it was said, where nothing fits
                cases[place] = case
                for name, column in found.items():
                    column[place] = getattr(sizes, name)[here]
            if fits[here]:
                continue
            way = next(leaner.setdefault(place, of[place].leaner(case.training)), None)
            if way is not None:
                following[place] = replace(case, training=way)
        asked = following
    ends = np.cumsum([len(some) for some in values])
    made = [
        Tried(priors=prior, cases=tuple(cases[end - len(some) : end]))
        for prior, some, end in zip(known, values, ends, strict=True)
    ]
    return made, Fullest(**found)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakAsked:
    """An open training, and the peak that somebody measures of it."""

    open: Open
    kind: str
    limit_bytes: float | None  # of the card: no program is shown more
    assumed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakFound:
    """Its peak over all that nobody said."""

    found: Integrated
    case: TrainingCase  # the middle of all
    passing_bytes: float


def peaks(asked: Sequence[PeakAsked]) -> list[PeakFound]:
    """The peak of each."""
    made, sizes = tried([one.open for one in asked], but=OF_MEMORY, weigh=True)
    counts = [len(one.cases) for one in made]

    def each(values: Sequence[Any]) -> np.ndarray:
        return np.repeat(np.array(values), counts)

    limits = each([np.inf if one.limit_bytes is None else one.limit_bytes for one in asked])
    kinds = each([one.kind for one in asked])
    figures = np.select(
        [kinds == "allocated", kinds == "reserved"],
        [sizes.allocated_bytes, sizes.of_kind("reserved", limit_bytes=limits)],
        sizes.of_kind("device", limit_bytes=limits),
    )
    answers, start = [], 0
    for one, trial in zip(asked, made, strict=True):
        edges = peak_band(one.kind, assumed=one.assumed, narrow=float(sizes.narrow[start]))
        end = start + len(trial.cases)
        found = weighed(figures[start:end], trial.priors, band=edges)
        whole = ended(
            Estimate(value=found.value, low=found.low, high=found.high), room_bytes=one.open.room_bytes
        )
        answers.append(
            PeakFound(
                found=replace(found, value=whole.value, low=whole.low, high=whole.high),
                case=trial.cases[0],
                passing_bytes=max(float(sizes.passing_bytes[start]), 1.0),
            )
        )
        start = end
    return answers


def speeds(opens: Sequence[Open]) -> list[Integrated]:
    """Tokens a second and chip of each, where own runs put it."""
    made, _ = tried(opens, but=OF_SPEED, weigh=False)
    rates = steps_of([case for one in made for case in one.cases]).tok_per_s_per_chip
    answers, start = [], 0
    for one, trial in zip(opens, made, strict=True):
        end = start + len(trial.cases)
        low, high, moved, _ = edges_of(one.case)
        answers.append(scaled(weighed(rates[start:end], trial.priors, band=(low, high)), by=moved))
        start = end
    return answers


def scaled(found: Integrated, *, by: float) -> Integrated:
    """The same as so many times as much."""
    return replace(found, value=found.value * by, low=found.low * by, high=found.high * by)


def least_over(case: TrainingCase, name: str, *, work: str) -> Decides | None:
    """How far what decides whether it fits hangs on an input that nobody said; None where it does not."""
    (trial,), sizes = tried([Open(case=case, unsaid=(name,), work=work)], weigh=True)
    return weighed(sizes.least_bytes, trial.priors, band=(1.0, 1.0)).decides

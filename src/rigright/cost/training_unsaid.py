"""Training inputs left open: their priors, and how people make room if the usual settings do not fit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass
from rigright.cost.training_memory import memory_of_all, training_memory
from rigright.cost.training_setup import set_up
from rigright.cost.training_towers import trunk_of
from rigright.cost.unsaid import Integrated, Prior, integrated, priors
from rigright.demand import Layout, Training

HABIT = {"training": 0.7, "pretraining": 0.92}  # share of runs that leave a default of their program as it is
HABITS = frozenset({"recompute", "optimizer", "targets", "flash"})
FULL, LEAST_FULL = 0.92, 0.6  # of a card that a run fills which needs more by our count: likely, and at least
MICRO_BATCHES = 2 ** np.arange(13)
BATCH_WEIGHTS = (0.25, 0.25, 0.25, 0.15, 0.1)  # from one to what fits, by equal factors
SMALLER = ("adamw-8bit", "adamw-8bit-paged")  # optimizers that full fine-tuning falls back on


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """A training with the inputs that nobody said, on a card of this size (None: any)."""

    arch: Arch
    training: Training
    layout: Layout
    unsaid: tuple[str, ...] = ()
    room_bytes: float | None = None
    loose: bool = False  # the optimizer is told by its family alone
    work: str = "training"  # or "pretraining"

    def over(self, values: Mapping[str, Any]) -> Training:
        """The training with values for what was not said, with room made where it does not fit."""
        asked = replace(self.training, **values)
        if self.room_bytes is None:
            return asked
        gives = {*self.unsaid, *(("optimizer",) if self.loose else ())}
        ways = (asked, *_leaner(asked, gives))
        return next((way for way in ways if self._least_bytes(way) <= self.room_bytes), asked)

    def _least_bytes(self, training: Training) -> float:
        return float(np.max(memory_of_all(self.arch, training, layout=self.layout).least_bytes))

    def integrated(
        self, figure: Callable[[Training], float], *, band: tuple[float, float], but: Collection[str] = ()
    ) -> Integrated:
        """A figure of the training over all that nobody said, `but` what does not bear on it."""
        known = [prior for name in self.unsaid if name not in but and (prior := self._prior(name))]
        return integrated(lambda values: figure(self.over(values)), known, band=band)

    def within(self, found: Integrated) -> Integrated:
        """A peak of a run that ended well lies below what its card holds."""
        room = self.room_bytes
        if room is None or found.high <= room:
            return found
        value = min(found.value, FULL * room)
        surer = found.low if found.value <= room else min(found.low, LEAST_FULL * room)
        return replace(found, value=value, low=surer, high=max(room, value))

    def batches(self) -> Prior:
        """Samples of a micro-batch: one, all that fits, or in between; large models are cut with few."""
        prior = priors(self.work)["micro_batch"]
        if self.room_bytes is None or self.training.trainer.startswith("megatron"):
            return prior
        tried = MICRO_BATCHES[:, None]
        stages = np.arange(self.layout.pp)[None, :]
        asked = replace(self.training, micro_batch=tried)
        least = training_memory(self.arch, asked, layout=self.layout, stage=stages).least_bytes
        fits = np.max(np.broadcast_to(least, (len(tried), self.layout.pp)), axis=1) <= self.room_bytes
        most = float(MICRO_BATCHES[fits][-1]) if fits.any() else 1.0
        shares = np.linspace(0, 1, len(BATCH_WEIGHTS))
        values = tuple(round(most**share) for share in shares)
        return replace(prior, values=values, weights=BATCH_WEIGHTS)

    def _prior(self, name: str) -> Prior | None:
        """What an input may be; the program's own habit counts most."""
        if name == "micro_batch":
            return self.batches()
        prior = (dict(priors("training")) | dict(priors(self.work))).get(name)
        if prior is not None and name == "seq_tok":
            most = self.arch.max_context_tok or max(prior.values)
            prior = replace(prior, values=tuple(min(value, most) for value in prior.values))
        if prior is None or name not in HABITS:
            return prior
        setup = set_up(self.training, hidden=trunk_of(self.arch).hidden)
        own = {"recompute": setup.habit.recompute, "optimizer": setup.optimizer.id}
        habit = own.get(name, getattr(self.training, name))
        share = HABIT[self.work]
        others = dict(zip(prior.values, prior.weights, strict=True))
        others.pop(habit, None)
        total = sum(others.values()) or 1.0
        weights = {value: weight / total * (1 - share) for value, weight in others.items()}
        return replace(prior, values=(habit, *weights), weights=(share, *weights.values()))


def _leaner(training: Training, unsaid: Collection[str]) -> Iterator[Training]:
    """What people turn to in turn: recompute, a smaller optimizer, no gradients kept, a smaller batch."""
    if "recompute" in unsaid:
        training = replace(training, recompute="full")
        yield training
    if "optimizer" in unsaid:
        for optimizer in SMALLER:
            training = replace(training, optimizer=optimizer)
            yield training
        training = replace(training, step_in_backward=True)
        yield training
    if "micro_batch" in unsaid:
        training = replace(training, micro_batch=1)
        yield training
    while "seq_tok" in unsaid and training.seq_tok > 256:
        training = replace(training, seq_tok=training.seq_tok // 2)
        yield training

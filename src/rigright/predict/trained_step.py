"""A step of one training as people are told it: its parts, its rates with low and high, what limits it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rigright.base.record import Inner, Pairs, dataclass, derived, replace
from rigright.cost.estimate import Estimate
from rigright.cost.training.time import LINKS
from rigright.cost.unsaid import trials, weighed
from rigright.predict.trained import TrainingCase, edges_of, is_timed, steps_of
from rigright.terms.fitted import priors

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
    if case.chip is None or not is_timed(case.arch):
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

"""Time of one step of a training on a machine: parts, rates with low and high, what limits it."""

from __future__ import annotations

from rigright.predict.trained import PARTS, bound_of, told
from rigright.verbs.training.case import Case
from rigright.verbs.training.trained import StepUse

LEAST_SHARE = 0.002  # of a step: what takes less is not told


def step_use(case: Case) -> StepUse | None:
    """The time of a step, of unlike cards the slowest; None where no speed of such a model is known."""
    steps = [told(one) for one in case.on_each()]
    known = [one for one in steps if one is not None]
    if len(known) < len(steps):
        return None
    step, layout = max(known, key=lambda one: one.step_s.value), case.layout
    least_s = LEAST_SHARE * step.step_s.value
    return StepUse(
        step_s=step.step_s,
        parts_s=tuple((name, step.parts_s[name]) for name in PARTS if step.parts_s[name] > least_s),
        tok_per_s_per_chip=step.tok_per_s_per_chip,
        ranks=layout.tp * layout.pp * layout.dp * layout.cp,
        tok_per_step=step.tok_per_step,
        samples_per_s=step.samples_per_s,
        mfu=step.mfu,
        hfu=step.hfu,
        bound=bound_of(step.parts_s),
    )

"""Time of one step of a training on a machine: parts, rates with low and high, what limits it."""

from __future__ import annotations

import numpy as np

from rigright.cost.bands import estimate
from rigright.cost.estimate import Estimate
from rigright.cost.known import known_of_one, ran
from rigright.cost.training_time import TrainingTime, own_case, training_time
from rigright.cost.training_time_rates import SUBJECT, training_rates
from rigright.cost.wires import wire_of_fabrics
from rigright.facts.chips import Chip
from rigright.facts.fabrics import fabric_of
from rigright.facts.nodes import Node
from rigright.verbs.training.case import Case
from rigright.verbs.training.trained import StepUse

PARTS = ("forward", "backward", "recompute", "optimizer", "tp", "dp", "pp", "ep", "cp", "bubble", "host")
LINKS = ("tp", "dp", "pp", "ep", "cp")
FIGURE = "tok_per_s_per_chip"
LEAST_SHARE = 0.002  # of a step: what takes less is not told
BOX_CHIPS = 8  # links that join more reach beyond one box


def step_use(case: Case, node: Node) -> StepUse | None:
    """The time of a step; None for models without tokens, or where a chip's rates are not known."""
    if not case.arch.vocab:
        return None
    chips = tuple(dict.fromkeys(card.chip for card in node.cards))
    times = [(_time(case, node, chip=chip), chip) for chip in chips]
    time, chip = max(times, key=lambda one: float(np.squeeze(one[0].step_s)))
    if not np.isfinite(_one(time.step_s)):
        return None
    step_s = _one(time.step_s)
    speed = estimate(
        SUBJECT,
        FIGURE,
        value=_one(time.tok_per_s_per_chip),
        known=known_of_one(
            SUBJECT, chip, what=ran(case.arch, engine=case.setup().trainer.id, case=own_case(case.training))
        ),
    )
    ranks = case.layout.tp * case.layout.pp * case.layout.dp * case.layout.cp
    seconds = {name: _one(getattr(time, f"{name}_s")) for name in PARTS}
    return StepUse(
        step_s=Estimate(
            value=step_s,
            low=step_s * speed.value / speed.high,
            high=step_s * speed.value / speed.low,
            mark=speed.mark,
        ),
        parts_s=tuple((name, size) for name, size in seconds.items() if size > LEAST_SHARE * step_s),
        tok_per_s_per_chip=speed,
        ranks=ranks,
        tok_per_step=_one(time.tok_per_step),
        samples_per_s=_one(time.samples_per_s),
        mfu=_one(time.mfu),
        hfu=_one(time.hfu),
        bound=bound_of(seconds),
    )


def _time(case: Case, node: Node, *, chip: Chip) -> TrainingTime:
    # links end at the box, but for those made to reach beyond it
    inside = node.n_nodes > 1 and (chip.link_max_chips or 0) <= BOX_CHIPS
    wire = wire_of_fabrics([fabric_of(chip, box=len(node.cards)) if inside else fabric_of(chip)])
    rates = training_rates([chip], case.setup(), wire=wire)
    return training_time(case.arch, case.training, layout=case.layout, rates=rates)


def bound_of(seconds: dict[str, float]) -> str:
    """What most of a step goes into: "compute", "links", "bubble", "host", "optimizer"."""
    compute = sum(seconds[name] for name in ("forward", "backward", "recompute"))
    links = sum(seconds[name] for name in LINKS)
    rest = {name: seconds[name] for name in ("bubble", "host", "optimizer")}
    shares = {"compute": compute, "links": links, **rest}
    return max(shares, key=lambda name: shares[name])


def _one(value: object) -> float:
    return float(np.squeeze(np.asarray(value, dtype=float)))

"""One model on one machine, training: memory by rank, time by part, how far it goes, what to change."""

from __future__ import annotations

import numpy as np

from rigright.arch.count import params
from rigright.arch.sources.open import open_model
from rigright.cost.training_adapters import halves, is_target
from rigright.demand import TrainingWish
from rigright.predict.trained_step import slowest
from rigright.verbs.planning.checks import check_single
from rigright.verbs.seen.here import the_node
from rigright.verbs.training.case import Case, build_case
from rigright.verbs.training.ranks import rank_uses, reach
from rigright.verbs.training.reasons import reasons, time_reasons
from rigright.verbs.training.remedies import remedies
from rigright.verbs.training.samples import learning_speed
from rigright.verbs.training.trained import Trained


def explain_training(
    model: str, on: str | None = None, *, wish: TrainingWish | None = None, why: bool = False, asked: str = ""
) -> Trained:
    """Explain memory and speed of training a model on a machine; `asked` is the command to build on."""
    node = the_node(on)
    arch, wish = open_model(model), wish or TrainingWish()
    check_single(arch, wish)
    if wish.image_size is not None:
        from rigright.verbs.serving.pictures import resized

        arch = resized(arch, wish.image_size)
    case = build_case(arch, node, wish=wish)
    setup, ranks, memory = case.setup(), rank_uses(case), case.memory()
    worst = min(ranks, key=lambda rank: rank.spare_bytes)
    step = slowest(case.on_each())
    return Trained(
        model=case.arch.name,
        params=params(case.arch),
        learnt_params=learnt_params(case),
        machine=node.shown,
        chip=case.chip,
        trainer=setup.trainer.label,
        optimizer=setup.optimizer.label,
        precision=setup.precision.said,
        training=case.training,
        layout=case.layout,
        ranks=ranks,
        host_bytes=float(np.max(memory.host_bytes)),
        nvme_bytes=float(np.max(memory.nvme_bytes)),
        limits=reach(case),
        time=step,
        samples=learning_speed(case, node),
        remedies=() if worst.spare_bytes >= 0 else remedies(case),
        why=(*reasons(case, worst), *(time_reasons(case, step) if step else ())) if why else (),
        notes=(*case.notes, *case.arch.warnings),
        asked=asked,
    )


def learnt_params(case: Case) -> int:
    """Parameters that learn: all, or those of the adapters."""
    if case.training.method == "full":
        return params(case.arch)
    elems = sum(
        sum(size for size, _ in halves(weight))
        for layer in case.arch.trunk.layers
        for weight in layer.weights
        if is_target(weight, case.training.targets)
    )
    return int(elems * case.training.rank)

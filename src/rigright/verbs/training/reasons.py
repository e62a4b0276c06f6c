"""Where each figure of a training comes from: its formula, the numbers in it, the source."""

from __future__ import annotations

from rigright.base.units import show_bytes
from rigright.base.words import Sentence, say
from rigright.cost.training.learners import trunk_of
from rigright.cost.training.saved import Saved, layer_saved
from rigright.facts.corrections import corrections
from rigright.predict.trained_step import StepUse
from rigright.verbs.serving.explained import Reason
from rigright.verbs.serving.reasons import formulas, reasons_of
from rigright.verbs.training.case import TrainingOnCards
from rigright.verbs.training.trained import RankUse


def reasons(case: TrainingOnCards, worst: RankUse) -> tuple[Reason, ...]:
    """A row for each part that stands at the peak of the worst rank."""
    setup, terms = case.setup(), corrections("memory_training")["terms"]
    precision, optimizer, trainer = setup.precision, setup.optimizer, setup.trainer
    saved: Saved = layer_saved(trunk_of(case.arch).layers[-1], setup.habit)
    a_token = saved.whole + saved.stream + saved.split + saved.kv + saved.expert
    states = optimizer.bytes if optimizer.bytes is not None else optimizer.copies * precision.state
    numbers: dict[str, Sentence | str] = {
        "frozen": setup.training.base,
        "weights": _each(precision.said, precision.param),
        "master": _each(precision.said, precision.master),
        "gradients": _each(precision.said, precision.grad),
        "optimizer": _each(optimizer.label, states),
        "step": f"{optimizer.label}: {optimizer.step_copies:g}",
        "activations": say(
            "recompute {level}; {size} per token in the last layer",
            level=setup.habit.recompute,
            size=show_bytes(a_token),
        ),
        "working": say("{count} gradients of FFN width", count=f"{trainer.wide_grads:g}"),
        "loss": f"{setup.logit:g} B; {case.arch.vocab}",
        "gathered": setup.training.sharding,
        "buckets": f"{trainer.ddp_copies:g}",
        "casts": "2 B",
        "reserved": f"x {terms['reserve']:g}",
        "device": f"{terms['context_gib']:g} + {terms['collectives_gib']:g} GiB",
    }
    if setup.training.post is not None:
        engine = f"tensor parallel {setup.training.post.rollout_tp}"
        numbers |= {"engine": engine, "kv": f"{setup.training.seq_tok} tok"}
    there = {part for part, _ in worst.parts_bytes} | {"reserved", "device"}
    stated = {part: text for part, text in numbers.items() if part in there}
    return reasons_of(formulas("training", stated, optimizer=optimizer.source, trainer=trainer.source))


def _each(name: Sentence | str, size: float) -> Sentence:
    return say("{name}: {size} B", name=name, size=f"{size:g}")


def time_reasons(case: TrainingOnCards, step: StepUse) -> tuple[Reason, ...]:
    """A row for each part of the time of a step."""
    setup, training, layout = case.setup(), case.training, case.layout
    accumulated = str(layout.pp if training.accumulate is None else training.accumulate)
    numbers: dict[str, Sentence | str] = {
        "forward": say("{count} micro-batches per step", count=accumulated),
        "backward": training.method,
        "recompute": setup.habit.recompute,
        "optimizer": setup.optimizer.label,
        **{name: f"{name} {getattr(layout, name)}" for name in ("tp", "dp", "pp", "ep", "cp")},
        "bubble": training.schedule,
        "host": setup.trainer.label,
        "scoring": say("{count} passes", count=setup.forwards),
        "rollout": "" if training.post is None else f"{training.post.completion_tok} tok",
    }
    return reasons_of(
        formulas("training_step", {f"{part}_s": numbers[part] for part, _ in step.parts_s if part in numbers})
    )

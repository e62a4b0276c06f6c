"""Where each figure of a training comes from: its formula, the numbers in it, the source."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import show_bytes
from rigright.base.words import Sentence, say
from rigright.cost.training.learners import trunk_of
from rigright.cost.training.saved import Saved, layer_saved
from rigright.cost.training.setup import Setup
from rigright.facts.corrections import corrections
from rigright.predict.trained_step import StepUse
from rigright.verbs.serving.explained import Reason
from rigright.verbs.training.case import TrainingOnCards
from rigright.verbs.training.trained import RankUse

FITTED = "data/corrections/memory_training.toml"
TIMES, LINKS = "data/corrections/speed_training.toml", "data/corrections/links.toml"
OPTIMIZERS, PRECISIONS, TRAINERS = "data/optimizers.toml", "data/precisions.toml", "data/trainers.toml"
_Row = tuple[str, Sentence, Sentence | str, str]  # part, formula, numbers, source


def reasons(case: TrainingOnCards, worst: RankUse) -> tuple[Reason, ...]:
    """A row for each part that stands at the peak of the worst rank."""
    setup = case.setup()
    rows = (*_states(setup), *_activations(case, setup), *_beyond())
    there = {part for part, _ in worst.parts_bytes} | {"reserved", "device"}
    return tuple(
        Reason(part=part, formula=formula, numbers=numbers, source=source)
        for part, formula, numbers, source in rows
        if part in there
    )


def _states(setup: Setup) -> Iterator[_Row]:
    precision, optimizer = setup.precision, setup.optimizer
    learnt = say("trainable parameters x bytes, split over tp, pp, ep and by sharding")
    yield (
        "frozen",
        say("base model in its format, split over tp, pp, ep"),
        setup.training.base,
        "data/formats.toml",
    )
    yield "weights", learnt, _each(precision.said, precision.param), PRECISIONS
    yield "master", learnt, _each(precision.said, precision.master), PRECISIONS
    yield "gradients", learnt, _each(precision.said, precision.grad), PRECISIONS
    states = optimizer.bytes if optimizer.bytes is not None else optimizer.copies * precision.state
    yield "optimizer", learnt, _each(optimizer.label, states), f"{OPTIMIZERS}: {optimizer.source}"
    step = say("parameters per rank x temporary copies of the optimizer step")
    yield "step", step, f"{optimizer.label}: {optimizer.step_copies:g}", f"{OPTIMIZERS}: {optimizer.source}"


def _activations(case: TrainingOnCards, setup: Setup) -> Iterator[_Row]:
    trainer = setup.trainer
    source = f"{TRAINERS}: {trainer.source}"
    kept = say("micro-batches in flight x tokens x layers x bytes kept per layer for backward")
    tower = trunk_of(case.arch)
    saved: Saved = layer_saved(tower.layers[-1], setup.habit)
    a_token = saved.whole + saved.stream + saved.split + saved.kv + saved.expert
    recomputed = say(
        "recompute {level}; {size} per token in the last layer",
        level=setup.habit.recompute,
        size=show_bytes(a_token),
    )
    yield "activations", kept, recomputed, source
    working = say("tokens x workspace of one layer in backward")
    wide = say("{count} gradients of FFN width", count=f"{trainer.wide_grads:g}")
    yield "working", working, wide, source
    logits = say("tokens x vocabulary x bytes per logit, including fp32 copies and gradients")
    yield "loss", logits, f"{trainer.logit:g} B; {case.arch.vocab}", source
    yield (
        "gathered",
        say("the largest layer, embeddings and output head, unsharded"),
        setup.training.sharding,
        source,
    )
    yield "buckets", say("gradient communication buffers"), f"{trainer.ddp_copies:g}", source
    yield (
        "casts",
        say("16-bit weight copies kept by autocast for backward"),
        "2 B",
        PRECISIONS,
    )


def _each(name: Sentence | str, size: float) -> Sentence:
    return say("{name}: {size} B", name=name, size=f"{size:g}")


def _beyond() -> Iterator[_Row]:
    terms = corrections("memory_training")["terms"]
    reserved = say("held by the allocator: backward and optimizer step cannot reuse each other's blocks")
    yield "reserved", reserved, f"x {terms['reserve']:g}", FITTED
    device = say("reserved + CUDA context + NCCL on several GPUs")
    yield "device", device, f"{terms['context_gib']:g} + {terms['collectives_gib']:g} GiB", FITTED


def time_reasons(case: TrainingOnCards, step: StepUse) -> tuple[Reason, ...]:
    """A row for each part of the time of a step."""
    times = {name for name, _ in step.parts_s}
    accumulated = str(case.layout.pp if case.training.accumulate is None else case.training.accumulate)
    links = say("bytes per collective / link bandwidth, minus what overlaps with compute")
    setup, training = case.setup(), case.training
    forward = say(
        "matmul and attention FLOPs / achieved FLOP/s; bytes of elementwise operations / memory bandwidth"
    )
    backward = say("2x forward matmuls (1x for frozen weights), 2.5x attention")
    bubble = say("pipeline fill and drain, a fuller last stage, and waiting for the slowest rank")
    again = say("forward pass again, for activations that were not kept")
    states = say("bytes of states read and written per rank / memory bandwidth")
    host = say("kernel launches not hidden by compute, and a fixed cost per step")
    rows: tuple[_Row, ...] = (
        ("forward", forward, say("{count} micro-batches per step", count=accumulated), TIMES),
        ("backward", backward, training.method, TIMES),
        ("recompute", again, setup.habit.recompute, TIMES),
        ("optimizer", states, setup.optimizer.label, OPTIMIZERS),
        *(
            (name, links, f"{name} {getattr(case.layout, name)}", LINKS)
            for name in ("tp", "dp", "pp", "ep", "cp")
        ),
        ("bubble", bubble, training.schedule, TIMES),
        ("host", host, setup.trainer.label, TIMES),
    )
    return tuple(
        Reason(part=f"{part}_s", formula=formula, numbers=numbers, source=source)
        for part, formula, numbers, source in rows
        if part in times
    )

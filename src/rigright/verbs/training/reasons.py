"""Where each figure of a training comes from: its formula, the numbers in it, the source."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import show_bytes
from rigright.base.words import Sentence, say
from rigright.cost.training_saved import Saved, layer_saved
from rigright.cost.training_setup import Setup
from rigright.cost.training_towers import trunk_of
from rigright.facts.corrections import corrections
from rigright.verbs.serving.explained import Reason
from rigright.verbs.training.case import Case
from rigright.verbs.training.trained import RankUse, StepUse

FITTED = "data/corrections/memory_training.toml"
TIMES, LINKS = "data/corrections/speed_training.toml", "data/corrections/links.toml"
OPTIMIZERS, PRECISIONS, TRAINERS = "data/optimizers.toml", "data/precisions.toml", "data/trainers.toml"
_Row = tuple[str, Sentence, Sentence | str, str]  # part, formula, numbers, source


def reasons(case: Case, worst: RankUse) -> tuple[Reason, ...]:
    """A row for each part that stands at the peak of the worst rank."""
    setup = case.setup()
    rows = (*_states(setup), *_activations(case, setup), *_beyond())
    there = {part for part, _ in worst.parts_bytes} | {"reserved", "device"}
    return tuple(
        Reason(part=part, formula=formula, facts=facts, source=source)
        for part, formula, facts, source in rows
        if part in there
    )


def _states(setup: Setup) -> Iterator[_Row]:
    precision, optimizer = setup.precision, setup.optimizer
    learnt = say("parameters that learn x bytes, cut over tp, pp, ep, divided by what the sharding divides")
    yield (
        "frozen",
        say("the base in its format, cut over tp, pp, ep"),
        setup.training.base,
        "data/formats.toml",
    )
    yield "weights", learnt, _each(precision.said, precision.param), PRECISIONS
    yield "master", learnt, _each(precision.said, precision.master), PRECISIONS
    yield "gradients", learnt, _each(precision.said, precision.grad), PRECISIONS
    states = optimizer.bytes if optimizer.bytes is not None else optimizer.copies * precision.state
    yield "optimizer", learnt, _each(optimizer.label, states), f"{OPTIMIZERS}: {optimizer.source}"
    step = say("parameters of the rank x copies the optimizer step makes")
    yield "step", step, f"{optimizer.label}: {optimizer.step_copies:g}", f"{OPTIMIZERS}: {optimizer.source}"


def _activations(case: Case, setup: Setup) -> Iterator[_Row]:
    trainer = setup.trainer
    source = f"{TRAINERS}: {trainer.source}"
    kept = say("micro-batches in flight x tokens x layers x bytes each layer keeps for its backward pass")
    tower = trunk_of(case.arch)
    saved: Saved = layer_saved(tower.layers[-1], setup.habit)
    a_token = saved.whole + saved.stream + saved.split + saved.kv + saved.expert
    recomputed = say(
        "recompute {level}; {size} a token in the last layer",
        level=setup.habit.recompute,
        size=show_bytes(a_token),
    )
    yield "activations", kept, recomputed, source
    working = say("tokens x what one layer holds while its backward pass runs")
    wide = say("{count} gradients as wide as the ffn", count=f"{trainer.wide_grads:g}")
    yield "working", working, wide, source
    logits = say("tokens x vocabulary x bytes of a logit, its fp32 copies and gradients")
    yield "loss", logits, f"{trainer.logit:g} B; {case.arch.vocab}", source
    yield (
        "gathered",
        say("the largest layer and what stands around the layers, whole"),
        setup.training.sharding,
        source,
    )
    yield "buckets", say("copies of gradients on their way to other ranks"), f"{trainer.ddp_copies:g}", source
    yield (
        "casts",
        say("16-bit copies of weights that autocast keeps for the backward pass"),
        "2 B",
        PRECISIONS,
    )


def _each(name: Sentence | str, size: float) -> Sentence:
    return say("{name}: {size} B", name=name, size=f"{size:g}")


def _beyond() -> Iterator[_Row]:
    terms = corrections("memory_training")["terms"]
    reserved = say(
        "what the allocator holds: the backward pass and the step, whose blocks do not serve each other"
    )
    yield "reserved", reserved, f"x {terms['reserve']:g}", FITTED
    device = say("reserved, the CUDA context, and NCCL where ranks talk")
    yield "device", device, f"{terms['context_gib']:g} + {terms['collectives_gib']:g} GiB", FITTED


def time_reasons(case: Case, step: StepUse) -> tuple[Reason, ...]:
    """A row for each part of the time of a step."""
    times = {name for name, _ in step.parts_s}
    accumulated = str(case.layout.pp if case.training.accumulate is None else case.training.accumulate)
    links = say("bytes of each collective over the wires of the fabric, less what computing hides")
    setup, training = case.setup(), case.training
    forward = say(
        "FLOPs of matrices and attention over what the chip reaches; bytes of cheap operations"
        " over memory bandwidth"
    )
    backward = say(
        "twice the matrices of the forward pass (once where weights are frozen), attention"
        " two and a half times"
    )
    bubble = say(
        "stages that fill and drain over the micro-batches, a fuller last stage, and ranks"
        " that wait for the slowest"
    )
    again = say("the forward pass again, as far as its results were not kept")
    states = say("bytes of states a rank reads and writes over memory bandwidth")
    host = say("launches of every layer where they outlast computing, and a fixed cost a step")
    rows: tuple[_Row, ...] = (
        ("forward", forward, say("{count} micro-batches a step", count=accumulated), TIMES),
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
        Reason(part=f"{part}_s", formula=formula, facts=facts, source=source)
        for part, formula, facts, source in rows
        if part in times
    )

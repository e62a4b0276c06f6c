"""Where each figure of a training comes from: its formula, the numbers in it, the source."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import show_bytes
from rigright.base.words import Sentence, say
from rigright.cost.training_saved import Saved, layer_saved
from rigright.cost.training_setup import Setup
from rigright.cost.training_towers import trunk_of
from rigright.facts.corrections import corrections
from rigright.report.explained import Reason
from rigright.report.trained import RankUse
from rigright.verbs.training.case import Case

FITTED = "data/corrections/memory_training.toml"
OPTIMIZERS, PRECISIONS, TRAINERS = "data/optimizers.toml", "data/precisions.toml", "data/trainers.toml"


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


def _states(setup: Setup) -> Iterator[tuple[str, Sentence, str, str]]:
    precision, optimizer = setup.precision, setup.optimizer
    learnt = say("parameters that learn x bytes, cut over tp, pp, ep, divided by what the sharding divides")
    yield (
        "frozen",
        say("the base in its format, cut over tp, pp, ep"),
        setup.training.base,
        "data/formats.toml",
    )
    yield "weights", learnt, f"{precision.label}: {precision.param:g} B", PRECISIONS
    yield "master", learnt, f"{precision.label}: {precision.master:g} B", PRECISIONS
    yield "gradients", learnt, f"{precision.label}: {precision.grad:g} B", PRECISIONS
    states = optimizer.bytes if optimizer.bytes is not None else optimizer.copies * precision.state
    yield "optimizer", learnt, f"{optimizer.label}: {states:g} B", f"{OPTIMIZERS}: {optimizer.source}"
    step = say("parameters of the rank x copies the optimizer step makes")
    yield "step", step, f"{optimizer.label}: {optimizer.step_copies:g}", f"{OPTIMIZERS}: {optimizer.source}"


def _activations(case: Case, setup: Setup) -> Iterator[tuple[str, Sentence, str, str]]:
    trainer, habit = setup.trainer, setup.habit
    source = f"{TRAINERS}: {trainer.source}"
    kept = say("micro-batches in flight x tokens x layers x bytes each layer keeps for its backward pass")
    yield "activations", kept, f"recompute {habit.recompute}; {_layer(case, setup)}", source
    working = say("tokens x what one layer holds while its backward pass runs")
    yield "working", working, f"{trainer.wide_grads:g} gradients as wide as the ffn", source
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


def _layer(case: Case, setup: Setup) -> str:
    tower = trunk_of(case.arch)
    saved: Saved = layer_saved(tower.layers[-1], setup.habit)
    a_token = saved.whole + saved.stream + saved.split + saved.kv + saved.expert
    return f"{show_bytes(a_token)} a token in the last layer"


def _beyond() -> Iterator[tuple[str, Sentence, str, str]]:
    terms = corrections("memory_training")["terms"]
    reserved = say(
        "what the allocator holds: the backward pass and the step, whose blocks do not serve each other"
    )
    yield "reserved", reserved, f"x {terms['reserve']:g}", FITTED
    device = say("reserved, the CUDA context, and NCCL where ranks talk")
    yield "device", device, f"{terms['context_gib']:g} + {terms['collectives_gib']:g} GiB", FITTED

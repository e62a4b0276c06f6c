"""A training that was asked for, on a machine, with every default filled in."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.words import Sentence, say
from rigright.cost.training_memory import TrainingMemory, training_memory
from rigright.cost.training_setup import Setup, set_up
from rigright.cost.training_towers import trunk_of
from rigright.demand import Layout, Training, TrainingWish
from rigright.facts.nodes import Node

SEQ_TOK = 2048
DEGREES = ("tp", "pp", "dp", "ep", "cp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What the laws and the limits of the cards need."""

    arch: Arch
    training: Training
    layout: Layout
    chip: str
    card_bytes: float  # of the smallest card
    notes: tuple[Sentence, ...] = ()

    def memory(self) -> TrainingMemory:
        """Every stage at once."""
        return training_memory(self.arch, self.training, layout=self.layout, stage=np.arange(self.layout.pp))

    def setup(self) -> Setup:
        """The trainer's habits and precisions, looked up."""
        return set_up(self.training, hidden=trunk_of(self.arch).hidden)

    def least_bytes(self) -> float:
        """The worst stage, once the allocator gave back all it can."""
        return float(np.max(self.memory().least_bytes))

    def over(self, **changes: Any) -> Case:
        """The same with another training or layout."""
        layout = {name: value for name, value in changes.items() if name in Layout.__slots__}
        training = {name: value for name, value in changes.items() if name not in layout}
        return replace(
            self, training=replace(self.training, **training), layout=replace(self.layout, **layout)
        )


def build_case(arch: Arch, node: Node, *, wish: TrainingWish) -> Case:
    """Fill in what was not said: ranks of the machine, sharding, length."""
    layout = _layout(arch, node, wish=wish)
    known = {field.name for field in fields(Training)} & {field.name for field in fields(TrainingWish)}
    values = {name: getattr(wish, name) for name in known}
    values["trainer"] = wish.trainer or ("hf" if arch.vocab else "pytorch")
    values["seq_tok"] = wish.seq_tok or min(SEQ_TOK, arch.max_context_tok or SEQ_TOK)
    values["sharding"] = wish.sharding or ("fsdp" if layout.dp > 1 and wish.method == "full" else "none")
    smallest = min(node.cards, key=lambda card: card.free_bytes or card.total_bytes)
    return Case(
        arch=arch,
        training=Training(**values),
        layout=layout,
        chip=smallest.chip.name,
        card_bytes=smallest.free_bytes or smallest.total_bytes,
        notes=(*node.notes, *_notes(arch, wish, sharding=str(values["sharding"]))),
    )


def _layout(arch: Arch, node: Node, *, wish: TrainingWish) -> Layout:
    asked = {name: getattr(wish, name) for name in DEGREES}
    for name, value in asked.items():
        if value is not None and value < 1:
            raise AskError(
                say("{name} cannot be {value}; write a whole number above zero", name=name, value=value)
            )
    tp, pp, cp, ep = (asked[name] or 1 for name in ("tp", "pp", "cp", "ep"))
    dp = asked["dp"] or max(1, node.n_cards // (tp * pp * cp))
    _check(arch, node, layout=Layout(tp=tp, pp=pp, dp=dp, cp=cp, ep=ep))
    return Layout(
        tp=tp,
        pp=pp,
        dp=dp,
        cp=cp,
        ep=ep,
        sequence_parallel=wish.sequence_parallel or (tp > 1 and _is_megatron(wish)),
    )


def _is_megatron(wish: TrainingWish) -> bool:
    return (wish.trainer or "").lower().startswith("megatron")


def _check(arch: Arch, node: Node, *, layout: Layout) -> None:
    ranks = layout.tp * layout.pp * layout.dp * layout.cp
    if ranks > node.n_cards:
        raise AskError(
            say(
                "tp {tp} x pp {pp} x dp {dp} x cp {cp} are {ranks} ranks, and the machine has {cards} cards",
                tp=layout.tp,
                pp=layout.pp,
                dp=layout.dp,
                cp=layout.cp,
                ranks=ranks,
                cards=node.n_cards,
            )
        )
    layers = len(trunk_of(arch).layers)
    if layout.pp > layers:
        raise AskError(say("{pp} pipeline stages are more than {layers} layers", pp=layout.pp, layers=layers))
    mixer = next(
        (layer.mixer for layer in arch.trunk.layers if layer.mixer is not None and layer.mixer.heads), None
    )
    if mixer is not None and mixer.heads % layout.tp:
        raise AskError(say("tp {tp} does not divide {heads} heads", tp=layout.tp, heads=mixer.heads))


def _notes(arch: Arch, wish: TrainingWish, *, sharding: str) -> list[Sentence]:
    notes = []
    if wish.seq_tok is None and arch.vocab:
        notes.append(say("no length was said: sequences of 2048 tokens, or as long as the model allows"))
    if wish.sharding is None and sharding == "fsdp":
        notes.append(say("no sharding was said: parameters, gradients and states are divided (fsdp)"))
    return notes

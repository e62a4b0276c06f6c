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
COUNTS = ["tp", "pp", "dp", "ep", "cp", "micro_batch", "seq_tok", "rank", "accumulate", "virtual_stages"]
MOST = 999_999_999  # of any count: beyond it nothing is meant


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
    _check_counts(wish)
    layout = _layout(node, wish)
    check_layout(arch, layout, cards=node.n_cards)
    training = _training(arch, wish, replicas=layout.dp)
    smallest = min(node.cards, key=lambda card: card.room_bytes)
    notes = _notes(arch, wish, training=training)
    used = layout.tp * layout.pp * layout.dp * layout.cp
    if used < node.n_cards:
        notes.append(say("{used} of {cards} cards are used", used=used, cards=node.n_cards))
    return Case(
        arch=arch,
        training=training,
        layout=layout,
        chip=smallest.chip.name,
        card_bytes=smallest.room_bytes,
        notes=(*node.notes, *notes),
    )


def _check_counts(wish: TrainingWish) -> None:
    for name in COUNTS:
        value = getattr(wish, name)
        if value is not None and value < 1:
            raise AskError(
                say("{name} cannot be {value}; write a whole number above zero", name=name, value=value)
            )
        if value is not None and value > MOST:
            raise AskError(
                say(
                    "{name} cannot be {value}; at most {most}",
                    name=name,
                    value=f"{value:,}",
                    most=f"{MOST:,}",
                )
            )


def _training(arch: Arch, wish: TrainingWish, *, replicas: int) -> Training:
    known = {field.name for field in fields(Training)} & {field.name for field in fields(TrainingWish)}
    values = {name: getattr(wish, name) for name in known}
    values["trainer"] = wish.trainer or ("hf" if arch.vocab else "pytorch")
    values["seq_tok"] = wish.seq_tok or min(SEQ_TOK, arch.max_context_tok or SEQ_TOK)
    values["sharding"] = wish.sharding or ("fsdp" if replicas > 1 and wish.method == "full" else "none")
    return Training(**values)


def _layout(node: Node, wish: TrainingWish) -> Layout:
    tp, pp, cp, ep = (getattr(wish, name) or 1 for name in ("tp", "pp", "cp", "ep"))
    parallel = wish.sequence_parallel or (tp > 1 and (wish.trainer or "").lower().startswith("megatron"))
    dp = wish.dp or max(1, node.n_cards // (tp * pp * cp))
    return Layout(tp=tp, pp=pp, dp=dp, cp=cp, ep=ep, sequence_parallel=parallel)


def check_layout(arch: Arch, layout: Layout, *, cards: int) -> None:
    """The ranks there are, layers for every stage, heads and experts that divide."""
    ranks = layout.tp * layout.pp * layout.dp * layout.cp
    if ranks > cards:
        raise AskError(
            say(
                "tp {tp} x pp {pp} x dp {dp} x cp {cp} are {ranks} ranks, and the machine has {cards} cards",
                tp=layout.tp,
                pp=layout.pp,
                dp=layout.dp,
                cp=layout.cp,
                ranks=ranks,
                cards=cards,
            )
        )
    layers = trunk_of(arch).layers
    if layout.pp > len(layers):
        raise AskError(
            say("{pp} pipeline stages are more than {layers} layers", pp=layout.pp, layers=len(layers))
        )
    heads = next((layer.mixer.heads for layer in layers if layer.mixer is not None and layer.mixer.heads), 0)
    if heads % layout.tp:
        raise AskError(say("tp {tp} does not divide {heads} heads", tp=layout.tp, heads=heads))
    experts = max((layer.ffn.experts for layer in layers if layer.ffn is not None), default=0)
    if layout.ep > 1 and (experts == 0 or experts % layout.ep):
        raise AskError(say("ep {ep} does not divide {experts} experts", ep=layout.ep, experts=experts))
    if layout.ep > layout.tp * layout.dp * layout.cp:
        raise AskError(say("experts cannot be dealt out to {ep} ranks: tp x dp x cp are fewer", ep=layout.ep))


def _notes(arch: Arch, wish: TrainingWish, *, training: Training) -> list[Sentence]:
    notes = []
    if wish.seq_tok is None and arch.vocab:
        notes.append(say("no length was said: sequences of 2048 tokens, or as long as the model allows"))
    if wish.seq_tok and arch.max_context_tok and wish.seq_tok > arch.max_context_tok:
        notes.append(
            say(
                "{tokens} tokens are more than the {most} the model was made for",
                tokens=wish.seq_tok,
                most=arch.max_context_tok,
            )
        )
    if wish.sharding is None and training.sharding == "fsdp":
        notes.append(say("no sharding was said: parameters, gradients and states are divided (fsdp)"))
    return notes

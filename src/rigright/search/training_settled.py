"""One training on one machine: what was said is kept, the rest is as the search would choose it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.record import replace
from rigright.base.words import say
from rigright.choice.training import STAGES, WIDTHS, Space, batch_of, seq_tok_of, work_of
from rigright.demand import Layout, PlanWish, Training, TrainingWish
from rigright.facts.anchors import unmoved
from rigright.facts.nodes import Card, Node
from rigright.predict.columns import at
from rigright.search.market import Market
from rigright.search.question import Kind, Question
from rigright.search.training_explore import explored, preferred
from rigright.search.training_score import TrainingScored, rank_bytes, score_trainings
from rigright.search.training_space import Cuts, TrainingWay, cuts_of

NOWHERE = Market(today=date.min, cards={}, offers={})  # a machine that is there has no price


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A training with nothing left open."""

    work: str  # "finetune", "pretrain"
    training: Training
    layout: Layout
    batch: int | None  # sequences of a step, as said or usual; None where micro-batches were said


def settle(arch: Arch, node: Node, *, said: TrainingWish) -> Settled:
    """The fastest that fits, among what the plan for this machine looks at; else what needs least memory."""
    cards, work = node.n_cards, work_of(said, cards=node.n_cards)
    seq = said.seq_tok or seq_tok_of(arch, work)
    batch = said.global_batch or (
        batch_of(arch, work, seq_tok=seq, cards=cards) if arch.vocab and not said.accumulate else None
    )
    said = replace(said, seq_tok=seq, method=said.method or "full")
    smallest: Card = min(node.cards, key=lambda card: card.room_bytes)
    kind = Kind(card=smallest, counts=(cards,), per_node=len(node.cards), named=True, whole=cards)
    wish = PlanWish(work=work, seq_tok=seq, global_batch=batch, method=said.method)
    question = Question(arch=arch, wish=wish, market=NOWHERE, kinds=(kind,), ways=())
    training, layout = _best(*explored(question, said, anywhere=True), batch=batch)
    return Settled(work=work, training=training, layout=layout, batch=batch)


@unmoved
def fastest(
    arch: Arch, training: Training, *, card: Card, cards: int, batch: int, cp: int | None = None
) -> Layout:
    """How whoever tuned a run cut a model over so many cards, where all else is known."""
    kind = Kind(card=card, counts=(cards,), per_node=cards, named=True)
    wish = PlanWish(work="pretrain", seq_tok=int(training.seq_tok), global_batch=batch)
    for loose in (False, True):  # what gathers the batch; else anything
        space = Space(
            training=replace(training, micro_batch=1, accumulate=None),
            tp=WIDTHS, pp=STAGES, cp=(cp,) if cp else WIDTHS, micro_batch=(int(training.micro_batch),),
            sequence_parallel=True, loose=loose,
        )  # fmt: skip
        way = TrainingWay(space=space, kinds=(0,))
        question = Question(arch=arch, wish=wish, market=NOWHERE, kinds=(kind,), ways=(way,))
        scored = score_trainings(question, batch=batch)
        if len(scored.points):
            place = int(np.argmax(np.nan_to_num(scored.timed["tok_per_s_per_chip"])))
            return _taken(way, at(scored.points, place))[1]
    return _taken(*_least(question, batch=batch))[1]


def _best(question: Question, scored: TrainingScored, *, batch: int | None) -> tuple[Training, Layout]:
    if not len(scored.points):
        return _taken(*_least(question, batch=batch))
    place = _first(question, scored)
    return _taken(question.ways[int(scored.points.way[place])], at(scored.points, place))


def _taken(way: TrainingWay, found: Any) -> tuple[Training, Layout]:
    """One point of a way as records."""
    cuts: dict[str, Any] = {name: int(getattr(found, name)) for name in ("tp", "pp", "dp", "cp", "ep")}
    layout = way.space.layout(**cuts)
    training = replace(way.training, micro_batch=int(found.micro_batch), accumulate=int(found.accumulate))
    return training, layout


def _first(question: Question, scored: TrainingScored) -> int:
    """The fastest of what the plan prefers, then the smallest; where speeds are not known, the usual one."""
    kept = preferred(question, scored, index=np.arange(len(scored.points)))
    speed = scored.timed["tok_per_s_per_chip"][kept]
    if not question.arch.vocab or not np.isfinite(speed).any():
        return int(kept[0])
    order = np.lexsort((scored.points.rank_bytes[kept], -np.nan_to_num(speed)))
    return int(kept[order[0]])


def _least(question: Question, *, batch: int | None) -> tuple[TrainingWay, Cuts]:
    """Of what does not fit, the way and layout that need least memory, with all cards where they can work."""
    ways: Sequence[TrainingWay] = question.ways
    kept = [way for way in ways if way.training.offload == "none"] or ways
    best: tuple[float, TrainingWay, Cuts] | None = None
    for way in kept:
        cuts = cuts_of(question.arch, way.space, counts=question.kinds[0].counts, batch=batch)
        if len(cuts.tp):
            sizes = rank_bytes(question.arch, way.space, cuts=cuts)
            place = int(np.argmin(sizes))
            if best is None or sizes[place] < best[0]:
                best = (float(sizes[place]), way, at(cuts, place))
    if best is None:
        raise AskError(
            say(
                "no layout of {cards} GPUs gives a batch of {batch} sequences: each replica needs at "
                "least one, and micro-batch x accumulate x dp must equal the batch",
                cards=question.kinds[0].whole,
                batch=batch,
            )
        )
    return best[1], best[2]

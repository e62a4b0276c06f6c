"""Trainings tried in the order of habit: as such runs are, then any layout, then fewer cards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.cost.training.setup import METHODS
from rigright.demand import Numbers, PlanWish, TrainingWish
from rigright.predict.columns import grouped
from rigright.predict.trained_memory import most_bytes
from rigright.search.question import Kind, Question
from rigright.search.training_score import TrainingScored, score_trainings, together
from rigright.search.training_space import TrainingWay, fewer, ways_of

MODEST = 1.1  # times the speed, that a larger micro-batch has to bring
TIGHT = {"pretrain": 1.1, "finetune": 1.5}  # times the speed, that room for the whole band is worth


def whole(kind: Kind, wish: PlanWish) -> Kind:
    """A kind whose cards all work where they are paid for: those of a named machine, and those owned."""
    paid = kind.whole or kind.owned
    if not paid:
        return kind
    most = min(paid, wish.most_chips or paid)
    return replace(kind, counts=(most, *(count for count in kind.counts if count > most)))


def explored(
    question: Question, wish: TrainingWish, *, anywhere: bool = False
) -> tuple[Question, TrainingScored]:
    """The question with every way that was tried, and what they came to."""
    batch = None if wish.accumulate and not wish.global_batch else question.wish.global_batch
    question = replace(question, ways=ways_of(question, wish, anywhere=anywhere))
    if not question.ways:
        raise AskError(say("none of these GPUs can train; choose others"))
    scored = score_trainings(question, batch=batch)
    for all_cards in (True, False):
        # kinds that nothing fits on and that somebody named; all, where nothing fits on any
        there = set(scored.points.kind.tolist())
        missing = frozenset(
            place
            for place, kind in enumerate(question.kinds)
            if place not in there and (kind.named or not there)
        )
        if not missing:
            break
        ways = ways_of(question, wish, usual=False, anywhere=anywhere)
        ways = tuple(
            replace(way, kinds=places) for way in ways if (places := tuple(missing.intersection(way.kinds)))
        )
        start, kinds = len(question.ways), question.kinds
        if not all_cards:
            kinds = tuple(
                _fewer(kind, ways, batch=batch) if place in missing else kind
                for place, kind in enumerate(kinds)
            )
            if kinds == question.kinds:
                break
        question = replace(question, kinds=kinds, ways=(*question.ways, *ways))
        scored = together([scored, score_trainings(question, batch=batch, start=start)])
    # of a machine that is paid for, what uses most of its cards
    points = scored.points
    most = np.zeros(len(question.kinds), dtype=np.int64)
    np.maximum.at(most, points.kind, points.n_chips)
    paid = np.array([bool(kind.whole) for kind in question.kinds])
    return question, scored.take(np.flatnonzero(~paid[points.kind] | (points.n_chips == most[points.kind])))


def _fewer(kind: Kind, ways: Sequence[TrainingWay], *, batch: int | None) -> Kind:
    """A kind with fewer cards than all, where these cannot work together."""
    cards = kind.counts[0]
    numbers = {count for way in ways for count in fewer(way.space, cards=cards, batch=batch)}
    return replace(kind, counts=(*sorted(numbers | {cards}), *kind.counts[1:]))


def preferred(question: Question, scored: TrainingScored, *, index: Numbers) -> Numbers:
    """Places in `index` worth taking: with room for the whole band, and micro-batches no larger than pay."""
    points = scored.points
    room = np.array([kind.card.room_bytes for kind in question.kinds])[points.kind[index]]
    methods = np.array([METHODS.index(way.training.method) for way in question.ways])[points.way[index]]
    group = grouped(points.kind[index], points.n_chips[index], methods)
    speed = scored.timed["tok_per_s_per_chip"][index]
    tight = most_bytes(points.rank_bytes[index]) > room
    near = _near(speed, group, times=TIGHT[question.wish.work])
    roomy = np.bincount(group, weights=near & ~tight)[group] > 0
    taken = ~(tight & roomy)
    modest = np.array([way.space.modest for way in question.ways])[points.way[index]]
    near = taken & _near(np.where(taken, speed, 0.0), group, times=MODEST)
    micro = points.micro_batch[index]
    least = np.full(group.max() + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, group[near], micro[near])
    return np.flatnonzero(taken & (~modest | (near & (micro == least[group]))))


def _near(speed: Numbers, group: Numbers, *, times: float) -> Numbers:
    """Whether the fastest of its group is at most so many times as fast as each."""
    fastest, known = np.zeros(group.max() + 1), np.nan_to_num(speed)
    np.maximum.at(fastest, group, known)
    return known >= fastest[group] / times

"""Trainings in the order of habit, and one on one machine, with what was said kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.record import dataclass, replace
from rigright.base.words import say
from rigright.choice.networks import READ, network_of
from rigright.choice.training import STAGES, WIDTHS, Space, batch_of, seq_tok_of, work_of
from rigright.cost.layers import takes_samples
from rigright.cost.training.setup import METHODS
from rigright.demand import Layout, Numbers, PlanWish, Training, TrainingWish
from rigright.facts.nodes import Card, Node
from rigright.predict.columns import at, grouped, joined
from rigright.predict.trained import CUTS, TrainingCase, columns_of, step_rates, steps
from rigright.predict.trained_memory import alike_in_memory, least_bytes, most_bytes
from rigright.search.images_score import usual_batch
from rigright.search.market import Market
from rigright.search.question import Kind, Question
from rigright.search.training_space import (
    Cuts,
    TrainingScored,
    TrainingWay,
    cuts_of,
    fewer,
    layout_of,
    rank_bytes,
    score_trainings,
    together,
    ways_of,
)

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


NOWHERE = Market(today=date.min, cards={}, offers={})  # a machine that is there has no price


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A training with nothing left open."""

    work: str  # "finetune", "pretrain"
    training: Training
    layout: Layout
    batch: int | None  # sequences of a step, as said or usual; None where micro-batches were said


def settle(arch: Arch, node: Node, *, stated: TrainingWish) -> Settled:
    """The fastest that fits, among what the plan for this machine looks at; else what needs least memory."""
    work = work_of(stated, cards=node.n_cards)
    if stated.rollout == "apart" and stated.rollout_gpus is None:
        stated = replace(stated, rollout_gpus=max(node.n_cards // 4, 1))
    cards = node.n_cards - (stated.rollout_gpus or 0)
    if cards < 1:
        raise AskError(say("--rollout-gpus {count} leaves no GPU to train on", count=stated.rollout_gpus))
    seq = stated.seq_tok or seq_tok_of(arch, work, completion_tok=stated.completion_tok)
    batch = stated.global_batch or (
        batch_of(arch, work, seq_tok=seq, cards=cards, wish=stated)
        if arch.vocab and not stated.accumulate
        else None
    )
    stated = replace(stated, seq_tok=seq, method=stated.method or "full")
    smallest: Card = min(node.cards, key=lambda card: card.room_bytes)
    kind = Kind(card=smallest, counts=(cards,), per_node=len(node.cards), named=True, whole=cards)
    wish = PlanWish(work=work, seq_tok=seq, global_batch=batch, method=stated.method)
    question = Question(arch=arch, wish=wish, market=NOWHERE, kinds=(kind,), ways=())
    stated = _with_samples(question, stated)
    training, layout = _best(*explored(question, stated, anywhere=True), batch=batch)
    return Settled(work=work, training=training, layout=layout, batch=batch)


def _with_samples(question: Question, stated: TrainingWish) -> TrainingWish:
    """As many images at once as a plan takes, where nobody said how many."""
    is_open = stated.micro_batch is None and stated.accumulate is None
    if not (is_open and stated.method == "full" and takes_samples(question.arch)):
        return stated
    network = network_of(question.arch, picture=stated.picture)
    form = "fp32" if stated.precision == "fp32" else "fp16"
    batch = None if network.does == READ else usual_batch(question, network, form=form)
    return stated if batch is None else replace(stated, micro_batch=batch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncut:
    """A run of which all is known but how it was cut over its cards."""

    arch: Arch
    training: Training
    card: Card
    cards: int
    batch: int
    cp: int | None = None

    @property
    def case(self) -> TrainingCase:
        """What runs alike in this share."""
        bare = replace(self.training, accumulate=1)
        return TrainingCase(arch=self.arch, training=bare, layout=Layout(), chip=self.card.chip)

    def space(self, *, loose: bool) -> Space:
        """Every cut that may be; `loose`: it need not gather the batch."""
        return Space(
            training=replace(self.training, micro_batch=1, accumulate=None),
            tp=WIDTHS, pp=STAGES, cp=(self.cp,) if self.cp else WIDTHS,
            micro_batch=(int(self.training.micro_batch),), sequence_parallel=True, loose=loose,
        )  # fmt: skip


def fastest_of(asked: Sequence[Uncut]) -> list[Layout]:
    """How whoever tuned each run cut its model: the fastest that fits; those alike share their laws."""
    layouts: dict[Uncut, Layout] = {}
    unlike = list(dict.fromkeys(asked))
    for places in alike_in_memory([whole.case for whole in unlike]):
        layouts |= _fastest([unlike[place] for place in places])
    return [layouts[whole] for whole in asked]


def _fastest(asked: Sequence[Uncut]) -> dict[Uncut, Layout]:
    """Of runs alike: what gathers the batch; else anything; else what needs least memory."""
    layouts: dict[Uncut, Layout] = {}
    for loose in (False, True):
        some = [item for item in asked if item not in layouts]
        for whole, (cuts, rank, speed) in zip(some, _cut(some, loose=loose), strict=True):
            if np.isfinite(speed).any():
                layouts[whole] = _layout(whole, at(cuts, int(np.argmax(np.nan_to_num(speed)))))
            elif loose:
                if not len(rank):
                    raise _unmet(whole.cards, whole.batch)
                layouts[whole] = _layout(whole, at(cuts, int(np.argmin(rank))))
    return layouts


def _cut(asked: Sequence[Uncut], *, loose: bool) -> list[tuple[Cuts, Numbers, Numbers]]:
    """Of each its cuts, the bytes of their fullest rank, and their speed where they fit."""
    if not asked:
        return []
    spaces = [whole.space(loose=loose) for whole in asked]
    arch, space = asked[0].arch, spaces[0]
    each = [cuts_of(arch, own, counts=(whole.cards,), batch=whole.batch)
            for whole, own in zip(asked, spaces, strict=True)]  # fmt: skip
    sizes = [len(cuts.tp) for cuts in each]
    of, cuts = np.repeat(np.arange(len(asked)), sizes), joined(each)
    value = replace(
        at(columns_of([whole.case for whole in asked])[0], of),
        micro_batch=cuts.micro_batch, accumulate=cuts.accumulate,
    )  # fmt: skip
    able = np.array([whole.card.room_bytes for whole in asked])
    rank = least_bytes(arch, value, layout=layout_of(cuts, space))
    fits, speed = np.flatnonzero(rank <= able[of]), np.full(len(rank), np.nan)
    wired = [whole.case.wired for whole in asked]
    rates = at(step_rates(arch, space.training, wired=wired), of[fits])
    layout = layout_of(at(cuts, fits), space)
    speed[fits] = steps(arch, at(value, fits), layout=layout, rates=rates).tok_per_s_per_chip
    parts = (slice(end - size, end) for end, size in zip(np.cumsum(sizes), sizes, strict=True))
    return [(own, rank[part], speed[part]) for own, part in zip(each, parts, strict=True)]


def _layout(asked: Uncut, cuts: Any) -> Layout:
    return asked.space(loose=True).layout(**{name: int(getattr(cuts, name)) for name in CUTS})


def _best(question: Question, scored: TrainingScored, *, batch: int | None) -> tuple[Training, Layout]:
    if not len(scored.points):
        return _taken(*_least(question, batch=batch))
    place = _first(question, scored)
    return _taken(question.ways[int(scored.points.way[place])], at(scored.points, place))


def _taken(way: TrainingWay, value: Any) -> tuple[Training, Layout]:
    """One point of a way as records."""
    cuts: dict[str, Any] = {name: int(getattr(value, name)) for name in CUTS}
    layout = way.space.layout(**cuts)
    training = replace(way.training, micro_batch=int(value.micro_batch), accumulate=int(value.accumulate))
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
        raise _unmet(question.kinds[0].whole, batch)
    return best[1], best[2]


def _unmet(cards: int | None, batch: int | None) -> AskError:
    return AskError(
        say(
            "no layout of {cards} GPUs gives a batch of {batch} sequences: each replica needs at "
            "least one, and micro-batch x accumulate x dp must equal the batch",
            cards=cards,
            batch=batch,
        )
    )

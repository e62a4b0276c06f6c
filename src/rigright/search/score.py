"""Scores of layouts: room of each replica, then service under the load, in arrays that stay in cache."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass, replace
from rigright.cost.known import ran
from rigright.demand import Layout, Numbers, PlanWish, ServingWish, grown_users
from rigright.facts.anchors import anchors, remembered
from rigright.predict.bands import case_of, most_output
from rigright.predict.columns import at, joined
from rigright.predict.deployment import HELD, SERVED, Deployment
from rigright.predict.room import Asked, Room
from rigright.predict.served import DEFAULT_SEQS
from rigright.search.loads import (
    EDGES,
    OF_LAYOUTS,
    Bounds,
    bounds_of,
    edges_at,
    highest,
    traffic_of,
    with_none,
)
from rigright.search.market import Market
from rigright.search.question import Kind, KindWay, Question
from rigright.search.space import LayoutPoints, Shapes, grown, loaded, shapes_of, stands
from rigright.terms.known import known_of

ROOMS = 256  # and rooms of replicas
WAYS = 128  # scores that are remembered: of a whole catalogue a dozen are some megabytes
# of a question and of its wish, what layouts are scored by
SPACE = ("kinds", "usual", "cut", "by_hand", "pace_tok_per_s")
SENT = (
    "prompt_tok",
    "output_tok",
    "context_tok",
    "cached_share",
    "turns",
    "think_s",
    "shared_tok",
    "users",
    "rate_per_s",
    "growth",
)
AIMED = ("ttft_s", "tpot_s", "tok_per_s", "percentile")  # what a load that nobody stated is as high as
NO_MARKET = Market(today=date.min, cards={}, offers={})  # layouts are scored without prices
COLUMNS = (*SERVED, HELD, *EDGES, *OF_LAYOUTS)
CUTS = ("tp", "pp", "dp", "ep", "attention_dp")
SUBJECT = "speed_serving"
SHIFTED = {  # what is served -> the figure that a user's own runs tell of
    "ttft_s": "ttft", "ttft_p50_s": "ttft", "ttft_p95_s": "ttft", "ttft_p99_s": "ttft",
    "tpot_s": "tpot", "tpot_p95_s": "tpot", "requests_per_s": "output", "output_tok_per_s": "output",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfits:
    """Replicas that a card has no room for: arrays, one entry each."""

    way: Numbers
    kind: Numbers
    chips: Numbers
    need_bytes: Numbers
    able_bytes: Numbers  # that the engine may take


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What fits, with what it gives; and what does not fit."""

    points: LayoutPoints
    room: Room
    served: dict[str, Numbers]
    misfits: Misfits

    def take(self, index: Numbers) -> Scored:
        """Some of them."""
        return replace(
            self,
            points=self.points.take(index),
            room=at(self.room, index),
            served={name: value[index] for name, value in self.served.items()},
        )


def traffic_tok(question: Question) -> int:
    """Tokens of an average request, prompt and answer."""
    return (question.wish.prompt_tok or 0) + (question.wish.output_tok or 0)


def context_tok(question: Question) -> int:
    """Tokens the longest sequence may hold."""
    return max(question.wish.context_tok or 0, traffic_tok(question))


def score(question: Question) -> Scored:
    """Score the whole space of a question.

    Each way is scored once for questions that differ in prices and limits alone, and for the users of all
    that are asked beside this one.
    """
    own = () if question.is_loaded else AIMED
    wish = PlanWish(**{name: getattr(question.wish, name) for name in (*SENT, *own)})
    space = {name: getattr(question, name) for name in SPACE}
    users, here = question.users, question.wish.users
    if anchors() or question.wish.rate_per_s is not None or any(way.drafts.own for way in question.ways):
        users = ()
    if len(users) > 1:
        space["beside"], wish = users, replace(wish, users=users[0])
    parts = [
        _scored(question.arch, wish, ways=(way,), apart=_is_parted(question, way), **space)
        for way in question.ways
    ]
    places = range(len(parts))
    result = Scored(
        points=replace(
            joined([part.points for part in parts]),
            way=np.repeat(places, [len(part.points) for part in parts]),
        ),
        room=joined([part.room for part in parts]),
        served={name: np.concatenate([part.served[name] for part in parts]) for name in COLUMNS},
        misfits=replace(
            joined([part.misfits for part in parts]),
            way=np.repeat(places, [len(part.misfits.way) for part in parts]),
        ),
    )
    if here is None or len(users) <= 1:
        return result
    return result.take(np.flatnonzero(result.points.load == grown_users(here, wish.growth)))


@remembered(most=WAYS)
def _scored(arch: Arch, wish: PlanWish, **space: Any) -> Scored:
    """The same of one way."""
    parts = list(_score_way(Question(arch=arch, wish=wish, market=NO_MARKET, **space)))
    return Scored(
        points=joined([part.points for part in parts]),
        room=joined([part.room for part in parts]),
        served={name: np.concatenate([part.served[name] for part in parts]) for name in COLUMNS},
        misfits=joined([part.misfits for part in parts]),
    )


def _score_way(question: Question) -> Iterator[Scored]:
    (way,) = question.ways
    every = _deployment(question, way)
    for places in every.started_alike().values():
        alike = replace(way, kinds=tuple(way.kinds[place] for place in places))
        deployment = _deployment(question, alike)
        for replicas in _replicas(question, alike, deployment=deployment):
            for score in (_fitting(replicas), *_apart(replicas)):
                yield from _judged(score, replicas=replicas)


def _deployment(question: Question, way: KindWay) -> Deployment:
    """A way on its kinds, as it is predicted."""
    kinds = [question.kinds[place] for place in way.kinds]
    hosts = tuple(kind.host for kind in kinds if kind.host is not None)
    return Deployment(
        arch=question.arch,
        engine=way.engine,
        serving=way.serving(context_tok=context_tok(question)),
        machines=tuple(kind.mix or (kind.card,) for kind in kinds),
        hosts=hosts if way.offload is not None else (),
        drafts=way.drafts,
    )


def _judged(score: Scored, *, replicas: _Replicas) -> Iterator[Scored]:
    """Layouts with their columns; under the highest load that keeps the limits too, where none is told."""
    if not len(score.points):
        yield replace(score, served=dict.fromkeys(COLUMNS, np.empty(0)))
        return
    question, way = replicas.question, replicas.way

    def evaluate(index: Numbers, load: Numbers) -> dict[str, Numbers]:
        item = score.take(index)
        item = replace(item, points=replace(item.points, load=load))
        served = _served(replicas, item)
        served = _anchored(question, way, served=served, points=item.points)
        return served | edges_at(question, way, points=item.points)

    columns = evaluate(np.arange(len(score.points)), score.points.load)
    most_s = bounds_of(question)
    if question.is_loaded or not most_s:
        yield replace(score, served=with_none(columns))
        return
    bounds = Bounds(most_s=most_s, percentile=question.wish.percentile)
    top = highest(columns, score.points, bounds=bounds, evaluate=evaluate)
    yield replace(score, served=top.ladder)
    more = score.take(top.index)
    points = replace(more.points, load=top.load)
    yield replace(more, points=points, served=top.between, misfits=at(score.misfits, slice(0)))


def _anchored(
    question: Question, way: KindWay, *, served: dict[str, Numbers], points: LayoutPoints
) -> dict[str, Numbers]:
    """What is served, moved to where the user's own runs put it."""
    chips = [question.kinds[kind].chip for kind in way.kinds]
    if not any(anchor.chip in {chip.id for chip in chips} for anchor in anchors()):
        return served
    moved = {name: served[name].copy() for name in SHIFTED}
    loads = np.nan_to_num(points.load)
    for load, cards in np.unique(np.stack([loads, points.n_chips]), axis=1).T:
        mine = (loads == load) & (points.n_chips == cards)
        case = case_of(traffic_of(question, load, way=way), way.weights, chips=float(cards))
        known = known_of(SUBJECT, chips, what=ran(question.arch, engine=way.engine, case=case))
        for name, figure in SHIFTED.items():
            if figure in known.shift:
                moved[name][mine] *= known.shift[figure][points.row[mine]]
        before = moved["output_tok_per_s"][mine]
        capped = most_output(before, moved["tpot_s"][mine], load=case.load)
        moved["output_tok_per_s"][mine] = capped
        moved["requests_per_s"][mine] *= np.divide(capped, before, out=np.ones_like(before), where=before > 0)
    return served | moved


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replicas:
    """Replicas of one way: their shapes, which kinds they may stand on, and their room there."""

    question: Question
    way: KindWay
    deployment: Deployment
    kinds: tuple[Kind, ...]
    shapes: Shapes
    may: Numbers  # [kind, shape]
    room: Room


def _replicas(question: Question, way: KindWay, *, deployment: Deployment) -> Iterator[_Replicas]:
    shares = way.engine.pool == "share" or not question.users
    asked = Asked(
        context_tok=context_tok(question),
        traffic_tok=traffic_tok(question),
        most_seqs=DEFAULT_SEQS
        if shares
        else min(int(grown_users(question.users[-1], question.wish.growth)), DEFAULT_SEQS),
    )
    kinds = tuple(question.kinds[kind] for kind in way.kinds)
    wish = question.cut if question.by_hand else None
    for shapes, may, room in _rooms(deployment, kinds=kinds, asked=asked, wish=wish):
        yield _Replicas(
            question=question, way=way, deployment=deployment, kinds=kinds, shapes=shapes, may=may, room=room
        )


@remembered(most=ROOMS)
def _rooms(
    deployment: Deployment, *, kinds: tuple[Kind, ...], asked: Asked, wish: ServingWish | None
) -> tuple[tuple[Shapes, Numbers, Room], ...]:
    """The ways to cut a replica, where each may stand, and its room there: the same under every load."""
    engine = deployment.engine
    return tuple(
        (
            shapes,
            stands(shapes, kinds, tensor=engine.split == "tensor", named=wish is not None),
            deployment.room((slice(None), None), layout=shapes.layout(), asked=asked),
        )
        for shapes in shapes_of(deployment.arch, engine, kinds=kinds, wish=wish)
    )


def _fitting(replicas: _Replicas) -> Scored:
    """Every number of chips and every load of what fits; what does not fit by its nearest."""
    row, column, dp = grown(replicas.shapes, replicas.kinds, fits=replicas.room.fits & replicas.may)
    points, kept = loaded(
        replicas.question, replicas.shapes, column=column, dp=dp,
        most=replicas.room.pool_tok[row, column] / max(traffic_tok(replicas.question), 1),
        named=np.array([kind.named for kind in replicas.kinds])[row],
    )  # fmt: skip
    row, column = row[kept], column[kept]
    number = replicas.question.cut.batch  # sequences of whole contexts that somebody wants held
    enough = number is None or np.floor(replicas.room.contexts[row, column]) * points.dp >= number
    mine = np.flatnonzero(_as_cut(replicas, points) & enough)
    return _placed(replicas, replace(points, row=row).take(mine), column=column[mine])


def _apart(replicas: _Replicas) -> Iterator[Scored]:
    """Workers for prompts and workers for next tokens, where the engine and the chips are made for it."""
    question, way, deployment = replicas.question, replicas.way, replicas.deployment
    if not question.apart:
        return
    from rigright.search.space import is_enough, parts_work, points_of, pools_of, workers_of

    asked = [replace(question.wish, users=users) for users in question.users or (None,)]
    wishes = [wish for wish in asked if is_enough(wish)]
    parted = np.array([parts_work(way.engine, kind) for kind in replicas.kinds])
    able = replicas.room.fits & replicas.may & parted[:, None]
    if not wishes or not able.any():
        return
    workers = workers_of(
        deployment, shapes=replicas.shapes, able=able,
        traffic=traffic_of(question, None, way=way), else_tok=context_tok(question),
    )  # fmt: skip
    room: Any = {"shapes": replicas.shapes, "room": replicas.room, "seq_tok": traffic_tok(question)}
    pairs = [
        points_of(pools_of(workers, wish, kinds=replicas.kinds), workers, wish=wish, **room)
        for wish in wishes
    ]
    points, column = joined([points for points, _ in pairs]), np.concatenate([column for _, column in pairs])
    yield replace(_placed(replicas, points, column=column), misfits=at(_misfits(replicas), slice(0)))


def _is_parted(question: Question, way: KindWay) -> bool:
    """Whether prompts may have workers of their own: not where somebody fixed how the model is cut."""
    is_cut = any(getattr(question.cut, name) is not None for name in CUTS)
    returns = traffic_of(question, None, way=way).think_s is not None  # memory of both decides what is found
    if returns or not (question.more and question.apart and way.usual) or is_cut:
        return False
    from rigright.search.space import parts_work

    return any(parts_work(way.engine, question.kinds[place]) for place in way.kinds)


def _as_cut(replicas: _Replicas, points: LayoutPoints) -> Numbers:
    """Which points are cut as somebody asked: what nobody stated is open."""
    asked = {name: getattr(replicas.question.cut, name) for name in CUTS}
    values = [getattr(points, name) == value for name, value in asked.items() if value is not None]
    return np.all([np.ones(len(points), dtype=bool), *values], axis=0)


def _placed(replicas: _Replicas, points: LayoutPoints, *, column: Numbers) -> Scored:
    """Points with their way, kind and room; no more is set aside than requests are in flight."""
    room = replicas.room.take(points.row, column)
    if replicas.question.users and replicas.way.engine.pool != "share":
        room = replace(room, slots=np.fmin(room.slots, np.ceil(points.load)))
    return Scored(
        points=replace(points, kind=np.asarray(replicas.way.kinds)[points.row]),
        room=room,
        served={},
        misfits=_misfits(replicas),
    )


def _misfits(replicas: _Replicas) -> Misfits:
    row, column = np.nonzero(~replicas.room.fits & replicas.may)
    return Misfits(
        way=np.zeros(len(row), dtype=int),
        kind=np.asarray(replicas.way.kinds)[row],
        chips=replicas.shapes.chips[column],
        need_bytes=replicas.room.need_bytes[row, column],
        able_bytes=np.maximum(replicas.room.able_bytes[row, column], 1.0),
    )


def _served(item: _Replicas, score: Scored) -> dict[str, Numbers]:
    """Service of every layout."""
    points = score.points
    replicas = item.deployment.replicas(
        points.row,
        room=score.room,
        layout=layout_of(points),
        traffic=traffic_of(item.question, points.load, way=item.way),
        else_tok=float(context_tok(item.question)),
        prefill=_prefill_of(points) if len(points) and points.prefill_dp[0] > 0 else None,
    )
    return item.deployment.serves(replicas, points.row)


def layout_of(points: LayoutPoints) -> Layout:
    """Points whose attention is cut alike, as a layout of arrays."""
    return Layout(
        tp=points.tp, pp=points.pp, dp=points.dp, ep=points.ep,
        attention_dp=bool(len(points) and points.attention_dp[0]),
    )  # fmt: skip


def _prefill_of(points: LayoutPoints) -> Layout:
    """The workers that take prompts, cut as those for next tokens are."""
    cut = bool(len(points) and points.ep[0] > 1)
    return replace(
        layout_of(points), tp=points.prefill_tp, pp=1, dp=points.prefill_dp,
        ep=points.prefill_tp if cut else 1,
    )  # fmt: skip

"""Scores of layouts: room of each replica, then service under the load, in arrays that stay in cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass, replace
from rigright.choice.drafts import head_bytes
from rigright.choice.offload import in_ram
from rigright.cost.known import ran
from rigright.cost.speed.rates import Rates
from rigright.cost.speed.work import Work
from rigright.demand import Layout, Numbers, PlanWish, ServingWish, grown_users
from rigright.facts.anchors import anchors, remembered
from rigright.facts.engines import Engine
from rigright.facts.hosts import host_chip
from rigright.facts.nodes import Card
from rigright.predict.columns import at, each_chunk, joined, stacked
from rigright.predict.room import Asked, Room, mix_dealt, mixed_room, room_of, whole_rates
from rigright.predict.served import DEFAULT_SEQS, Replicas, at_kinds, piped, served, server_rates
from rigright.predict.told import case_of, most_output
from rigright.search.edges import EDGES, bounds_of, edges_at, traffic_of
from rigright.search.loads import OF_LAYOUTS, Bounds, highest, with_none
from rigright.search.market import Market
from rigright.search.question import Kind, Question, Way
from rigright.search.space import Points, Shapes, grown, loaded, shapes_of, stands
from rigright.terms.known import known_of
from rigright.terms.memory import device_of
from rigright.terms.speed import work_of

SERVED = (
    *("ttft_s", "ttft_p50_s", "ttft_p95_s", "ttft_p99_s", "tpot_s", "tpot_p95_s", "requests_per_s"),
    *("output_tok_per_s", "running", "waiting_s", "busy", "step_s", "prefill_s"),
    *("memory_share", "compute_share", "link_share", "fixed_share", "compute_busy", "work_busy"),
)
ROOMS = 256  # and rooms of replicas
WAYS = 128  # scores that are remembered: of a whole catalogue a dozen are some megabytes
# of a question and of its wish, what layouts are scored by
SPACE = ("kinds", "usual", "cut", "by_hand", "pace_tok_per_s")
SENT = (
    "prompt_tok",
    "output_tok",
    "context_tok",
    "cached_share",
    "users",
    "rate_per_s",
    "growth",
)
AIMED = ("ttft_s", "tpot_s", "tok_per_s", "percentile")  # what a load that nobody told is as high as
NO_MARKET = Market(today=date.min, cards={}, offers={})  # layouts are scored without prices
COLUMNS = (*SERVED, "held", *EDGES, *OF_LAYOUTS)  # held: sequences that a replica is set up for
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

    points: Points
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
    found = Scored(
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
        return found
    return found.take(np.flatnonzero(found.points.load == grown_users(here, wish.growth)))


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
    work = work_of(question.arch, weights=way.weights, kv=way.kv)
    for places in _alike(question, way):
        alike = replace(way, kinds=places)
        if way.offload is not None:
            work = replace(work, ram=in_ram(question.arch, way.offload))
        rates = _rates(question, alike, work=work)
        for replicas in _replicas(question, alike):
            for found in (_fitting(replicas), *_apart(replicas, work=work, rates=rates)):
                yield from _judged(question, found, work=work, rates=rates, way=alike)


def _judged(question: Question, found: Scored, *, work: Work, rates: Rates, way: Way) -> Iterator[Scored]:
    """Layouts with their columns; under the highest load that keeps the limits too, where none is told."""

    def evaluate(index: Numbers, load: Numbers) -> dict[str, Numbers]:
        one = found.take(index)
        one = replace(one, points=replace(one.points, load=load))
        served = _served(question, one, work=work, rates=rates, way=way)
        served = _anchored(question, way, served=served, points=one.points)
        return served | edges_at(question, way, points=one.points)

    columns = evaluate(np.arange(len(found.points)), found.points.load)
    most_s = bounds_of(question)
    if question.is_loaded or not most_s or not len(found.points):
        yield replace(found, served=with_none(columns))
        return
    bounds = Bounds(most_s=most_s, percentile=question.wish.percentile)
    top = highest(columns, found.points, bounds=bounds, evaluate=evaluate)
    yield replace(found, served=top.ladder)
    more = found.take(top.index)
    points = replace(more.points, load=top.load)
    yield replace(more, points=points, served=top.between, misfits=at(found.misfits, slice(0)))


def _rates(question: Question, way: Way, *, work: Work, batch: int = 1) -> Rates:
    """What the cards of a way reach: unlike ones are dealt layers for so many sequences.

    Where a part lies in main memory, with the processor beside them.
    """
    kinds = [question.kinds[place] for place in way.kinds]
    mix = kinds[0].mix
    if way.offload is not None:
        machines = [[card.chip for card in kind.mix] or [kind.chip] for kind in kinds]
        hosts = [host_chip(kind.host) for kind in kinds if kind.host is not None]
        from rigright.predict.beside import beside_rates

        return beside_rates(machines, hosts, engine=way.engine, weights=way.weights)
    if mix:
        return _dealt_rates(question, way, mix=mix, work=work, batch=batch)
    return server_rates([kind.chip for kind in kinds], way.engine, weights=way.weights)


def _anchored(
    question: Question, way: Way, *, served: dict[str, Numbers], points: Points
) -> dict[str, Numbers]:
    """What is served, moved to where the user's own runs put it."""
    chips = [question.kinds[kind].chip for kind in way.kinds]
    if not any(one.chip in {chip.id for chip in chips} for one in anchors()):
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


def _dealt_rates(question: Question, way: Way, *, mix: Sequence[Card], work: Work, batch: int) -> Rates:
    """Rates of unlike cards together, with layers dealt out for so many sequences."""
    serving = way.serving(context_tok=context_tok(question), batch=batch)
    dealt = mix_dealt(question.arch, serving, mix=mix, work=work)
    chunk_tok = min(question.wish.prompt_tok or 1, _budget_tok(question, way))
    return whole_rates(dealt, way.engine, weights=way.weights, work=work, chunk_tok=chunk_tok)


def _alike(question: Question, way: Way) -> list[tuple[int, ...]]:
    """Kinds that the engine starts with the same settings on."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for place in way.kinds:
        kind = question.kinds[place]
        padded = device_of(kind.card, way.engine).capability if way.weights in way.engine.padded else ""
        groups.setdefault((*defaults(way.engine, kind), padded, kind.mix and place), []).append(place)
    return [tuple(places) for places in groups.values()]


def defaults(engine: Engine, kind: Kind) -> tuple[int | None, ...]:
    """Tokens of a step, sequences and captured sizes an engine takes on a card when nobody says."""
    total = kind.card.program_bytes
    steps = (engine.budget_tok, engine.max_seqs, engine.graph_sizes)
    return tuple(engine.default(step, total, chip=kind.chip.id) for step in steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replicas:
    """Replicas of one way: their shapes, which kinds they may stand on, and their room there."""

    question: Question
    way: Way
    kinds: tuple[Kind, ...]
    shapes: Shapes
    may: Numbers  # [kind, shape]
    room: Room


def _replicas(question: Question, way: Way) -> Iterator[_Replicas]:
    shares = way.engine.pool == "share" or not question.users
    asked = Asked(
        context_tok=context_tok(question),
        traffic_tok=traffic_tok(question),
        most_seqs=DEFAULT_SEQS
        if shares
        else min(int(grown_users(question.users[-1], question.wish.growth)), DEFAULT_SEQS),
    )
    kinds = tuple(question.kinds[kind] for kind in way.kinds)
    told = question.cut if question.by_hand else None
    bare = replace(way, kinds=())
    for shapes, may, room in _rooms(question.arch, bare, kinds=kinds, asked=asked, told=told):
        yield _Replicas(question=question, way=way, kinds=kinds, shapes=shapes, may=may, room=room)


@remembered(most=ROOMS)
def _rooms(
    arch: Arch, way: Way, *, kinds: tuple[Kind, ...], asked: Asked, told: ServingWish | None
) -> tuple[tuple[Shapes, Numbers, Room], ...]:
    """The ways to cut a replica, where each may stand, and its room there: the same under every load."""
    serving, mix = way.serving(context_tok=asked.context_tok), kinds[0].mix
    found = []
    for shapes in shapes_of(arch, way, kinds=kinds, told=told):
        if mix:  # only all of them, one after another
            room = mixed_room(arch, serving, mix=mix, asked=asked, width=len(shapes.tp))
        else:
            cards = stacked([device_of(kind.card, way.engine) for kind in kinds])
            room = room_of(
                arch, serving, device=at(cards, (slice(None), None)), layout=shapes.layout(),
                asked=asked, shape=(len(kinds), len(shapes.tp)),
            )  # fmt: skip
        may = stands(shapes, kinds, tensor=way.engine.split == "tensor", told=told is not None)
        room = room.less(head_bytes(arch, way.weights, drafts=way.drafts) / shapes.chips)
        found.append((shapes, may, room))
    return tuple(found)


def _fitting(one: _Replicas) -> Scored:
    """Every number of chips and every load of what fits; what does not fit by its nearest."""
    row, column, dp = grown(one.shapes, one.kinds, fits=one.room.fits & one.may)
    points, kept = loaded(
        one.question, one.shapes, column=column, dp=dp,
        most=one.room.pool_tok[row, column] / max(traffic_tok(one.question), 1),
        named=np.array([kind.named for kind in one.kinds])[row],
    )  # fmt: skip
    row, column = row[kept], column[kept]
    held = one.question.cut.batch  # sequences of whole contexts that somebody wants held
    enough = held is None or np.floor(one.room.contexts[row, column]) * points.dp >= held
    mine = np.flatnonzero(_as_cut(one, points) & enough)
    return _placed(one, replace(points, row=row).take(mine), column=column[mine])


def _apart(one: _Replicas, *, work: Work, rates: Rates) -> Iterator[Scored]:
    """Workers for prompts and workers for next tokens, where the engine and the chips are made for it."""
    question, way = one.question, one.way
    if not question.apart:
        return
    from rigright.search.pools import is_enough, parts_work, points_of, pools_of, workers_of

    asked = [replace(question.wish, users=users) for users in question.users or (None,)]
    wishes = [wish for wish in asked if is_enough(wish)]
    parted = np.array([parts_work(way.engine, kind) for kind in one.kinds])
    able = one.room.fits & one.may & parted[:, None]
    if not wishes or not able.any():
        return
    workers = workers_of(
        work, rates, shapes=one.shapes, able=able,
        traffic=traffic_of(question, None, way=way), budget_tok=_budget_tok(question, way),
    )  # fmt: skip
    room: Any = {"shapes": one.shapes, "room": one.room, "seq_tok": traffic_tok(question)}
    found = [
        points_of(pools_of(workers, wish, kinds=one.kinds), workers, wish=wish, **room) for wish in wishes
    ]
    points, column = joined([points for points, _ in found]), np.concatenate([column for _, column in found])
    yield replace(_placed(one, points, column=column), misfits=at(_misfits(one), slice(0)))


def _is_parted(question: Question, way: Way) -> bool:
    """Whether prompts may have workers of their own: not where somebody fixed how the model is cut."""
    is_cut = any(getattr(question.cut, name) is not None for name in CUTS)
    if not (question.more and question.apart and way.usual) or is_cut:
        return False
    from rigright.search.pools import parts_work

    return any(parts_work(way.engine, question.kinds[place]) for place in way.kinds)


def _as_cut(one: _Replicas, points: Points) -> Numbers:
    """Which points are cut as somebody asked: what nobody told is open."""
    asked = {name: getattr(one.question.cut, name) for name in CUTS}
    told = [getattr(points, name) == value for name, value in asked.items() if value is not None]
    return np.all([np.ones(len(points), dtype=bool), *told], axis=0)


def _placed(one: _Replicas, points: Points, *, column: Numbers) -> Scored:
    """Points with their way, kind and room; no more is set aside than requests are in flight."""
    room = one.room.take(points.row, column)
    if one.question.users and one.way.engine.pool != "share":
        room = replace(room, slots=np.fmin(room.slots, np.ceil(points.load)))
    return Scored(
        points=replace(points, kind=np.asarray(one.way.kinds)[points.row]),
        room=room,
        served={},
        misfits=_misfits(one),
    )


def _misfits(one: _Replicas) -> Misfits:
    row, column = np.nonzero(~one.room.fits & one.may)
    return Misfits(
        way=np.zeros(len(row), dtype=int),
        kind=np.asarray(one.way.kinds)[row],
        chips=one.shapes.chips[column],
        need_bytes=one.room.need_bytes[row, column],
        able_bytes=np.maximum(one.room.able_bytes[row, column], 1.0),
    )


def _served(question: Question, found: Scored, *, work: Work, rates: Rates, way: Way) -> dict[str, Numbers]:
    """Service of every layout; unlike cards are dealt layers for as many sequences as each is set up for."""
    columns = _serve(question, found, work=work, rates=rates, way=way)
    if question.kinds[way.kinds[0]].mix:
        for count in np.unique(columns["held"]):
            mine = columns["held"] == count
            own = _rates(question, way, work=work, batch=int(count))
            again = _serve(question, found.take(mine), work=work, rates=own, way=way)
            for name in SERVED:
                columns[name][mine] = again[name]
    return columns


def _serve(question: Question, found: Scored, *, work: Work, rates: Rates, way: Way) -> dict[str, Numbers]:
    """Service of every layout, a chunk at a time."""
    size, kind = len(found.points), question.kinds[way.kinds[0]]
    columns = {name: np.empty(size) for name in (*SERVED, "held")}
    _, seqs, _ = defaults(way.engine, kind)
    # points have room for layers dealt alike: nothing else is dealt to cards alike
    gain = 1.0 if kind.mix else piped(question.arch, way.engine, work=work, stages=found.points.pp)
    gain = np.broadcast_to(gain, size)

    def task(chunk: slice) -> None:
        part = found.take(chunk)
        points = part.points
        replicas = Replicas(
            engine=way.engine,
            layout=layout_of(points),
            traffic=traffic_of(question, points.load, way=way),
            pool_tok=part.room.pool_tok,
            slots=np.floor(part.room.slots),
            seqs=seqs or DEFAULT_SEQS,
            max_seqs=way.max_seqs or np.nan,
            budget_tok=_budget_tok(question, way),
            prefill=prefill_of(points) if points.prefill_dp[0] > 0 else None,
        )
        service, held = served(replicas, work=work, rates=at_kinds(rates, points.row, piped=gain[chunk]))
        columns["held"][chunk] = held
        for name in SERVED:
            columns[name][chunk] = getattr(service, name)

    each_chunk(size, task)
    return columns


def _budget_tok(question: Question, way: Way) -> float:
    """Tokens of a pass; None said: a whole context."""
    budget, _, _ = defaults(way.engine, question.kinds[way.kinds[0]])
    budget = way.budget_tok or budget
    return float(budget or context_tok(question))


def layout_of(points: Points) -> Layout:
    """Points whose attention is cut alike, as a layout of arrays."""
    return Layout(
        tp=points.tp, pp=points.pp, dp=points.dp, ep=points.ep,
        attention_dp=bool(len(points) and points.attention_dp[0]),
    )  # fmt: skip


def prefill_of(points: Points) -> Layout:
    """The workers that take prompts, cut as those for next tokens are."""
    cut = bool(len(points) and points.ep[0] > 1)
    return replace(
        layout_of(points), tp=points.prefill_tp, pp=1, dp=points.prefill_dp,
        ep=points.prefill_tp if cut else 1,
    )  # fmt: skip

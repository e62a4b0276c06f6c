"""The search for machines that serve a model: score, hold against limits, cut to a front, tell why not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.record import replace
from rigright.base.words import Sentence, assuming, say, with_commas
from rigright.choice.offload import asked_offload
from rigright.choice.work import USUAL_TOK_PER_S, assumed, is_for_one, says_load, settled
from rigright.demand import Numbers, PlanWish
from rigright.facts.nodes import find_node
from rigright.search.choose import NEAR, Choice, Field, choose, cost_of, field_of
from rigright.search.figures import Limit, figures_of, limits_of, usual_limits
from rigright.search.first import (
    Doubts,
    buys_best,
    doubted,
    doubts_of,
    quality_cost,
    ranks_of,
    speed_worth,
    staged_at,
)
from rigright.search.market import Market
from rigright.search.plans import Candidates, plan_of
from rigright.search.question import KindWay, Question, ask, offloaded, spilling, ways_of
from rigright.search.record import LOSSY, OTHERS, RAM, SHORT, Plan, Rejection, SearchResult, is_named
from rigright.search.score import score
from rigright.search.supply import HOWS, OWN, in_reach, options
from rigright.search.why import broken, excess_of, nearest_to, nothing_fits, rejections

ONE_MACHINE = 8  # cards of it at most
OF_TEXT = frozenset({"ttft_s", "tpot_s", "usd_per_mtok"})  # no aims where nobody reads along
ALL, MISSED, NOTHING = LOSSY, 10, 100  # levels: the last; what everybody wants is not kept; nothing is found
FAR_NEARER = np.log(4.0)  # to what everybody wants: else nobody gives up bits for it
USUAL_USERS = 8  # requests at once, where nobody says for how many a machine is sought


def find_serving(
    arch: Arch, stated: PlanWish, *, market: Market, alone: bool = False, beside: tuple[float, ...] = (),
    most: int | None = None,
) -> SearchResult:  # fmt: skip
    """The best few ways to serve a model within the wish, and why nothing cheaper will do.

    `most`: no more is settled for than that level.
    """
    most = ALL if most is None else most
    wish = filled(arch, stated, market=market)

    def asked(*, own: bool = False) -> Question:
        return replace(ask(arch, wish, market=market, stated=stated, own=own), beside=beside)

    if wish.owned is None:
        open_load = not says_load(stated) and not is_for_one(wish)
        answer = find(asked(), alone=alone, most=0 if open_load else most)
        if open_load and answer.level:  # fewer users before a worse model, or before none
            one = replace(stated, users=1.0)
            lone = find_serving(arch, one, market=market, alone=True, beside=beside, most=most)
            answer = find(asked(), alone=alone, most=min(lone.level, most))
            nearer = not answer.plans and _asked_usd(lone) < _asked_usd(answer)
            if nearer or (lone.plans and lone.level < answer.level):
                note = say(
                    "planned for one user: no machine in reach serves {users} at once as well",
                    users=f"{wish.users:g}",
                )
                return replace(lone, notes=(note, *lone.notes))
    else:  # first what the owner's own cards do; buying comes only where they will not do
        answer = find(asked(own=True), alone=True)
        if not answer.plans:
            more = find(asked())
            answer = replace(answer, instead=more.plans[0] if more.plans else answer.instead)
    full = answer.wish or wish
    return replace(answer, wish=full, notes=(*assumed(arch, stated, filled=full), *answer.notes))


def _asked_usd(result: SearchResult) -> float:
    """What the nearest costs, where it is too dear."""
    costs = (item.nearest for item in result.broken if item.limit == "usd" and item.nearest is not None)
    return min(costs, default=np.inf)


def filled(arch: Arch, wish: PlanWish, *, market: Market) -> PlanWish:
    """The wish with the work, its lengths and its load where nobody said them."""
    named = wish.on if wish.on is not None else wish.owned
    node = market.there if market.there is not None or named is None else find_node(named)
    chips = () if node is None else tuple({card.chip.id: card.chip for card in node.cards}.values())
    return settled(arch, wish, chips=chips, more=wish.on is None)


def find(question: Question, *, alone: bool = False, most: int = ALL) -> SearchResult:
    """A pure function of the question; `alone`: no other machine is looked for where nothing fits.

    `most`: no more is settled for.
    """
    refused = licence_refused(question)
    if refused is not None:
        return SearchResult(broken=(refused,))
    table, limits, comfort = searched(question, most=most)
    answer: SearchResult
    if not len(table.options.index):
        answer = nothing_fits(table.question, table.scored.misfits)
        if is_named(question.wish) and not alone:
            answer = replace(answer, instead=_instead(question))
    else:
        answer = _result(table, limits, comfort=comfort)
    size, level = len(table.scored.points), table.question.level
    level = level + answer.level if answer.plans else NOTHING
    return replace(answer, looked_at=size, chips=len(question.kinds), wish=table.question.wish, level=level)


def searched(
    question: Question, *, most: int = ALL
) -> tuple[Candidates, tuple[Limit, ...], tuple[Limit, ...]]:
    """The table, its limits, and those that nobody named; wider where what is usual will not do.

    Other engines, formats that lose more and smaller caches are looked at only then.
    """
    last: tuple[Candidates, tuple[Limit, ...], tuple[Limit, ...]] | None = None
    misses = wants = np.inf  # how far what is nearest so far is beyond the limits, and what everybody wants
    dearer = (item for more in (_dearer,) if misses > 0 for item in more(question, most))
    levels = chain(_levels(question, most=most), dearer)
    for item in (paced for level in levels if level.ways for paced in level.paces):
        table = tabled(item)
        limits = limits_of(item, table.figures)
        comfort = usual_limits(item, table.figures)
        size = len(table.options.index)
        if size and (excess_of((*limits, *comfort), size) <= 0).any():
            return table, limits, comfort
        spills = any(way.offload is not None for way in item.ways)
        nearest = float(excess_of(limits, size).min()) if size else np.inf
        wanted = float(excess_of(comfort, size).min()) if size else np.inf
        nearer = not spills and wanted < wants - (FAR_NEARER if item.more else 0.0)
        if last is None or nearest < misses or (nearest == misses < np.inf and nearer):
            last, misses, wants = (table, limits, comfort), nearest, wanted
    if last is None:
        from rigright.search.why import no_way

        raise AskError(no_way(question))
    return last


def _levels(question: Question, *, most: int) -> Iterator[Question]:
    """The question, then with a shorter context where none was said, then with what is unusual.

    What is settled for at one level, told by hand, is found at the level of the same context: an unusual
    engine is looked at in the longest context first. Beyond the first, what a budget does not reach is left
    out.
    """
    if asked_offload(question.arch, question.cut) is not None:
        yield offloaded(spilling(question))
        return
    yield question
    if question.more or (question.ways and not most):
        return
    shorter = [
        replace(question, wish=replace(question.wish, context_tok=context_tok))
        for context_tok in question.contexts
    ]
    first, ram = shorter[:1], spilling(question)
    yield from (replace(in_reach(item), level=SHORT) for item in first)
    if most >= RAM and ram.kinds:
        yield replace(offloaded(in_reach(ram)), level=RAM)
    if most >= OTHERS:
        for item in (question, *shorter):
            other = _ways(item, others=True)
            if other != item.ways:
                yield replace(in_reach(replace(item, ways=other)), level=OTHERS)
        for item in (question, *shorter):
            yield replace(in_reach(wider(item)), level=LOSSY)


def _dearer(question: Question, most: int) -> Iterator[Question]:
    """What a budget reaches with more money, which is nearest where nothing keeps it."""
    asked = asked_offload(question.arch, question.cut)
    if question.wish.budget_usd is None or question.more or most < ALL or asked is not None:
        return
    yield from (
        replace(question, wish=replace(question.wish, context_tok=tok)) for tok in question.contexts[:1]
    )
    yield offloaded(spilling(question))


def wider(question: Question) -> Question:
    """The same with everything that is not usual."""
    return replace(question, more=True, ways=_ways(question, more=True))


def _ways(question: Question, *, more: bool = False, others: bool = False) -> tuple[KindWay, ...]:
    return ways_of(
        question.arch, question.wish, kinds=question.kinds, more=more, others=others, cut=question.cut
    )


def best(question: Question) -> tuple[Candidates, int] | None:
    """The table and the place of what comes first, whether or not it keeps the limits; None: nothing fits."""
    table, limits, comfort = searched(question)
    size = len(table.options.index)
    if not size:
        return None
    for tried in ((*limits, *comfort), limits):
        beyond = excess_of(tried, size)
        if (beyond <= 0).any():
            return table, _picked(table, tried, beyond=beyond)[0][0][0]
    return table, nearest_to(limits, beyond=excess_of(limits, size), price=_price(table))


def tabled(question: Question) -> Candidates:
    """Every layout with every supply, and their figures."""
    scored = score(question)
    points = scored.points
    result = options(question, kind=points.kind, n_chips=points.n_chips, replica=points.replica)
    return Candidates(
        question=question, scored=scored, options=result, figures=figures_of(question, scored, options=result)
    )


def _result(table: Candidates, limits: tuple[Limit, ...], *, comfort: tuple[Limit, ...]) -> SearchResult:
    size = len(table.options.index)
    beyond = excess_of(limits, size)
    if not (beyond <= 0).any():
        place = nearest_to(limits, beyond=beyond, price=_price(table))
        nearest = plan_of(table, place, limits=limits)
        return SearchResult(nearest=nearest, broken=broken(table, limits, place=place))
    wanted = excess_of((*limits, *comfort), size)
    if comfort and (wanted <= 0).any():
        chosen = _chosen(table, (*limits, *comfort), beyond=wanted)
        return replace(chosen, notes=(assuming(_wanted(table.question)),))
    answer = _chosen(table, limits, beyond=beyond, kept=not comfort)
    return replace(answer, notes=(_missed(table.question),), level=MISSED) if comfort else answer


def _missed(question: Question) -> Sentence:
    slow = replace(question, pace_tok_per_s=USUAL_TOK_PER_S)
    return say("nothing reaches {limits}; closest:", limits=_wanted(slow))


def _wanted(question: Question) -> Sentence | None:
    sentences = {
        "ttft_s": say("TTFT <= {ttft} s", ttft=f"{question.comfort_s.get('ttft_s', 0):g}"),
        "tpot_s": say(">= {rate} tok/s per user", rate=f"{question.pace_tok_per_s:g}"),
    }
    return with_commas([sentences[name] for name in question.comfort_s])


def _picked(
    table: Candidates, limits: Sequence[Limit], *, beyond: Numbers
) -> tuple[list[tuple[int, Choice]], Field, Doubts]:
    wish = table.question.wish
    keeps = np.flatnonzero(beyond <= 0)
    load_given = table.question.is_loaded
    doubts = doubts_of(table, limits, index=keeps, cost=cost_of(table.figures, load_given=load_given))
    unwanted = OF_TEXT if table.question.usual.audio_s and wish.aim is None else frozenset()
    figures = {name: column[keeps] for name, column in table.figures.items() if name not in unwanted}
    staged = staged_at(table, table.options.index[keeps])
    field = field_of(
        figures, alike=_alike(table)[keeps], load_given=load_given, weight=doubts.weight, staged=staged,
        doubt=doubts.unsure,
    )  # fmt: skip
    lost = quality_cost(figures["loss"]) - speed_worth(-field.serves, load_given=load_given)
    field = replace(field, buys=wish.on is None, lost=lost)
    ranks = ranks_of(table, doubts, index=keeps, price=field.sure, lost=lost) if buys_best(table) else None
    chosen = choose(field, wish, ranks=ranks)
    return [(int(keeps[choice.place]), choice) for choice in chosen], field, doubts


def _chosen(
    table: Candidates, limits: Sequence[Limit], *, beyond: Numbers, kept: bool = True
) -> SearchResult:
    """The best few of what keeps the limits; `kept`: and what everybody wants."""
    wish = table.question.wish
    picked, field, doubts = _picked(table, limits, beyond=beyond)
    chosen = [item for _, item in picked]
    plans = [plan_of(table, place, best_at=item.best_at, limits=limits) for place, item in picked]
    if wish.aim is None and wish.on is None and any(plan.supply.how != HOWS[OWN] for plan in plans):
        cost = field.costs[field.main] * NEAR
        for nth, (plan, choice) in enumerate(zip(plans, chosen, strict=True)):
            if cost[choice.place] < field.costs[field.main][chosen[0].place]:
                plans[nth] = doubted(plan, doubts, limits=limits, place=choice.place, first=chosen[0].place)
        from rigright.search.why import with_reasons

        losses = [field.costs["loss"][item.place] for item in chosen]
        plans = list(with_reasons(plans, losses, loaded=field.load_given, kept=kept))
    return SearchResult(
        plans=tuple(plans),
        rejections=rejections(table, limits, first=picked[0][0], cost=field.main),
    )


def _price(table: Candidates) -> Numbers:
    """What an hour costs; nothing where the machine is there."""
    return table.figures["usd_per_h"] * (0.0 if table.question.wish.on is not None else 1.0)


def _alike(table: Candidates) -> Numbers:
    """A number for options that a person would call the same: one kind of chip, one way to come by it."""
    if table.question.wish.on is not None:  # the machine is there, however it is paid for
        return table.scored.points.kind[table.options.index]
    return table.scored.points.kind[table.options.index] * len(HOWS) + table.options.how


def _instead(question: Question) -> Plan | None:
    """More of the cards that were named; where no number of them will do, one machine that does."""
    freed = replace(question.wish, on=None, owned=None, chips=(), most_chips=None, most_plans=1)
    freed = replace(freed, users=freed.users or (None if freed.rate_per_s else float(USUAL_USERS)))
    market = replace(question.market, there=None)
    named = tuple(dict.fromkeys(kind.chip.id for kind in question.kinds if not kind.mix))
    for chips in ([named] if question.wish.on or question.wish.owned or question.wish.chips else []) + [()]:
        wish = replace(freed, chips=chips, most_chips=None if chips else ONE_MACHINE)
        answer = find(ask(question.arch, wish, market=market), alone=True)
        if answer.plans:
            return answer.plans[0]
    return None


def licence_refused(question: Question) -> Rejection | None:
    """Where the weights have not the licence that was asked for."""
    asked = question.wish.licence
    if asked is None:
        return None
    from rigright.facts.licences import licence_of

    own = licence_of(question.arch.name)
    if own is not None and asked.casefold() in own.casefold():
        return None
    sentence = say("unknown") if own is None else own
    return Rejection(
        label=question.arch.name,
        reason=say("licence is {own}; requested: {asked}", own=sentence, asked=asked),
        limit="licence",
    )

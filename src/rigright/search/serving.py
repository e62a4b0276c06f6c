"""The search for machines that serve a model: score, hold against limits, cut to a front, tell why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.words import Sentence, say
from rigright.demand import Numbers, PlanWish
from rigright.facts.licences import licence_of
from rigright.search.choose import NEAR, choose, cost_of, field_of
from rigright.search.figures import USUAL_TOK_PER_S, USUAL_TTFT_S, Limit, figures_of, limits_of, usual_limits
from rigright.search.market import Market
from rigright.search.plans import Table, plan_of
from rigright.search.question import Question, ask
from rigright.search.record import Found, Plan, Rejection
from rigright.search.score import score
from rigright.search.supply import HOWS, options, prices_of
from rigright.search.sure import doubted, doubts_of
from rigright.search.unrun import no_way
from rigright.search.why import broken, excess_of, nearest_to, nothing_fits, rejections
from rigright.search.worth import worthwhile

USUAL = {
    "serve": (1024, 256),
    "chat": (512, 256),
    "batch": (1024, 256),
}  # prompt and answer, where nobody says
ONE_MACHINE = 8  # cards of it at most
USUAL_USERS = 8  # requests at once, where nobody says for how many a machine is sought


def find_serving(arch: Arch, wish: PlanWish, *, market: Market) -> Found:
    """The best few ways to serve a model within the wish, and why nothing cheaper will do."""
    wish, notes = filled(arch, wish)
    return find(ask(arch, wish, market=market), notes=notes)


def filled(arch: Arch, wish: PlanWish) -> tuple[PlanWish, tuple[Sentence, ...]]:
    """The wish with lengths and load where nobody said them, and what was assumed."""
    notes: list[Sentence] = []
    prompt, output = USUAL[wish.work]
    if wish.prompt_tok is None or wish.output_tok is None:
        wish = replace(wish, prompt_tok=wish.prompt_tok or prompt, output_tok=wish.output_tok or output)
        notes.append(
            say(
                "lengths not said: {prompt} tokens in and {output} out assumed",
                prompt=f"{wish.prompt_tok:,}",
                output=f"{wish.output_tok:,}",
            )
        )
    free = wish.users is None and wish.rate_per_s is None and wish.tok_per_s is None
    if wish.work == "chat" and wish.users is None and wish.rate_per_s is None:
        wish = replace(wish, users=1)
    elif wish.work == "serve" and wish.on is None and free:
        wish = replace(wish, users=USUAL_USERS)
        notes.append(say("load not said: {users} requests at once assumed; say --users or --rate",
                         users=USUAL_USERS))  # fmt: skip
    return wish, (*notes, *_doubts(arch, wish))


def _doubts(arch: Arch, wish: PlanWish) -> list[Sentence]:
    longest = max(wish.context_tok or 0, (wish.prompt_tok or 0) + (wish.output_tok or 0))
    if arch.max_context_tok is None or longest <= arch.max_context_tok:
        return []
    return [
        say(
            "the model was made for {most} tokens of context, less than the {asked} asked for",
            most=f"{arch.max_context_tok:,}",
            asked=f"{longest:,}",
        )
    ]


def find(question: Question, *, notes: Sequence[Sentence] = ()) -> Found:
    """A pure function of the question."""
    refused = licence_refused(question)
    if refused is not None:
        return Found(plans=(), rejections=(), looked_at=0, chips=0, broken=(refused,), notes=tuple(notes))
    if not question.ways:
        raise AskError(no_way(question))
    table = tabled(question)
    found = _found(table) if len(table.options.index) else nothing_fits(table.question, table.scored.misfits)
    if not len(table.options.index) and _is_named(question.wish):
        found = replace(found, instead=_instead(question))
    return replace(
        found,
        looked_at=len(table.scored.points),
        chips=len(question.kinds),
        notes=(*notes, *found.notes),
    )


def tabled(question: Question) -> Table:
    """Every layout with every supply, and their figures."""
    scored, prices = worthwhile(question, score(question)), prices_of(question)
    points = scored.points
    found = options(prices, question.wish, kind=points.kind, n_chips=points.n_chips, replica=points.replica)
    return Table(
        question=question,
        scored=scored,
        prices=prices,
        options=found,
        figures=figures_of(question, scored, found=found),
    )


def _found(table: Table) -> Found:
    limits = limits_of(table.question, table.figures)
    usual = usual_limits(table.question.wish, table.figures)
    size = len(table.options.index)
    beyond = excess_of(limits, size)
    if not (beyond <= 0).any():
        return _nearest(table, limits, beyond=beyond)
    comfort = excess_of((*limits, *usual), size)
    if usual and (comfort <= 0).any():
        return replace(_chosen(table, (*limits, *usual), beyond=comfort), notes=(_assumed(),))
    found = _chosen(table, limits, beyond=beyond)
    return replace(found, notes=(_missed(),)) if usual else found


def _assumed() -> Sentence:
    return say(
        "no limits said: first tokens within {ttft} s and {rate} tokens a second for each user assumed",
        ttft=USUAL_TTFT_S,
        rate=USUAL_TOK_PER_S,
    )


def _missed() -> Sentence:
    return say(
        "nothing starts within {ttft} s and writes {rate} tokens a second for each user: "
        "the plans are the best there is",
        ttft=USUAL_TTFT_S,
        rate=USUAL_TOK_PER_S,
    )


def _chosen(table: Table, limits: Sequence[Limit], *, beyond: Numbers) -> Found:
    """The best few of what keeps the limits."""
    wish = table.question.wish
    keeps = np.flatnonzero(beyond <= 0)
    told = wish.users is not None or wish.rate_per_s is not None
    doubts = doubts_of(table, limits, index=keeps, cost=cost_of(table.figures, told=told))
    figures = {name: column[keeps] for name, column in table.figures.items()}
    field = field_of(figures, alike=_alike(table)[keeps], told=told, weight=doubts.weight)
    chosen = choose(field, wish)
    first = int(keeps[chosen[0].place])
    plans = [plan_of(table, int(keeps[one.place]), best_at=one.best_at) for one in chosen]
    plans[0] = replace(plans[0], reasons=plans[0].reasons or (say("costs least of what surely does"),))
    cost = field.costs[field.main][[one.place for one in chosen]]
    return Found(
        plans=tuple(
            doubted(plan, doubts, limits=limits, place=one.place, first=chosen[0].place)
            if cheaper and wish.aim is None
            else plan
            for plan, one, cheaper in zip(plans, chosen, cost < cost[0] / NEAR, strict=True)
        ),
        rejections=rejections(table, limits, first=first, cost=field.main),
        looked_at=0,
        chips=0,
    )


def _alike(table: Table) -> Numbers:
    """A number for options that a person would call the same: one kind of chip, one way to come by it."""
    return table.scored.points.kind[table.options.index] * len(HOWS) + table.options.how


def _nearest(table: Table, limits: Sequence[Limit], *, beyond: Numbers) -> Found:
    """Where nothing keeps every limit: what comes closest, and what it breaks."""
    place = nearest_to(limits, beyond=beyond, price=table.figures["usd_per_h"])
    return Found(
        plans=(), rejections=(), looked_at=0, chips=0,
        nearest=plan_of(table, place), broken=broken(table, limits, place=place),
    )  # fmt: skip


def _is_named(wish: PlanWish) -> bool:
    return any((wish.on, wish.owned, wish.chips, wish.most_chips))


def _instead(question: Question) -> Plan | None:
    """More of the cards that were named; where no number of them will do, one machine that does."""
    freed = replace(question.wish, on=None, owned=None, chips=(), most_chips=None, most_plans=1)
    freed = replace(freed, users=freed.users or (None if freed.rate_per_s else USUAL_USERS))
    named = tuple(dict.fromkeys(kind.chip.id for kind in question.kinds if not kind.mix))
    for chips in ([named] if question.wish.on or question.wish.owned or question.wish.chips else []) + [()]:
        wish = replace(freed, chips=chips, most_chips=None if chips else ONE_MACHINE)
        other = ask(question.arch, wish, market=question.market)
        table = tabled(other)
        if len(table.options.index):
            found = _found(table)
            if found.plans:
                return found.plans[0]
    return None


def licence_refused(question: Question) -> Rejection | None:
    """Where the weights have not the licence that was asked for."""
    asked, own = question.wish.licence, licence_of(question.arch.name)
    if asked is None or (own is not None and asked.casefold() in own.casefold()):
        return None
    told = say("nobody here knows") if own is None else own
    return Rejection(
        label=question.arch.name,
        reason=say("the licence of its weights is {own}, asked for {asked}", own=told, asked=asked),
        limit="licence",
    )

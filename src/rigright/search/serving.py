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
from rigright.search.choose import choose, field_of
from rigright.search.figures import Limit, limits_of
from rigright.search.market import Market
from rigright.search.plans import Table, plan_of, table_of
from rigright.search.question import Question, ask
from rigright.search.record import Found, Rejection
from rigright.search.score import score
from rigright.search.supply import options
from rigright.search.why import broken, excess_of, rejections, too_small

USUAL = {
    "serve": (1024, 256),
    "chat": (512, 256),
    "batch": (1024, 256),
}  # prompt and answer, where nobody says


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
    if wish.work == "chat" and wish.users is None and wish.rate_per_s is None:
        wish = replace(wish, users=1)
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
    refused = _licence(question)
    if refused is not None:
        return Found(plans=(), rejections=(), looked_at=0, chips=0, broken=(refused,), notes=tuple(notes))
    if not question.ways:
        raise AskError(say("no engine runs such weights on any of the chips; leave a format or engine out"))
    table = tabled(question)
    found = _found(table) if len(table.options.index) else _nothing(table)
    return replace(found, looked_at=len(table.scored.points), chips=len(question.kinds), notes=tuple(notes))


def tabled(question: Question) -> Table:
    """Every layout with every supply, and their figures."""
    scored = score(question)
    points = scored.points
    found = options(question, kind=points.kind, n_chips=points.n_chips, replica=points.tp * points.pp)
    return table_of(question, scored, found)


def _found(table: Table) -> Found:
    wish = table.question.wish
    limits = limits_of(wish, table.figures)
    beyond = excess_of(limits, len(table.options.index))
    keeps = np.flatnonzero(beyond <= 0)
    if not len(keeps):
        return _nearest(table, limits, beyond=beyond)
    figures = {name: column[keeps] for name, column in table.figures.items()}
    told = wish.users is not None or wish.rate_per_s is not None
    chosen = choose(field_of(figures, alike=_alike(table)[keeps], told=told), wish)
    plans = tuple(plan_of(table, int(keeps[one.place]), best_at=one.best_at) for one in chosen)
    cost = figures["usd_per_h"][chosen[0].place]
    below = float(cost) if np.isfinite(cost) else np.inf
    return Found(plans=plans, rejections=rejections(table, limits, below=below), looked_at=0, chips=0)


def _alike(table: Table) -> Numbers:
    """A number for options that a person would call the same: one kind of chip, one way to come by it."""
    points = table.scored.points
    return points.kind[table.options.index] * 4 + table.options.how


def _nearest(table: Table, limits: Sequence[Limit], *, beyond: Numbers) -> Found:
    """Where nothing keeps every limit: what comes closest, and what it breaks."""
    place = int(np.lexsort((table.figures["usd_per_h"], beyond))[0])
    return Found(
        plans=(), rejections=(), looked_at=0, chips=0,
        nearest=plan_of(table, place), broken=broken(table, limits, place=place),
    )  # fmt: skip


def _nothing(table: Table) -> Found:
    """Nothing fits at all: the card that comes closest."""
    misfits = sorted(table.scored.misfits, key=lambda one: one.need_bytes / one.room_bytes)
    return Found(
        plans=(), rejections=(), looked_at=0, chips=0,
        broken=tuple(too_small(table.question, misfit) for misfit in misfits[:1]),
    )  # fmt: skip


def _licence(question: Question) -> Rejection | None:
    asked, own = question.wish.licence, licence_of(question.arch.name)
    if asked is None or (own is not None and asked.casefold() in own.casefold()):
        return None
    told = say("nobody here knows") if own is None else own
    return Rejection(
        label=question.arch.name,
        reason=say("the licence of its weights is {own}, asked for {asked}", own=told, asked=asked),
        limit="licence",
    )

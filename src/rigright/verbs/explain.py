"""One model on one machine: what it takes, card by card, how far it goes, and what to change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rigright.arch.count import params
from rigright.arch.record import Arch
from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError
from rigright.choice.case import Case
from rigright.choice.work import seen_with
from rigright.cost.estimate import Estimate, days_of
from rigright.cost.layers import generates, takes_samples
from rigright.demand import PlanWish, ServingWish
from rigright.facts.engines import backend_label
from rigright.facts.nodes import Node, find_node
from rigright.options.row import IMAGE
from rigright.predict.ranks import deal_notes, worst
from rigright.predict.served import started_for
from rigright.predict.speed import speed, traffic_of
from rigright.search.figures import kept_by
from rigright.search.market import is_priced
from rigright.search.single import single
from rigright.search.why import missed
from rigright.verbs.planning.checks import check_single
from rigright.verbs.seen.here import limited, the_node
from rigright.verbs.serving.explained import Explained, Reason, Remedy
from rigright.verbs.serving.remedies import card_uses, limits, ram_use
from rigright.verbs.serving.unsaid import LENGTHS, crowded, deciding

if TYPE_CHECKING:
    from rigright.search.market import Market
    from rigright.search.priced import Priced


def explain(
    model: str,
    on: str | None = None,
    *,
    wish: ServingWish | None = None,
    work: PlanWish | None = None,
    why: bool = False,
    asked: str = "",
) -> Explained:
    """Explain serving a model on a machine, or on this one; `asked` is the command to build on.

    `work`: its kind and its limits, where somebody said them.
    """
    wish, work = wish or ServingWish(), work or PlanWish()
    named = work.owned if on is None else on
    if named is not None and work.power_w is not None:
        named, work = limited(named, work.power_w), replace(work, power_w=None)
    node = the_node(named)
    arch = open_model(model)
    check_single(arch, wish, work=work)
    arch = seen_with(arch, wish.images or work.images)
    if wish.picture is not None:
        from rigright.verbs.serving.samples import resized

        arch = resized(arch, wish.picture)
    if is_priced(work):
        from rigright.verbs.paid import asked_market

        with asked_market(work) as market:
            answer = _explained(arch, node, wish=wish, work=work, market=market, why=why)
    else:
        answer = _explained(arch, node, wish=wish, work=work, market=None, why=why)
    return replace(answer, asked=asked)


def _explained(
    arch: Arch, node: Node, *, wish: ServingWish, work: PlanWish, market: Market | None, why: bool
) -> Explained:
    """The same on a market; None: no price is asked for."""
    result = single(arch, node, wish=wish, work=work, market=market)
    case = result.case
    if (
        result.wish.drafting
        or result.wish.kv_store
        or (case.traffic is not None and case.traffic.think_s is not None)
    ):
        from rigright.search.load_notes import load_notes  # which most questions need not

        case = replace(case, notes=(*load_notes(case, result.wish), *case.notes))
    ask = partial(_again, arch, node, wish=wish, work=work, market=market)
    answer = explain_case(case, machine=node.shown, why=why, ask=ask)
    if answer.speed is not None:
        open_ones = tuple(name for name in LENGTHS if getattr(wish, name) is None)
        full = wish.context_tok is not None and wish.prompt_tok is None
        short = tuple(crowded(result.case, users=wish.users)) if full else ()
        answer = replace(answer, notes=(*short, *deciding(result.case, unsaid=open_ones), *answer.notes))
    priced = None
    if market is not None and answer.fits:
        priced = result.priced or _priced(answer, result.case, node=node, wish=result.wish, market=market)
    if priced is not None and market is not None:
        from rigright.verbs.paid import money_notes

        more = money_notes(priced, result.wish, market=market, chip=result.case.cards[0].chip.id)
        answer = replace(answer, supply=priced.supply, figures=priced.figures, notes=(*answer.notes, *more))
    return replace(_judged(answer, result.wish, priced=priced), safe=result.safe)


def _priced(given: Explained, case: Case, *, node: Node, wish: PlanWish, market: Market) -> Priced | None:
    """What a case costs that no search looked at."""
    from rigright.search.priced import Stand, place_of, priced_samples, priced_serving, sought

    layout = case.layout
    replica = 1 if given.samples is not None else max(layout.tp * layout.pp * layout.cp, 1)
    wish = wish if given.samples is None else replace(wish, work=IMAGE)
    question = sought(case.arch, node, wish=wish, market=market)
    place = place_of(question, case.cards)
    stand = Stand(question=question, place=place, n_chips=len(case.cards), replica=replica)
    if given.samples is not None:
        return priced_samples(stand, given.samples)
    return None if given.speed is None else priced_serving(stand, given.speed.output_tok_per_s)


def _again(
    arch: Arch,
    node: Node,
    *,
    changes: Mapping[str, Any],
    wish: ServingWish,
    work: PlanWish,
    market: Market | None = None,
) -> Case | None:
    """What the same command answers with a change; None where it is refused."""
    fields = dict(changes)
    work = replace(work, owned=None) if "on" in fields else work  # another machine is not there yet
    machine = find_node(fields.pop("on")) if "on" in fields else node
    freed: dict[str, Any] = {"users": None, "rate_per_s": None} if "batch" in fields else {}
    try:
        asked = replace(wish, **freed, **fields)
        return single(arch, machine, wish=asked, work=replace(work, **freed), market=market).case
    except AskError:
        return None


def _judged(answer: Explained, wish: PlanWish, *, priced: Priced | None) -> Explained:
    """The same held against the limits of a wish."""
    figures: dict[str, Estimate] = {}
    days, speed, samples = None, answer.speed, answer.samples
    if speed is not None:
        figures = {name: getattr(speed, name) for name in ("ttft_s", "tpot_s", "output_tok_per_s")}
        answer = replace(answer, held=speed.shares_kept)
        if wish.samples is not None:
            days = days_of(wish.samples * speed.output_tok, speed.output_tok_per_s)
    if samples is not None:
        days = None if wish.samples is None else days_of(wish.samples * wish.epochs, samples.rate)
        figures = {f"{samples.unit}_per_s": samples.rate, "latency_s": samples.batch_s}
    figures |= {} if days is None else {"days": days}
    reached = {name: estimate.value for name, estimate in figures.items()}
    reached |= {} if priced is None else priced.reached
    certainty = {**kept_by(wish, figures), **({} if speed is None else speed.certainty)}
    answer = replace(answer, certainty=certainty)
    return replace(answer, wish=wish, days=days, broken=missed(wish, reached, label=answer.machine))


def explain_case(
    case: Case, *, machine: str, why: bool = False, ask: Callable[..., Case | None] | None = None
) -> Explained:
    """The same for a case whose defaults are filled in; `ask`: the command again, with a change."""
    cards = card_uses(case)
    memory = worst(case)
    fullest = min(cards, key=lambda card: card.spare_bytes)
    fits = fullest.spare_bytes >= 0
    settings = case.settings
    timed = speed(case) if fits and generates(case.arch) else None
    samples = None
    if fits and takes_samples(case.arch):
        from rigright.verbs.serving.samples import sample_speed

        samples = sample_speed(case)
    changes: tuple[Remedy, ...] = ()
    if not fits:
        from rigright.verbs.serving.remedies import remedies

        changes = remedies(case, ask)
    behind: tuple[Reason, ...] = ()
    if why:
        from rigright.verbs.serving.reasons import reasons

        behind = reasons(case, memory, speed=timed)
    return Explained(
        model=case.arch.name,
        params=params(case.arch),
        machine=machine,
        engine=case.engine.label,
        engine_version=case.engine.version,
        backend=backend_label(case.engine.backend_on(case.cards[0].chip.vendor)),
        weights=case.serving.weights,
        serving=case.over(
            budget_tok=int(settings.budget_tok),
            max_seqs=int(started_for(case, users=traffic_of(case).concurrency)),
            utilisation=None if settings.share is None else float(settings.share),
        ).serving,
        layout=case.layout,
        cards=cards,
        limits=limits(case, memory, fullest=fullest) if generates(case.arch) else None,
        remedies=changes,
        why=behind,
        notes=(*case.notes, *deal_notes(case)) if fits else case.notes,
        speed=timed,
        samples=samples,
        ram=ram_use(case) if fits else None,
    )

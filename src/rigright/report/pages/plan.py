"""The page of `plan`: the answer, memory, at most three options, what was assumed, what to type next."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rigright.base import telling
from rigright.base.money import show_money
from rigright.base.page import (
    Bars,
    Commands,
    Line,
    Page,
    Part,
    Points,
    Shown,
    Table,
    answer_of,
    grouped,
    known,
    number,
    prose,
    records,
    table,
)
from rigright.base.units import show_bytes, show_short
from rigright.base.words import OF_PRICE, OLD_PRICE, Sentence, say, with_commas, with_semicolons
from rigright.demand import SAMPLES, Serving
from rigright.facts.chips import short
from rigright.money.machine_price import BILL
from rigright.report.pages import brief
from rigright.report.pages import plan_words as words
from rigright.report.pages.plan_next import lost_choices, next_commands, on_instead, on_step
from rigright.report.pages.plan_words import MOST_PLANS, options_table, plans_table
from rigright.search import named
from rigright.search.record import Plan, Rejection
from rigright.verbs.planning.planned import Addition, Planned, as_data, row_of

_MOST_WHYS = 6


def page(result: Planned, *, why: bool = False, details: bool = False) -> Page:
    """The page for people: one screen, or with `details` everything."""
    first, other, steps = result.first, result.elsewhere, result.steps
    typed = list[str]()
    if result.asked and (first or other):
        texts = [on_instead(result, other)] if other else []
        texts += next_commands(result, first) if first else []
        changed = [on_step(result, addition) for addition in steps]
        typed = [*texts, *changed] if details else [*(changed or texts)[:1], f"{result.asked} --details"]
    return Page.of(
        verdict(result),
        _detailed(result) if details else _brief(result),
        brief.reasons_table(result.why, brief.NAMES) if why and result.why else None,
        _steps_table(result) if result.steps else None,
        _models_table(result) if result.models else None,
        brief.note_lines(_notes(result, details=details), details=details, decided=result.fits),
        Commands.next(typed),
    )


def _brief(result: Planned) -> Iterator[Part | None]:
    """Memory and the options."""
    first, shown = result.first, result.shown[:MOST_PLANS]
    if first is None:
        return
    yield _memory(first)
    yield Line(text=first.in_ram or "")
    yield plans_table(shown, wish=result.wish)
    yield Line.dim(words.known_by(first) or "")
    if any(words.safe(plan) for plan in shown):
        yield Line.dim(say("safe: every limit holds in 9 of 10 cases"))
    yield brief.old_prices(plan.supply.as_of for plan in shown if plan.supply.stale)
    yield Line.dim(_host(result, first) or "")
    if any(plan.supply.used for plan in shown):
        yield Line.warn(words.USED_CARDS)


def _host(result: Planned, first: Plan) -> Sentence | None:
    """What stands around the cards, in the price of the plan."""
    host = first.supply.host_usd
    if host is None or not host.value:
        return None
    low, mid, high = (show_money(usd, result.wish.currency) for usd in (host.low, host.value, host.high))
    if brief.is_cpu(first.chip.id):
        return say("price of the whole machine: {low}-{high}", low=low, high=high)
    sentence = say(
        "price includes {usd} ({low}-{high}) for the rest of the machine", usd=mid, low=low, high=high
    )
    if host.why == BILL:
        return sentence
    cards = f"{first.supply.n_chips or first.n_chips}x {short(first.chip.name)}"
    return say("{said}, estimated: no known machine holds {cards}", said=sentence, cards=cards)


def _detailed(result: Planned) -> Iterator[Part]:
    """The long answer: every figure with its band, why nothing cheaper will do."""
    yield Line.dim(say("{model}: {work}", model=brief.model_name(result.model), work=words.work(result.wish)))
    first, answer = result.first, result.result
    if first is not None:
        yield _memory(first, details=True)
        yield options_table(result.shown, wish=result.wish)
        yield Points.of((item.reason for item in answer.broken), title=say("limits missed"), tone="bad")
    refused = (_rejected(item, result.wish.currency) for item in answer.rejections[:_MOST_WHYS])
    yield Points.of(refused, title=say("why not cheaper"))


def _memory(plan: Plan, *, details: bool = False) -> Bars:
    """The fullest rank; with `details` part by part, each unlike rank, and the workers for prompts."""
    limit, label = plan.room_bytes, brief.memory_name(plan.chip.id)
    if plan.parts:
        return brief.memory_bar(plan.parts.items(), limit=limit, names=brief.TRAINED)
    if not plan.ranks:
        rank = (say("fullest rank"), plan.rank_bytes.value)
        return Bars(bars=(brief.bar_of(brief.VRAM, (rank,), limit=limit, show=brief.gib),))
    names, show = (brief.NAMES, show_bytes) if details else (brief.SERVED, brief.gib)
    ranks = [(label, memory) for memory in plan.ranks[: None if details else 1]]
    if details and plan.prefill_memory is not None:
        ranks.append((say("{chip}, prefill", chip=label), plan.prefill_memory))
    bars = (
        brief.memory_bar(rank.parts.items(), limit=limit, names=names, label=name, show=show).bars
        for name, rank in ranks
    )
    return Bars(bars=tuple(dict.fromkeys(bar for each in bars for bar in each)))


def _rejected(rejection: Rejection, currency: str) -> Sentence:
    label = short(rejection.label)
    if rejection.usd_per_h is None:
        return say("{label}: {reason}", label=label, reason=rejection.reason)
    usd = show_money(rejection.usd_per_h, currency)
    return say("{label}, {usd}/hour: {reason}", label=label, usd=usd, reason=rejection.reason)


def _steps_table(result: Planned) -> Table:
    """What may be added or rented, what it costs, and what the model then does."""
    currency = result.wish.currency

    def cost(step: Addition) -> Shown:
        if step.usd is not None:
            return show_money(step.usd.value, currency)
        hour = say("{usd}/hour", usd=known(step.usd_per_h, lambda usd: show_money(usd.value, currency)))
        return hour if step.usd_per_h is not None else say("no price known")

    def rate(step: Addition) -> str | None:
        return known(words.estimate(step.plan, "output_tok_per_s"), lambda rate: show_short(rate.value))

    return records(
        result.steps,
        (
            (prose(say("change")), lambda step: step.label),
            (number(say("cost")), cost),
            (say("format"), lambda step: words.formats(step.plan)),
            (number(say("tok/s")), rate),
            (number(say("TTFT, s")), lambda step: show_short(step.plan.figures["ttft_s"].value)),
        ),
        title=say("what would run it better") if result.fits else say("what would make it fit"),
    )


def _models_table(result: Planned) -> Table:
    """The best models for the money, each on its machine, and a better one for more."""
    more, money = say("best models for this money, then one for more"), say("best models for this money")
    return records(
        result.models,
        (
            (prose(say("model")), lambda choice: brief.model_name(choice.model)),
            (say("format"), lambda choice: words.formats(choice.plan)),
            (prose(say("machine")), lambda choice: words.source(choice.plan)),
            (number(say("tok/s")), lambda choice: show_short(choice.plan.figures["output_tok_per_s"].value)),
            (number(say("price")), lambda choice: words.money_of(choice.plan, result.wish)),
        ),
        title=more if result.models[-1].is_more else money,
    )


def verdict(result: Planned) -> Line:
    """The answer in one line."""
    first, wish = result.first, result.wish
    if first is None:
        return Line.bad(_refused(result))
    if not result.fits:
        return Line.bad(_or_else(_missed(result, first), result))
    fields = {"machine": named.machine(first), "model": brief.model_name(result.model)}
    form, money = words.formats(first), words.money_of(first, wish)
    figures = with_commas([words.speed(first), words.context(first, wish), money])
    if words.transcribes(first):
        details = with_commas([fields["model"], form, words.load(first)])
        heard = say(
            "{machine} transcribes {speed} ({details})", speed=words.speed(first), details=details, **fields
        )
        sentence = with_commas([heard, money]) or heard
    elif isinstance(first.work, Serving):
        sentence = brief.runs(result.is_lossy, format=form, figures=figures, **fields)
    else:
        sentence = say(
            "{machine} trains {model} ({format}): {figures}", format=form, figures=figures, **fields
        )
    remedies = _remedies(result) if result.is_lossy else ()
    return brief.doubted(sentence, (*remedies, *result.doubts))


def _remedies(result: Planned) -> Iterator[Sentence]:
    """What lets the model run well: the first of what may be added or rented."""
    for step in result.steps[:1]:
        texts = {"change": step.label, "format": words.formats(step.plan), "figures": words.speed(step.plan)}
        if step.planned.is_sound:
            yield say("{change} is enough, in {format}: {figures}", **texts)
        else:
            yield say("{change} would hold it, in {format}: {figures}", **texts)


def _missed(result: Planned, first: Plan) -> Sentence:
    """What comes closest, and the limits it breaks."""
    broken, wish, machine = result.broken, result.wish, named.machine(first)
    reached = {rejection.limit: rejection.nearest for rejection in broken}
    unmet = any(value is not None and not math.isfinite(value) for value in reached.values())
    rate = next((name for name in ("requests_per_s", *SAMPLES) if name in reached), None)
    if wish.rate_per_s is not None and (first.machines_needed or unmet or rate is not None):
        known_rate = known(first.figures.get("requests_per_s"), lambda rate: rate.value)
        served = reached[rate] if rate is not None else known_rate
        is_one, needed = first.n_chips == 1, first.machines_needed
        return brief.overloaded(machine, served=served, rate=wish.rate_per_s, needed=needed, is_one=is_one)
    if wish.on is not None or wish.owned is not None:
        return brief.misses(machine, broken, fields=first.held)
    shares = [brief.with_share(rejection, first.held.get(rejection.limit)) for rejection in broken]
    reasons = with_commas(shares) or ""
    sentence = say(
        "nothing meets every limit; closest is {machine}: {reasons}", machine=machine, reasons=reasons
    )
    cards, budget = first.supply.usd, wish.budget_usd
    around = first.supply.host_usd is not None and first.supply.host_usd.value > 0
    if cards is None or budget is None or cards.value > budget or not around or {*reached} != {"usd"}:
        return sentence
    # who has a computer with room for it needs no other
    usd = show_money(cards.value, wish.currency)
    many = say("the cards alone cost {usd}", usd=usd)
    alone = say("the card alone costs {usd}", usd=usd) if first.n_chips == 1 else many
    return with_semicolons([sentence, alone]) or sentence


def _refused(result: Planned) -> Sentence:
    """Nothing holds it: what lacks, and what would do."""
    sentence = say("no machine found for {model}", model=brief.model_name(result.model))
    for rejection in result.broken[:1]:
        fields = {"label": short(rejection.label), "reason": rejection.reason}
        sentence = say("{label}: {reason}", **fields)
        if rejection.limit == "memory":
            sentence = say("does not fit: {label}: {reason}", **fields)
    remedies = tuple(_remedies(result))
    return with_semicolons([sentence, *remedies]) or sentence if remedies else _or_else(sentence, result)


def _or_else(sentence: Sentence, result: Planned) -> Sentence:
    """The same, and what does where the machine that was named does not."""
    other = result.elsewhere
    if other is None:
        return sentence
    plan = other.plans[0]
    figures = with_commas([words.speed(plan), words.money_of(plan, result.wish)]) or ""
    sentences = {"machine": named.machine(plan), "format": words.formats(plan), "figures": figures}
    if other.is_sound:
        return say("{said}; {machine} does, in {format}: {figures}", said=sentence, **sentences)
    return say("{said}; {machine} would hold it, in {format}: {figures}", said=sentence, **sentences)


def _notes(result: Planned, *, details: bool) -> Iterator[Shown]:
    """Notes of the answer, and of plans those that the page does not say elsewhere."""
    yield from result.notes
    lost = ", ".join(lost_choices(result.first)) if result.first is not None else ""
    yield say("explain has no option for this choice of the plan: {names}", names=lost or None)
    shown = result.shown if details else result.shown[:1]
    noted = grouped((note, str(place)) for place, plan in enumerate(shown, 1) for note in plan.notes)
    for sentence, places in noted.items():
        if not details and isinstance(sentence, Sentence) and sentence.kind in {OF_PRICE, OLD_PRICE}:
            continue
        several = say("option {places}: {note}", places=", ".join(places), note=sentence)
        yield sentence if len(shown) == 1 else several
    if details and result.looked_at:
        fields = {"layouts": f"{result.looked_at:,}", "chips": result.result.chips}
        yield say("layouts compared: {layouts}, on {chips} GPU models", **fields)


def _tone(result: Planned) -> str:
    """How the answer is marked: `good`, `warn`, `bad`."""
    return verdict(result).tone


plain = telling.RecordPrinter(Planned, as_data, verdict=answer_of(verdict), tone=_tone)


def sheet(result: Planned) -> Page:
    """One row a plan, one column a figure, its unit in its name."""
    rows = [{"plan": str(place)} | row_of(plan) for place, plan in enumerate(result.shown, 1)]
    heads = list(dict.fromkeys(name for row in rows for name in row))
    cells = ((row.get(head, "") for head in heads) for row in rows)
    return Page.of(result.model, table(heads, cells))

"""The page of `plan`: the answer, memory, at most three options, what was assumed, what to type next."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rigright.base import telling
from rigright.base.money import show_money
from rigright.base.page import (
    Bar,
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
    number,
    prose,
    table,
)
from rigright.base.units import show_short
from rigright.base.words import OF_PRICE, OLD_PRICE, Sentence, say, with_commas, with_semicolons
from rigright.cost.memory.serving import ServingMemory
from rigright.demand import Serving
from rigright.facts.chips import short
from rigright.money.machine_price import BILL
from rigright.report.pages import brief
from rigright.report.pages import plan_words as words
from rigright.report.pages.figures import SAMPLES
from rigright.report.pages.plan_next import lost_choices, next_commands, on_instead, on_step
from rigright.report.pages.plan_table import MOST_PLANS, options_table, plans_table
from rigright.search import named
from rigright.search.record import Plan, Rejection
from rigright.verbs.planning.planned import Addition, Planned, as_data, row_of

_MOST_WHYS = 6


def page(result: Planned, *, why: bool = False, details: bool = False) -> Page:
    """The page for people: one screen, or with `details` everything."""
    answer, first, other = verdict(result), result.first, result.elsewhere
    steps = _steps(result)
    typed = list[str]()
    if result.asked and (first or other):
        texts = [on_instead(result, other)] if other else []
        texts += next_commands(result, first) if first else []
        changed = [on_step(result, addition) for addition in steps]
        typed = [*texts, *changed] if details else [*(changed or texts)[:1], f"{result.asked} --details"]
    return Page.of(
        answer,
        _detailed(result) if details else _brief(result),
        brief.reasons_table(result.why, brief.NAMES) if why and result.why else None,
        _steps_table(result) if steps else None,
        _models_table(result) if result.models else None,
        brief.note_lines(_notes(result, details=details), details=details, decided=result.fits),
        Commands.next(typed),
    )


def _brief(result: Planned) -> Iterator[Part]:
    """Memory and the options."""
    first = result.first
    if first is None:
        return
    if first.parts:
        yield brief.memory_bar(first.parts.items(), limit=first.room_bytes, names=brief.TRAINED)
    elif first.ranks:
        label = brief.memory_name(first.chip.id)
        yield brief.memory_bar(first.ranks[0].parts.items(), limit=first.room_bytes, label=label)
    else:
        rank = (say("fullest rank"), first.rank_bytes.value)
        yield Bars(bars=(brief.bar_of(brief.VRAM, (rank,), limit=first.room_bytes, show=brief.gib),))
    if first.in_ram is not None:
        yield Line(text=first.in_ram)
    yield plans_table(result.shown[:MOST_PLANS], wish=result.wish)
    known = words.known_by(first)
    if known:
        yield Line.dim(known)
    if any(words.safe(plan) for plan in result.shown[:MOST_PLANS]):
        yield Line.dim(say("safe: every limit holds in 9 of 10 cases"))
    if old := brief.old_prices(plan.supply.as_of for plan in result.shown[:MOST_PLANS] if plan.supply.stale):
        yield old
    yield from _host(result, first)
    if any(plan.supply.used for plan in result.shown[:MOST_PLANS]):
        yield Line.warn(words.USED_CARDS)


def _host(result: Planned, first: Plan) -> Iterator[Part]:
    """What stands around the cards, in the price of the plan."""
    host = first.supply.host_usd
    if host is not None and host.value:
        low, mid, high = (show_money(usd, result.wish.currency) for usd in (host.low, host.value, host.high))
        fields = {"usd": mid, "low": low, "high": high}
        sentence = say("price includes {usd} ({low}-{high}) for the rest of the machine", **fields)
        if brief.is_cpu(first.chip.id):
            sentence = say("price of the whole machine: {low}-{high}", low=low, high=high)
        elif host.why != BILL:
            cards = f"{first.supply.n_chips or first.n_chips}x {short(first.chip.name)}"
            sentence = say("{said}, estimated: no known machine holds {cards}", said=sentence, cards=cards)
        yield Line.dim(sentence)


def _detailed(result: Planned) -> Iterator[Part]:
    """The long answer: every rank's memory, every figure with its band, why nothing cheaper will do."""
    yield Line.dim(say("{model}: {work}", model=brief.model_name(result.model), work=words.work(result.wish)))
    first, answer = result.first, result.result
    if first is not None:
        yield _bars(first)
        yield options_table(result.shown, wish=result.wish)
        yield Points.of((item.reason for item in answer.broken), title=say("limits missed"), tone="bad")
    refused = (_rejected(item, result.wish.currency) for item in answer.rejections[:_MOST_WHYS])
    yield Points.of(refused, title=say("why not cheaper"))


def _bars(plan: Plan) -> Bars:
    """A bar for each unlike rank; of a training, for the fullest."""
    name, limit = short(plan.chip.name), plan.room_bytes
    if plan.parts:
        return brief.memory_bar(plan.parts.items(), limit=limit, names=brief.TRAINED)
    if not plan.ranks:
        return Bars(bars=(brief.bar_of(name, ((say("fullest rank"), plan.rank_bytes.value),), limit=limit),))

    def bar(label: Shown, memory: ServingMemory) -> Bar:
        return brief.bar_of(
            label, ((brief.NAMES[part], size) for part, size in memory.parts.items()), limit=limit
        )

    bars = {made.shown: made for made in (bar(name, memory) for memory in reversed(plan.ranks))}
    apart = (
        [] if plan.prefill_memory is None else [bar(say("{chip}, prefill", chip=name), plan.prefill_memory)]
    )
    return Bars(bars=(*reversed(bars.values()), *apart))


def _rejected(rejection: Rejection, currency: str) -> Sentence:
    label = short(rejection.label)
    if rejection.usd_per_h is None:
        return say("{label}: {reason}", label=label, reason=rejection.reason)
    usd = show_money(rejection.usd_per_h, currency)
    return say("{label}, {usd}/hour: {reason}", label=label, usd=usd, reason=rejection.reason)


def _steps_table(result: Planned) -> Table:
    """What may be added or rented, what it costs, and what the model then does."""
    wish, rows = result.wish, list[tuple[Shown, ...]]()
    for step in _steps(result):
        cost: Shown = say("no price known")
        if step.usd is not None:
            cost = show_money(step.usd.value, wish.currency)
        elif step.usd_per_h is not None:
            cost = say("{usd}/hour", usd=show_money(step.usd_per_h.value, wish.currency))
        rows.append(
            (
                step.label,
                cost,
                words.formats(step.plan),
                ""
                if (rate := words.estimate(step.plan, "output_tok_per_s")) is None
                else show_short(rate.value),
                show_short(step.plan.figures["ttft_s"].value),
            )
        )
    return table(
        (
            prose(say("change")),
            number(say("cost")),
            say("format"),
            number(say("tok/s")),
            number(say("TTFT, s")),
        ),
        rows,
        title=say("what would make it fit"),
    )


def _models_table(result: Planned) -> Table:
    """The best models for the money, each on its machine, and a better one for more."""
    heads = (
        prose(say("model")),
        say("format"),
        prose(say("machine")),
        number(say("tok/s")),
        number(say("price")),
    )
    rows = [
        (
            brief.model_name(choice.model), words.formats(choice.plan), words.source(choice.plan),
            show_short(choice.plan.figures["output_tok_per_s"].value),
            words.money_of(choice.plan, result.wish),
        )
        for choice in result.models
    ]  # fmt: skip
    more = say("best models for this money, then one for more")
    return table(heads, rows, title=more if result.models[-1].is_more else say("best models for this money"))


def verdict(result: Planned) -> Line:
    """The answer in one line."""
    first = result.first
    if first is None:
        return Line.bad(_refused(result))
    if not result.fits:
        return Line.bad(_or_else(_missed(result, first), result))
    figures = with_commas(
        [words.speed(first), words.context(first, result.wish), words.money_of(first, result.wish)]
    )
    fields = {"machine": named.machine(first), "model": brief.model_name(result.model), "figures": figures}
    if isinstance(first.work, Serving):
        sentence = say("{machine} runs {model} in {format}: {figures}", format=words.formats(first), **fields)
    else:
        sentence = say(
            "{machine} trains {model} ({format}): {figures}", format=words.formats(first), **fields
        )
    if words.transcribes(first):
        heard = say(
            "{machine} transcribes {speed} ({details})",
            speed=words.speed(first),
            details=with_commas([brief.model_name(result.model), words.formats(first), words.load(first)])
            or "",
            machine=named.machine(first),
        )
        sentence = with_commas([heard, words.money_of(first, result.wish)]) or heard
    return brief.doubted(sentence, _doubts(result, first))


def _doubts(result: Planned, first: Plan) -> Iterator[Shown]:
    """What keeps a plan from a plain tick: limits that may not hold, cards that idle, an overload."""
    yield from brief.unsure(first.certainty, safe=first.safe, limits=brief.time_limits(result.wish))
    yield from brief.idle_cards(first.supply, used=first.n_chips)
    yield from words.little_left(first)
    if first.least_bytes is not None and first.is_tight:
        yield brief.tight(first.least_bytes.high)
    days, wish = first.figures.get("days"), result.wish
    open_end = wish.work in {"finetune", "pretrain"} and days is None
    if open_end and wish.on is None and first.supply.how == "buy":
        yield say(
            "no {option}: assumed {years} years of training, {share} of the time",
            option="--tokens" if "train_tok_per_s" in first.figures else "--samples",
            years=f"{wish.years:g}",
            share=f"{wish.duty:.0%}",
        )
    yield from brief.endless(days, by_days=wish.days)
    yield from brief.deciding((*result.notes, *first.notes))
    if "ttft_s" in first.figures and not (wish.ttft_s or wish.tpot_s or wish.tok_per_s):
        slow = {name: first.figures[name].value for name in ("ttft_s", "tpot_s")}
        yield from brief.strained(wish.work, users=first.concurrency or 2, prompt_tok=wish.prompt_tok, **slow)


def _missed(result: Planned, first: Plan) -> Sentence:
    """What comes closest, and the limits it breaks."""
    broken, wish, machine = result.broken, result.wish, named.machine(first)
    reached = {rejection.limit: rejection.nearest for rejection in broken}
    unmet = any(value is not None and not math.isfinite(value) for value in reached.values())
    rate = next((name for name in ("requests_per_s", *SAMPLES) if name in reached), None)
    if wish.rate_per_s is not None and (first.machines_needed or unmet or rate is not None):
        known = first.figures.get("requests_per_s")
        return brief.overloaded(
            machine,
            served=reached[rate] if rate is not None else None if known is None else known.value,
            rate=wish.rate_per_s,
            needed=first.machines_needed,
            is_one=first.n_chips == 1,
        )
    if wish.on is None and wish.owned is None:
        reasons = (
            with_commas(
                [brief.with_share(rejection, first.held.get(rejection.limit)) for rejection in broken]
            )
            or ""
        )
        sentence = say(
            "nothing meets every limit; closest is {machine}: {reasons}", machine=machine, reasons=reasons
        )
        cards, budget = first.supply.usd, wish.budget_usd
        around = first.supply.host_usd is not None and first.supply.host_usd.value > 0
        if cards is None or budget is None or cards.value > budget or not around or {*reached} != {"usd"}:
            return sentence
        # who has a computer with room for it needs no other
        usd = show_money(cards.value, wish.currency)
        alone = say("the card alone costs {usd}", usd=usd) if first.n_chips == 1 else say(
            "the cards alone cost {usd}", usd=usd
        )  # fmt: skip
        return with_semicolons([sentence, alone]) or sentence
    return brief.misses(machine, broken, fields=first.held)


def _refused(result: Planned) -> Sentence:
    """Nothing holds it: what lacks, and what would do."""
    broken = result.broken[:1]
    sentence = say("no machine found for {model}", model=brief.model_name(result.model))
    if broken and broken[0].limit == "memory":
        sentence = say(
            "does not fit: {label}: {reason}", label=short(broken[0].label), reason=broken[0].reason
        )
    elif broken:
        sentence = say("{label}: {reason}", label=broken[0].label, reason=broken[0].reason)
    for step in _steps(result)[:1]:
        sentences = {
            "change": step.label,
            "format": words.formats(step.plan),
            "figures": words.speed(step.plan),
        }
        if verdict(step.planned).tone == "good":
            return say("{said}; {change} is enough, in {format}: {figures}", said=sentence, **sentences)
        return say("{said}; {change} would hold it, in {format}: {figures}", said=sentence, **sentences)
    return _or_else(sentence, result)


def _or_else(sentence: Sentence, result: Planned) -> Sentence:
    """The same, and what does where the machine that was named does not."""
    other = result.elsewhere
    if other is None:
        return sentence
    plan = other.plans[0]
    figures = with_commas([words.speed(plan), words.money_of(plan, result.wish)]) or ""
    sentences = {"machine": named.machine(plan), "format": words.formats(plan), "figures": figures}
    if verdict(other).tone == "good":
        return say("{said}; {machine} does, in {format}: {figures}", said=sentence, **sentences)
    return say("{said}; {machine} would hold it, in {format}: {figures}", said=sentence, **sentences)


def _steps(result: Planned) -> list[Addition]:
    """What may be added or rented, the first what is answered with a tick."""
    return sorted(result.steps, key=lambda addition: verdict(addition.planned).tone != "good")


def _notes(result: Planned, *, details: bool) -> Iterator[Shown]:
    """Notes of the answer, and of plans those that the page does not say elsewhere."""
    yield from result.notes
    lost = lost_choices(result.first) if result.first is not None else ()
    if lost:
        yield say("explain has no option for this choice of the plan: {names}", names=", ".join(lost))
    shown = result.shown if details else result.shown[:1]
    noted = grouped((note, str(place)) for place, plan in enumerate(shown, 1) for note in plan.notes)
    for sentence, places in noted.items():
        if not details and isinstance(sentence, Sentence) and sentence.kind in {OF_PRICE, OLD_PRICE}:
            continue
        yield (
            sentence
            if len(shown) == 1
            else say("option {places}: {note}", places=", ".join(places), note=sentence)
        )
    if details and result.looked_at:
        yield say("layouts compared: {layouts}, on {chips} GPU models", layouts=f"{result.looked_at:,}",
                  chips=result.result.chips)  # fmt: skip


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

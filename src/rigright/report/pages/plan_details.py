"""The long answer of `plan`: every rank's memory, every figure with its band, why nothing cheaper will do."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.money import show_money
from rigright.base.page import Bar, Bars, Line, Part, Piece, Points, Shown, Table, prose, table
from rigright.base.units import show_bytes, to_gib
from rigright.base.words import Sentence, say, with_commas
from rigright.cost.memory.serving import ServingMemory
from rigright.demand import Training
from rigright.facts.chips import short
from rigright.report.pages import plan_words as words
from rigright.report.pages.brief import NAMES, TRAINED, memory_bar, model_name
from rigright.report.pages.plan_table import OF_TOKENS
from rigright.search import named
from rigright.search.record import Plan, Rejection
from rigright.verbs.planning.planned import Planned

ROWS = (
    ("audio_h_per_h", say("audio h/h")),
    ("ttft_s", say("TTFT")),
    ("tpot_s", say("TPOT")),
    ("output_tok_per_s", say("output tok/s")),
    ("train_tok_per_s", say("tok/s")),
    ("images_per_s", say("images/s")),
    ("texts_per_s", say("texts/s")),
    ("latency_s", say("batch time")),
    ("mfu", say("MFU")),
    ("days", say("done in")),
    ("usd", say("to buy")),
    ("usd_per_h", say("per hour")),
    ("usd_per_mtok", say("per 1M tokens")),
    ("usd_per_audio_h", say("per hour of audio")),
    ("usd_per_image", say("per 1K images")),
    ("usd_per_text", say("per 1K texts")),
    ("usd_total", say("in total")),
    ("power_w", say("power")),
    ("tok_per_joule", say("tokens per joule")),
    ("headroom", say("memory free")),
)
_MOST_WHYS = 6


def detailed(result: Planned) -> Iterator[Part]:
    """Everything but notes."""
    yield Line.dim(say("{model}: {work}", model=model_name(result.model), work=words.work(result.wish)))
    first = result.first
    if first is not None:
        yield _bars(first)
        yield _full_table(result)
    answer = result.result
    if answer.broken and first is not None:
        broken = tuple(rejection.reason for rejection in answer.broken)
        yield Points.of(broken, title=say("limits missed"), tone="bad")
    if answer.rejections:
        items = tuple(
            _rejected(rejection, result.wish.currency) for rejection in answer.rejections[:_MOST_WHYS]
        )
        yield Points.of(items, title=say("why not cheaper"))


def _bars(plan: Plan) -> Bars:
    """A bar for each unlike rank; of a training, for the fullest."""
    if plan.parts:
        return memory_bar(plan.parts.items(), limit=plan.room_bytes, names=TRAINED)
    if not plan.ranks:
        used = plan.rank_bytes.value
        shown = f"{to_gib(used):.1f} / {to_gib(plan.room_bytes):.1f} GiB"
        piece = Piece(name=say("fullest rank"), size=used, shown=show_bytes(used))
        bar = Bar(label=short(plan.chip.name), pieces=(piece,), limit=plan.room_bytes, shown=shown)
        return Bars(bars=(bar,))
    bars = {bar.shown: bar for bar in (_bar(plan, memory) for memory in reversed(plan.ranks))}
    if plan.prefill_memory is not None:
        prompts = _bar(plan, plan.prefill_memory, label=say("{chip}, prefill", chip=short(plan.chip.name)))
        return Bars(bars=(*reversed(bars.values()), prompts))
    return Bars(bars=tuple(reversed(bars.values())))


def _bar(plan: Plan, memory: ServingMemory, *, label: Shown | None = None) -> Bar:
    parts = words.memory_parts(memory)
    value = sum(size for _, size in parts)
    return Bar(
        label=short(plan.chip.name) if label is None else label,
        pieces=tuple(Piece(name=NAMES[part], size=size, shown=show_bytes(size)) for part, size in parts),
        limit=plan.room_bytes,
        shown=f"{to_gib(value):.1f} / {to_gib(plan.room_bytes):.1f} GiB",
    )


def _full_table(result: Planned) -> Table:
    """Figures down, plans across: it stays readable on a narrow screen."""
    plans = result.shown
    trained = next((plan.work for plan in plans if isinstance(plan.work, Training)), None)
    rows: list[tuple[Shown, ...]] = [
        (say("source"), *(words.supply(plan) for plan in plans)),
        (say("layout"), *(words.workers(plan) for plan in plans)),
        (say("weights") if trained is None else say("method"), *(words.formats(plan) for plan in plans)),
        (say("engine"), *(words.engine(plan) for plan in plans)),
    ]
    if trained is not None:
        steps = (words.step(plan.work) if isinstance(plan.work, Training) else "" for plan in plans)
        rows.append((say("step"), *steps))
    if any(plan.concurrency for plan in plans):
        rows.append((say("concurrency"), *(words.concurrency(plan) for plan in plans)))
    if any(words.safe(plan) for plan in plans):
        rows.append((say("safe tok/s at concurrency"), *(words.safe(plan) for plan in plans)))
    for name, head in ROWS:
        cells = tuple(
            words.figure(name, plan.figures.get(name), currency=result.wish.currency) for plan in plans
        )
        if name in OF_TOKENS and any(words.transcribes(plan) for plan in plans):
            continue
        ends = name != "usd_total" or any("days" in plan.figures for plan in plans)  # work that never ends
        rows += [(words.at_percentile(name, head, wish=result.wish), *cells)] if any(cells) and ends else []
    rows.append((say("limited by"), *(words.BOUNDS.get(plan.bound, plan.bound) for plan in plans)))
    rows.append((say("based on"), *(words.basis(plan) for plan in plans)))
    if any(plan.supply.as_of for plan in plans):
        rows.append((say("price as of"), *(plan.supply.as_of or "" for plan in plans)))
    if any(plan.reasons for plan in plans):
        rows.append((say("why"), *(with_commas(plan.reasons) or "" for plan in plans)))
    names = [named.machine(plan) for plan in plans]
    heads = names
    if len(plans) > 1:
        heads = [str(place) for place in range(1, len(plans) + 1)]
        rows.insert(0, (say("machine"), *names))
    return table(("", *map(prose, heads)), rows, title=say("options"))


def _rejected(rejection: Rejection, currency: str) -> Sentence:
    label = short(rejection.label)
    if rejection.usd_per_h is None:
        return say("{label}: {reason}", label=label, reason=rejection.reason)
    usd = show_money(rejection.usd_per_h, currency)
    return say("{label}, {usd}/hour: {reason}", label=label, usd=usd, reason=rejection.reason)

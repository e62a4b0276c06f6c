"""The page of `plan`: verdict, memory, plans side by side, why not cheaper, what to type next."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import show_bytes, show_usd, to_gib
from rigright.base.words import Sentence, say, with_commas
from rigright.cost.memory_serving import ServingMemory
from rigright.demand import Training
from rigright.report.explained import PARTS
from rigright.report.page import Bar, Bars, Column, Commands, Line, Page, Part, Piece, Points, Shown, Table
from rigright.report.pages import plan_words as words
from rigright.report.pages.explain import NAMES
from rigright.report.pages.plan_next import next_commands, on_instead
from rigright.report.pages.why import reasons_table
from rigright.report.planned import Planned
from rigright.search.record import Plan, Rejection

ROWS = (
    ("ttft_s", say("first token")),
    ("tpot_s", say("next tokens")),
    ("output_tok_per_s", say("tok/s")),
    ("train_tok_per_s", say("tok/s")),
    ("images_per_s", say("images/s")),
    ("texts_per_s", say("texts/s")),
    ("latency_s", say("a batch")),
    ("mfu", say("MFU")),
    ("days", say("done in")),
    ("usd", say("to buy")),
    ("usd_per_h", say("an hour")),
    ("usd_per_mtok", say("M tokens")),
    ("usd_per_image", say("1,000 images")),
    ("usd_per_text", say("1,000 texts")),
    ("usd_total", say("in all")),
    ("power_w", say("power")),
    ("headroom", say("memory free")),
)
MOST_WHYS = 6


def page(result: Planned, *, why: bool = False) -> Page:
    """The page for people."""
    parts: list[Part] = [verdict(result)]
    first = result.first
    if first is not None:
        parts.append(_bars(first))
        parts.append(_table(result))
    parts += _left_behind(result)
    if why and result.reasons:
        parts.append(reasons_table(result.reasons, NAMES))
    other = result.found.instead
    if other is not None:
        figures = with_commas([words.speed(other), words.money(other), words.power(other)])
        parts.append(Line(said=say("{machine} would do, in {format}: {figures}",
                                   machine=words.machine(other), format=words.formats(other),
                                   figures=figures)))  # fmt: skip
    parts += [Line(said=note, tone="dim") for note in _notes(result)]
    if result.asked and first is not None:
        parts.append(Commands(items=tuple(next_commands(result, first)), title=say("next")))
    elif result.asked and other is not None:
        parts.append(Commands(items=(on_instead(result, other),), title=say("next")))
    return Page(title=_title(result), parts=tuple(parts))


def _title(result: Planned) -> Shown:
    return say("{model}: {work}", model=result.model, work=words.work(result.wish))


def verdict(result: Planned) -> Line:
    """The answer in one line."""
    first = result.first
    if first is None:
        broken = result.found.broken[:1]
        if broken:
            return Line(
                said=say("nothing fits: {label}: {reason}", label=broken[0].label, reason=broken[0].reason),
                tone="bad",
            )
        return Line(said=say("nothing fits, and nothing comes near"), tone="bad")
    told = with_commas([words.speed(first), words.money(first), words.power(first)])
    if not result.fits:
        limit = result.found.broken[0].reason if result.found.broken else ""
        said = say("nothing keeps every limit: {limit}; nearest is {machine}: {figures}",
                   limit=limit, machine=words.machine(first), figures=told)  # fmt: skip
        return Line(said=said, tone="bad")
    said = say("fits on {machine} in {format}: {figures}",
               machine=words.machine(first), format=words.formats(first), figures=told)  # fmt: skip
    if len(result.found.plans) > 1:
        second = result.found.plans[1]
        more = with_commas([words.speed(second), words.money(second)])
        alike = words.machine(second) == words.machine(first)
        name: Shown = say("in {format}", format=words.formats(second)) if alike else words.machine(second)
        said = say("{verdict}; next best {name}: {figures}", verdict=said, name=name, figures=more)
    return Line(said=said, tone="good")


def _bars(plan: Plan) -> Bars:
    """A bar for each unlike rank; of a training, for the fullest."""
    if not plan.memory:
        return Bars(bars=(_fullest(plan),))
    bars = {bar.shown: bar for bar in (_bar(plan, memory) for memory in reversed(plan.memory))}
    if plan.prefill_memory is not None:
        prompts = _bar(plan, plan.prefill_memory, label=say("{chip}, prefill", chip=plan.chip.name))
        return Bars(bars=(*reversed(bars.values()), prompts))
    return Bars(bars=tuple(reversed(bars.values())))


def _bar(plan: Plan, memory: ServingMemory, *, label: Shown | None = None) -> Bar:
    parts = memory_parts(memory)
    held = sum(size for _, size in parts)
    return Bar(
        label=plan.chip.name if label is None else label,
        pieces=tuple(Piece(name=NAMES[part], size=size, shown=show_bytes(size)) for part, size in parts),
        limit=plan.room_bytes,
        shown=f"{to_gib(held):.1f} / {to_gib(plan.room_bytes):.1f} GiB",
    )


def _fullest(plan: Plan) -> Bar:
    used = plan.rank_bytes.value
    shown = f"{to_gib(used):.1f} / {to_gib(plan.room_bytes):.1f} GiB"
    piece = Piece(name=say("fullest rank"), size=used, shown=show_bytes(used))
    return Bar(label=plan.chip.name, pieces=(piece,), limit=plan.room_bytes, shown=shown)


def memory_parts(memory: ServingMemory) -> list[tuple[str, float]]:
    """What lies on a rank, and what its engine sets aside beyond what is asked."""
    sizes = [(part, float(getattr(memory, f"{part}_bytes"))) for part in PARTS]
    spare = float(memory.pool_bytes - memory.cache_bytes - memory.states_bytes)
    return [*sizes, ("unused", max(spare, 0.0))]


def _table(result: Planned) -> Table:
    """Figures down, plans across: it stays readable on a narrow screen."""
    plans = result.shown
    trained = next((plan.work for plan in plans if isinstance(plan.work, Training)), None)
    rows: list[tuple[Shown, ...]] = [
        (say("from"), *(words.supply(plan) for plan in plans)),
        (say("layout"), *(words.workers(plan) for plan in plans)),
        (say("weights") if trained is None else say("method"), *(words.formats(plan) for plan in plans)),
        (say("engine"), *(words.engine(plan) for plan in plans)),
    ]
    if trained is not None:
        steps: list[Shown] = [
            words.step(plan.work) if isinstance(plan.work, Training) else "" for plan in plans
        ]
        rows.append((say("a step"), *steps))
    if any(plan.concurrency for plan in plans):
        rows.append((say("at once"), *(words.at_once(plan) for plan in plans)))
    for name, head in ROWS:
        cells = tuple(words.figure(name, plan.figures.get(name)) for plan in plans)
        told = words.at_percentile(name, head, wish=result.wish)
        rows += [(told, *cells)] if any(cells) and _is_told(name, plans) else []
    rows.append((say("limited by"), *(words.BOUNDS.get(plan.bound, plan.bound) for plan in plans)))
    rows.append((say("speed known by"), *(words.known_by(plan) for plan in plans)))
    if any(plan.reasons for plan in plans):
        rows.append((say("why"), *(with_commas(plan.reasons) or "" for plan in plans)))
    names = [words.machine(plan) for plan in plans]
    heads = names
    if len(plans) > 1:
        heads = [str(place) for place in range(1, len(plans) + 1)]
        rows.insert(0, (say("machine"), *names))
    return Table(
        title=say("plans"),
        columns=(Column(head=""), *(Column(head=head, flexible=True) for head in heads)),
        rows=tuple(rows),
    )


def _is_told(name: str, plans: tuple[Plan, ...]) -> bool:
    """The sum over years says nothing new where all is bought, or all is served."""
    return name != "usd_total" or any("days" in plan.figures for plan in plans)


def _left_behind(result: Planned) -> list[Part]:
    """Limits that are broken, and cheaper things that will not do."""
    found = result.found
    parts: list[Part] = []
    if found.broken and result.first is not None:
        parts.append(
            Points(items=tuple(one.reason for one in found.broken), title=say("limits it breaks"), tone="bad")
        )
    if found.rejections:
        items = tuple(_rejected(one) for one in found.rejections[:MOST_WHYS])
        parts.append(Points(items=items, title=say("why not cheaper")))
    return parts


def _rejected(one: Rejection) -> Sentence:
    if one.usd_per_h is None:
        return say("{label}: {reason}", label=one.label, reason=one.reason)
    return say(
        "{label}, {usd} an hour: {reason}", label=one.label, usd=show_usd(one.usd_per_h), reason=one.reason
    )


def _notes(result: Planned) -> Iterator[Shown]:
    yield from result.notes
    told: dict[Shown, list[str]] = {}
    for place, plan in enumerate(result.shown, 1):
        for note in plan.notes:
            told.setdefault(note, []).append(str(place))
    for said, places in told.items():
        one = len(result.shown) == 1
        yield said if one else say("plan {places}: {note}", places=", ".join(places), note=said)
    layouts = f"{result.found.looked_at:,}"
    if not result.found.looked_at:
        return
    if result.found.chips == 1:
        yield say("layouts looked at: {layouts}", layouts=layouts)
    else:
        yield say(
            "layouts looked at: {layouts}, on {chips} kinds of card",
            layouts=layouts,
            chips=result.found.chips,
        )

"""Like with like: one way to pay, one context, one format and one method for all, where all can."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from rigright.arch.record import Arch
from rigright.base.errors import AskError, maybe
from rigright.base.words import ASSUMED, Sentence, say
from rigright.choice.ways import USUAL_LOSS, quality_class
from rigright.choice.work import USUAL_TOK_PER_S, works
from rigright.cost.training.setup import METHODS
from rigright.demand import PlanWish, Serving, Training
from rigright.facts.chips import short
from rigright.facts.formats import find_format, find_kv_format
from rigright.search.find import find
from rigright.search.record import Plan, SearchResult
from rigright.verbs.comparing.sheets import HALF
from rigright.verbs.comparing.things import Thing

COMMON = ("fp8", "int8", "awq4", "gguf:Q8_0", "gguf:Q4_K_M")  # tried where no one's own choice does for all


class _Setting(NamedTuple):
    """What is the same for all: where a plan says it, how a wish asks for it, how people read it."""

    name: Sentence
    of: Callable[[Plan], Any]
    asked: Callable[[Any], dict[str, Any]]
    open: Callable[[PlanWish], bool]  # whether nobody said it
    order: Callable[[Any], Any]  # the best first
    shown: Callable[[Any], str]
    more: tuple[Any, ...] = ()  # tried where no one's own choice does for all
    usual: Callable[[Any], bool] = bool  # whether others may be asked for it: not for 2 bit


def _plans_of(arch: Arch, thing: Thing) -> SearchResult:
    """Its plans, on as few cards as will do where only their name was said."""
    arch, wish = thing.arch or arch, thing.wish
    *few, last = thing.counts
    tried = (item for most in few if (item := _sold(arch, thing, most=most)) and item.plans)
    first = answer = next(tried, None)
    while answer is not None and not (_is_usual(answer.plans[0]) and _as_good(answer)):
        answer = next(tried, None)
    answer = answer or first or _at_most(arch, thing, most=last)
    plan = answer.plans[0] if answer.plans else None
    if plan is None or wish.aim != "cost" or {"usd", "usd_per_mtok"} & set(plan.figures):
        return answer
    # without a price nothing is the cheapest: the fastest of as many cards
    return find(arch, replace(wish, aim="speed", most_chips=plan.n_chips), market=thing.market, alone=True)


def _sold(arch: Arch, thing: Thing, *, most: int | None) -> SearchResult | None:
    """The plans on so many cards; None where as few are not sold this way."""
    return maybe(lambda: _at_most(arch, thing, most=most))


def _at_most(arch: Arch, thing: Thing, *, most: int | None) -> SearchResult:
    wish = thing.wish if most is None else replace(thing.wish, most_chips=most)
    return find(arch, wish, market=thing.market, alone=True)


def alike(
    arch: Arch, things: Sequence[Thing]
) -> tuple[tuple[Thing, ...], tuple[SearchResult, ...], tuple[Sentence, ...]]:
    """Each thing at its best, then all of them the same way, as far as all can; and what to say of it."""
    answers, notes = tuple(_plans_of(arch, thing) for thing in things), list[Sentence]()
    here, first = tuple(things), answers
    here, answers, sentences = _paid_alike(arch, here, answers=answers)
    here = tuple(_counted(thing, answer) for thing, answer in zip(here, answers, strict=True))
    notes += sentences
    for setting in SETTINGS:
        here, answers, sentences = _set_alike(arch, here, answers=answers, setting=setting)
        notes += sentences
    own = [note for answer in answers for note in answer.notes if note.kind != ASSUMED]
    return (here, answers, tuple(dict.fromkeys((*notes, *_assumed(first, answers), *own))))


def _assumed(first: Sequence[SearchResult], now: Sequence[SearchResult]) -> Iterator[Sentence]:
    """What was assumed before it was fixed for all: of one whose own choice became that of all."""
    lengths = {_served("context_tok")(item.plans[0]) for item in now if item.plans}
    like = [item for item in first if item.plans and _served("context_tok")(item.plans[0]) in lengths]
    for answer in (like or list(first))[:1]:
        yield from (note for note in answer.notes if note.kind == ASSUMED)


def _counted(thing: Thing, moments: SearchResult) -> Thing:
    """The thing with as many cards as do the work well: no setting makes them more."""
    if thing.counts == (None,) or not moments.plans or not _is_usual(moments.plans[0]):
        return thing
    return replace(thing, counts=(moments.plans[0].n_chips,))


def _is_usual(plan: Plan) -> bool:
    """Whether its weights are of a format that others may be asked for, too: not of 2 bit."""
    return isinstance(plan.work, Training) or find_format(plan.work.weights).loss_rank <= USUAL_LOSS


def _paid_alike(
    arch: Arch, things: tuple[Thing, ...], *, answers: tuple[SearchResult, ...]
) -> tuple[tuple[Thing, ...], tuple[SearchResult, ...], list[Sentence]]:
    """All bought, or all rented, where nobody said which.

    Bought where no card would stand idle, unless only rented ones are as many for all.
    """
    hows = {answer.plans[0].supply.how for answer in answers if answer.plans}
    if len(hows) < 2 or any(thing.wish.buy is not None or thing.wish.clouds for thing in things):
        return things, answers, []
    ways = dict[bool, tuple[SearchResult, ...]]()
    for buy in (True, False):
        pairs = zip(things, answers, strict=True)
        tried = tuple(_with(arch, thing, fixed={"buy": buy}, had=answer) for thing, answer in pairs)
        if all(answer.plans and _is_priced(answer.plans[0], buy=buy) for answer in tried):
            ways[buy] = tried
    if ways:
        buy = min(ways, key=lambda way: len({answer.plans[0].n_chips for answer in ways[way]}))
        return tuple(replace(item, wish=replace(item.wish, buy=buy)) for item in things), ways[buy], []
    return things, answers, [say("some are bought and some rented: no way to pay is known for all")]


def _is_priced(plan: Plan, *, buy: bool) -> bool:
    """Whether it is paid for so, at a known price, and for no card that stands idle."""
    if plan.supply.how != ("buy" if buy else "rent"):
        return False
    if not buy:
        return plan.figures.get("usd_per_h") is not None
    idle = (plan.supply.n_chips or plan.n_chips) > plan.n_chips
    return plan.supply.usd is not None and not idle


def _set_alike(
    arch: Arch, things: tuple[Thing, ...], *, answers: tuple[SearchResult, ...], setting: _Setting
) -> tuple[tuple[Thing, ...], tuple[SearchResult, ...], list[Sentence]]:
    """One setting the same for all that can have it; the others keep their own, with a word on it."""
    able = [place for place, answer in enumerate(answers) if answer.plans]
    names = {place: _name(things[place], answers[place].plans[0]) for place in able}
    own = {place: setting.of(answers[place].plans[0]) for place in able}
    chosen = {value for value in own.values() if value is not None}
    if len(able) < 2 or not chosen or not all(setting.open(things[place].wish) for place in able):
        return things, answers, []
    usual = [value for value in chosen if setting.usual(value)] or list(chosen)
    tries = []
    for value in (*sorted(usual, key=setting.order), *(item for item in setting.more if item not in chosen)):
        asked = setting.asked(value)
        tried = tuple(
            answer if own.get(place) == value else _with(arch, things[place], fixed=asked, had=answer)
            for place, answer in enumerate(answers)
        )
        tries.append((sum(setting.of(tried[place].plans[0]) == value for place in able), tried, value))
        if tries[-1][0] == len(able):
            break
    count, now, value = max(tries, key=lambda row: row[0])
    if count < 2:
        values = ", ".join(f"{names[place]} {setting.shown(own[place])}" for place in able)
        return (
            things,
            answers,
            [say("no {setting} that all run: {values}", setting=setting.name, values=values)],
        )
    fixed = tuple(
        replace(thing, wish=replace(thing.wish, **setting.asked(value)))
        if place in own and setting.of(now[place].plans[0]) == value
        else thing
        for place, thing in enumerate(things)
    )
    return fixed, now, list(_front_notes(answers, now, names=names, setting=setting, value=value))


def _with(arch: Arch, thing: Thing, *, fixed: dict[str, Any], had: SearchResult) -> SearchResult:
    """What is found with a setting, where it keeps what was kept; what was there before where nothing is."""
    if not had.plans:
        return had
    try:
        answer = _plans_of(arch, replace(thing, wish=replace(thing.wish, **fixed)))
    except AskError:  # it is not sold or run so
        return had
    return answer if answer.plans and _as_good(answer, had) else had


def _as_good(answer: SearchResult, had: SearchResult | None = None) -> bool:
    """Whether a service starts and writes as fast as people want, or as it did before."""
    usual = None if answer.wish is None else works().get(answer.wish.work)
    new, old = answer.plans[0].figures, {} if had is None else had.plans[0].figures
    limits = {"ttft_s": None if usual is None else usual.ttft_s, "tpot_s": 1 / USUAL_TOK_PER_S}
    return all(
        bound is None
        or name not in new
        or new[name].value <= max(bound, old[name].value if name in old else 0.0)
        for name, bound in limits.items()
    )


def _front_notes(
    before: Sequence[SearchResult],
    now: Sequence[SearchResult],
    *,
    names: Mapping[int, str],
    setting: _Setting,
    value: Any,
) -> Iterator[Sentence]:
    """Who cannot have what the others have, and who alone would have had better."""
    shown, better = setting.shown(value), dict[str, list[str]]()
    for place, name in names.items():
        has, had = setting.of(now[place].plans[0]), setting.of(before[place].plans[0])
        if has != value:
            yield say("{name}: {own}, since {value} does not fit or run there",
                      name=name, own=setting.shown(has), value=shown)  # fmt: skip
        elif had != value and setting.order(had) < setting.order(value):
            better.setdefault(setting.shown(had), []).append(name)
    for own, those in better.items():
        yield say("{value} for all; {name} would also run {own}", value=shown, name=", ".join(those), own=own)


def _name(thing: Thing, plan: Plan) -> str:
    if thing.label:
        return thing.label
    name = short(plan.chip.name)
    return name if plan.n_chips == 1 else f"{plan.n_chips}x {name}"


def _served(field: str) -> Callable[[Plan], Any]:
    return lambda plan: getattr(plan.work, field) if isinstance(plan.work, Serving) else None


def _weights(plan: Plan) -> str | None:
    """Its format; the files of 16 bit are one."""
    form = _served("weights")(plan)
    return HALF[0] if form in HALF else form


def _method(plan: Plan) -> str | None:
    return plan.work.method if isinstance(plan.work, Training) else None


def _class(form: str) -> tuple[int, int, str]:
    loss = find_format(form).loss_rank
    return quality_class(loss), loss, form


SETTINGS = (
    _Setting(
        name=say("context"), of=_served("context_tok"), asked=lambda tok: {"context_tok": tok},
        open=lambda wish: wish.context_tok is None, order=lambda tok: -tok,
        shown=lambda tok: f"{tok:,} context",
    ),
    _Setting(
        name=say("weight format"), of=_weights,
        asked=lambda form: {"weights": HALF if form in HALF else (form,)},
        open=lambda wish: not wish.weights, order=_class, shown=lambda form: form.removeprefix("gguf:"),
        more=COMMON, usual=lambda form: find_format(form).loss_rank <= USUAL_LOSS,
    ),
    _Setting(
        name=say("KV cache format"), of=_served("kv"), asked=lambda form: {"kv": (form,)},
        open=lambda wish: not wish.kv, order=lambda form: -find_kv_format(form).bits,
        shown=lambda form: f"{form} KV",
    ),
    _Setting(
        name=say("method"), of=_method, asked=lambda method: {"method": method},
        open=lambda wish: wish.method is None,
        order=lambda method: METHODS.index(method) if method in METHODS else len(METHODS), shown=str,
    ),
)  # fmt: skip

"""Why each plan is among the plans, and why nothing cheaper: what costs less, and the limit each breaks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from rigright.base.money import USD, currency_of
from rigright.base.record import dataclass, replace
from rigright.base.units import KILO, show_bytes, show_count, to_gib
from rigright.base.words import DOUBT, Sentence, say
from rigright.choice.ways import format_of
from rigright.demand import Numbers, PlanWish
from rigright.facts.chips import Chip
from rigright.facts.engines import engines_of, find_engine, how_runs, runs_of, unrun
from rigright.facts.formats import find_kv_format
from rigright.money.tariff import tariff_in, write_off_usd_per_h
from rigright.search.choose import choose, field_of
from rigright.search.figures import HOURS_PER_DAY, Limit, limits_on
from rigright.search.plans import Candidates
from rigright.search.question import Question
from rigright.search.record import Plan, Rejection, SearchResult
from rigright.search.score import Misfits
from rigright.search.supply import HOWS, options

NEAR = 1.005  # times a figure, within which two read alike
FASTER = 1.25  # times the speed, that decides before a chance does
CERTAIN = 0.01  # of a chance, that tells two apart


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontRow:
    """What a plan shows of itself, as things to have less of."""

    plan: Plan
    usd: float | None  # of the machine, where it is bought
    cost: float  # of an hour under a load that was stated, else of a token
    time: float  # of a token of all users
    loss: float
    doubt: float

    def is_cheaper(self, other: FrontRow) -> bool:
        """Whether it costs less, by each price that both show."""
        prices = [(self.cost, other.cost)]
        if self.usd is not None and other.usd is not None:
            prices.append((self.usd, other.usd))
        no_dearer = all(own <= its * NEAR for own, its in prices)
        return no_dearer and any(own * NEAR < its for own, its in prices)

    def is_less(self, other: FrontRow) -> bool:
        """Whether some price of it is lower."""
        bought = self.usd is not None and other.usd is not None and self.usd * NEAR < other.usd
        return bought or self.cost * NEAR < other.cost


def with_reasons(
    plans: Sequence[Plan], losses: Sequence[float], *, loaded: bool, kept: bool = True
) -> tuple[Plan, ...]:
    """The plans that have a reason, each with it.

    `losses`: of weights and caches; `kept`: they keep what everybody wants.
    """
    rows = [_row(plan, loss, loaded=loaded) for plan, loss in zip(plans, losses, strict=True)]
    first, *others = rows
    cheapest = say("cheapest that meets every limit") if kept else say("cheapest of what comes closest")
    lead = () if len(rows) == 1 and plans[0].reasons else (_leads(first, others, cheapest=cheapest),)
    result = [replace(first.plan, reasons=(*lead, *first.plan.reasons))]
    for row in others:
        least = not any(front_row.is_less(row) for front_row in rows)
        named = any(cheapest in plan.reasons for plan in result)
        sentences = [cheapest] if least and row.is_cheaper(first) and not named else []
        sentences += [
            sentence for sentence in row.plan.reasons if sentence.kind != DOUBT or row.is_cheaper(first)
        ]
        reasons = tuple(sentences) or tuple(_beside(row, first))
        if reasons:  # else it gains in nothing that is shown
            result.append(replace(row.plan, reasons=reasons))
    return tuple(result)


def _row(plan: Plan, loss: float, *, loaded: bool) -> FrontRow:
    figures = {name: estimate.value for name, estimate in plan.figures.items()}
    each = next((name for name in ("usd_per_audio_h", "usd_per_mtok") if name in figures), "")
    return FrontRow(
        plan=plan,
        usd=figures.get("usd") if plan.supply.how == "buy" else None,
        cost=figures.get("usd_per_h" if loaded else each, math.inf),
        time=1 / max(figures.get("output_tok_per_s", 0.0), 1e-9),
        loss=loss,
        doubt=1 - min(plan.certainty.values(), default=1.0),
    )


def _leads(first: FrontRow, others: Sequence[FrontRow], *, cheapest: Sentence) -> Sentence:
    """Why the first is before what costs less: all of that is worse in one way, or each in its own."""
    cheaper = [front_row for front_row in others if front_row.is_less(first)]
    if not cheaper:
        return cheapest
    if all(front_row.loss > first.loss for front_row in cheaper):
        return say("cheapest at this quality")
    if all(front_row.time > first.time * FASTER for front_row in cheaper):
        return say("cheapest at this speed")
    if all(front_row.doubt > first.doubt + CERTAIN for front_row in cheaper):
        return say("cheapest that is as certain")
    if all(front_row.time > first.time * NEAR for front_row in cheaper):
        return say("cheapest at this speed")
    return say("best balance of price, speed and quality")


def _beside(row: FrontRow, first: FrontRow) -> Iterator[Sentence]:
    """What it gains over the first, and what it gives up for that."""
    slower, faster = row.time > first.time * NEAR, row.time * NEAR < first.time
    if row.is_cheaper(first):
        if row.loss > first.loss:
            yield say("cheaper, lower quality")
        elif slower:
            yield say("cheaper, slower")
        elif row.doubt > first.doubt + CERTAIN:
            yield say("cheaper, less certain")
    elif row.loss < first.loss:
        yield say("better quality, slower") if slower else say("better quality, costs more")
    elif faster:
        yield say("faster, costs more")
    elif row.doubt < first.doubt - CERTAIN:
        yield say("more certain, costs more")


NOTHING = say("no engine runs these weights on these GPUs; remove a format or engine")


def is_known(question: Question) -> bool:
    """Whether it is known what the engines run that were asked for; memory alone is known of others too."""
    return all(runs_of(find_engine(name).id) for name in question.wish.engines)


def no_way(question: Question) -> Sentence:
    """What is in the way, and what would run."""
    chips = {chip.id: chip for kind in question.kinds for chip in kind.chips}
    if len(chips) == 1:
        return _on_one(question, next(iter(chips.values())))
    return NOTHING


def _on_one(question: Question, chip: Chip) -> Sentence:
    wish, arch = question.wish, question.arch
    named = tuple(find_engine(name).id for name in wish.engines)
    engines = named or engines_of(chip)
    form = arch.stored or arch.dtype
    if wish.weights and engines:
        form = format_of(wish.weights[0], engine=find_engine(engines[0]), named=bool(named))
    if wish.kv and any(how_runs(name, form, chip=chip) for name in engines):
        cache = find_kv_format(wish.kv[0])
        return say(
            "{engine} has no {kv} KV cache; these do: {engines}",
            engine=engines[0], kv=cache.label, engines=", ".join(cache.engines),
        )  # fmt: skip
    if not engines:
        return say("no known engine runs on {chip}", chip=chip.name)
    return unrun(engines[0], form, chip=chip) or NOTHING


FAR = 1e3  # in logarithms of ratios
HOPELESS, NEAR_EQUAL = 10.0, 1.1  # times a limit, beyond which so much more of the way is no nearer
MOST = 3  # rejections that are stated
OF_ONE_LIMIT = 2
NAMED = 2  # chips that one line names
UNITS = {
    "output_tok_per_s": "tok/s", "requests_per_s": "requests/s", "images_per_s": "images/s",
    "texts_per_s": "texts/s", "videos_per_s": "videos/s",
    "power_w": "W", "days": "days",
}  # fmt: skip


def rejections(table: Candidates, limits: Sequence[Limit], *, first: int, cost: str) -> tuple[Rejection, ...]:
    """The nearest misses among what costs less than the first plan, few of one reason."""
    asked_for = chain(_unrun(table.question), _unsold(table))  # somebody named these
    cheaper = chain(_missed(table, limits, first=first, cost=cost), _small(table, first=first))
    given: list[Rejection] = []
    for rejection in chain(asked_for, cheaper, _unpriced(table, limits, first=first)):
        if sum(item.limit == rejection.limit for item in given) < OF_ONE_LIMIT:
            given.append(rejection)
        if len(given) == MOST:
            break
    return tuple(sorted(given, key=lambda item: np.inf if item.usd_per_h is None else item.usd_per_h))


def broken(table: Candidates, limits: Sequence[Limit], *, place: int) -> tuple[Rejection, ...]:
    """The limits one option breaks, the farthest first; those without a number last."""
    return tuple(_rejection(table, limit, place=place) for limit in _farthest(limits, place=place))


def missed(wish: PlanWish, figures: Mapping[str, float], *, label: str) -> tuple[Rejection, ...]:
    """The same of one case with these figures."""
    limits = limits_on(wish, {name: np.array([value]) for name, value in figures.items()})
    return tuple(
        _rejected(limit, float(limit.reached[0]), label=label, currency=wish.currency)
        for limit in _farthest(tuple(limits), place=0)
    )


def _farthest(limits: Sequence[Limit], *, place: int) -> list[Limit]:
    far = {limit.name: float(limit.excess[place]) for limit in limits}
    worst = sorted(limits, key=lambda limit: (np.isinf(far[limit.name]), -far[limit.name]))
    return [limit for limit in worst if far[limit.name] > 0]


def excess_of(limits: Sequence[Limit], size: int) -> Numbers:
    """How far each option is beyond all its limits together; what has no number is far, not endlessly far.

    So of all that is overrun the one that carries most is the nearest.
    """
    return sum((np.clip(limit.excess, 0.0, FAR) for limit in limits), start=np.zeros(size))


def nearest_to(limits: Sequence[Limit], *, beyond: Numbers, price: Numbers) -> int:
    """What comes closest to all limits; of near equals of an impossible wish the cheapest.

    Limits without a number are counted first: they would drown all that is known of the others.
    """
    unknown = sum((limit.excess >= FAR for limit in limits), start=np.zeros(len(beyond)))
    rest = np.where(unknown == unknown.min(), beyond - FAR * unknown, np.inf)
    least = float(rest.min())
    near = rest <= (least * NEAR_EQUAL if least > math.log(HOPELESS) * len(limits) else least)
    return int(np.lexsort((beyond, price, ~near))[0])


def _missed(table: Candidates, limits: Sequence[Limit], *, first: int, cost: str) -> Iterator[Rejection]:
    price = table.figures[cost]
    beyond = excess_of(limits, len(price))
    below = price[first] if np.isfinite(price[first]) else np.inf
    places = np.flatnonzero((beyond > 0) & (price < below))
    points = table.scored.points
    kind = points.kind[table.options.index]
    order = places[np.lexsort((price[places], beyond[places]))]
    seen: set[int] = set()
    for place in order:
        if int(kind[place]) not in seen:
            seen.add(int(kind[place]))
            yield broken(table, limits, place=int(place))[0]


def _rejection(table: Candidates, limit: Limit, *, place: int) -> Rejection:
    cost = float(table.figures["usd_per_h"][place])
    rejection = _rejected(
        limit, float(limit.reached[place]), label=_label_of(table, place),
        currency=table.question.wish.currency,
    )  # fmt: skip
    return replace(rejection, usd_per_h=cost if np.isfinite(cost) else None)


def _rejected(limit: Limit, reached: float, *, label: str, currency: str) -> Rejection:
    return Rejection(
        label=label,
        reason=_broken_limit(limit, reached, currency=currency),
        limit=limit.name,
        nearest=reached if np.isfinite(reached) else None,
    )


def _label_of(table: Candidates, place: int) -> str:
    """An option in a few words: "2x RTX 5090, awq4"."""
    point = int(table.options.index[place])
    points = table.scored.points
    kind = table.question.kinds[int(points.kind[point])]
    way = table.question.ways[int(points.way[point])]
    count = int(points.n_chips[point])
    return f"{kind.chip.name if kind.mix else f'{count}x {kind.chip.name}'}, {way.label}"


def _broken_limit(limit: Limit, reached: float, *, currency: str) -> Sentence:
    """A broken limit with both its numbers."""
    if not np.isfinite(reached):
        return (
            say("no price known") if limit.name.startswith("usd") else say("overloaded: the queue only grows")
        )
    shown = _apart(limit, reached, currency=currency)
    return {
        "ttft_s": say("TTFT {reached}, limit {bound}", **shown),
        "tpot_s": say("TPOT {reached}, limit {bound}", **shown),
        "output_tok_per_s": say("output {reached}, asked for {bound}", **shown),
        "requests_per_s": say("serves {reached}, asked for {bound}", **shown),
        "usd": say("costs {reached}, budget {bound}", **shown),
        "usd_per_h": say("costs {reached}/hour, limit {bound}", **shown),
        "usd_per_mtok": say("costs {reached} per 1M tokens, limit {bound}", **shown),
        "power_w": say("draws {reached}, limit {bound}", **shown),
        "latency_s": say("batch time {reached}, limit {bound}", **shown),
        "texts_per_s": say("reaches {reached}, asked for {bound}", **shown),
        "images_per_s": say("reaches {reached}, asked for {bound}", **shown),
        "videos_per_s": say("reaches {reached}, asked for {bound}", **shown),
        "days": say("takes {reached}, limit {bound}", **shown),
        "later_params": say("has room for {reached} parameters later, asked for {bound}", **shown),
    }[limit.name]


def _apart(limit: Limit, reached: float, *, currency: str) -> dict[str, str]:
    """Both figures, with as many digits as it takes to tell them apart."""
    bound = show_figure(limit.name, limit.bound, currency=currency)
    for digits in range(3, 9):
        shown = show_figure(limit.name, reached, digits=digits, currency=currency)
        if shown != show_figure(limit.name, limit.bound, digits=digits, currency=currency):
            break
    return {"reached": shown, "bound": bound}


def show_figure(name: str, value: float, *, digits: int = 3, currency: str = USD) -> str:
    """A figure of a limit for people, with its unit; money in the currency that was asked in."""
    if name == "later_params":
        return show_count(value)
    if name in {"ttft_s", "tpot_s", "latency_s"}:
        return f"{_plain(value, digits)} s" if value >= 1 else f"{_plain(value * KILO, digits)} ms"
    if name.startswith("usd"):
        known = currency_of(currency)
        return f"{known.sign}{_plain(value * known.per_usd, digits)}"
    if name == "days" and value < 1:
        return f"{_plain(value * HOURS_PER_DAY, digits)} h"
    unit = UNITS[name]
    return f"{_plain(value, digits)} {unit}"


def _plain(value: float, digits: int) -> str:
    """So many leading digits, none of the whole part lost, none after it that say nothing."""
    places = max(digits - 1 - math.floor(math.log10(abs(value))), 0) if value else 0
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _small(table: Candidates, *, first: int) -> Iterator[Rejection]:
    """Too few cards of a kind to hold the model in any format, and cheaper; those of the first plan lead."""
    question, misfits, points = table.question, table.scored.misfits, table.scored.points
    below = float(table.figures["usd_per_h"][first])
    least = np.full(len(question.kinds), np.inf)
    np.minimum.at(least, points.kind, points.n_chips)
    own = int(points.kind[table.options.index[first]])
    filled = misfits.need_bytes / misfits.able_bytes
    places = np.flatnonzero(misfits.chips < least[misfits.kind])
    order = places[np.lexsort((filled[places], -misfits.chips[places]))]
    _, nearest = np.unique(misfits.kind[order], return_index=True)
    best = order[nearest]
    order = best[np.lexsort((filled[best], misfits.kind[best] != own))]
    costs = _cheapest_usd_per_h(table, kind=misfits.kind[order], n_chips=misfits.chips[order])
    for place, cost in zip(order.tolist(), costs.tolist(), strict=True):
        if not (np.isnan(cost) or cost >= below):
            yield _too_small(question, misfits, place=place, usd_per_h=cost)


def nothing_fits(question: Question, misfits: Misfits) -> SearchResult:
    """Nothing fits at all: the card that comes closest."""
    nearest = np.argsort(misfits.need_bytes / misfits.able_bytes, kind="stable")[:1]
    return SearchResult(broken=tuple(_too_small(question, misfits, place=int(place)) for place in nearest))


def front(
    table: Candidates, limits: tuple[Limit, ...], *, load_given: bool, plan_at: Callable[..., Plan],
    kept: Callable[..., Numbers] | None = None,
) -> SearchResult:  # fmt: skip
    """The best few of what keeps the limits; where nothing does, what comes nearest and what it breaks.

    `plan_at` makes a plan of a place; `kept`: of options, those that people would take.
    """
    if not len(table.options.index):
        return nothing_fits(table.question, table.scored.misfits)
    beyond = excess_of(limits, len(table.options.index))
    keeps = np.flatnonzero(beyond <= 0)
    if not len(keeps):
        place = int(np.lexsort((table.figures["usd_per_h"], beyond))[0])
        return SearchResult(nearest=plan_at(table, place), broken=broken(table, limits, place=place))
    keeps = keeps if kept is None else keeps[kept(index=table.options.index[keeps])]
    figures = {name: column[keeps] for name, column in table.figures.items() if name != "usd_needed"}
    alike = table.scored.points.kind[table.options.index] * len(HOWS) + table.options.how
    field = field_of(figures, alike=alike[keeps], load_given=load_given)
    chosen = [(int(keeps[choice.place]), choice.best_at) for choice in choose(field, table.question.wish)]
    return SearchResult(
        plans=tuple(plan_at(table, place, best_at=best_at) for place, best_at in chosen),
        rejections=rejections(table, limits, first=chosen[0][0], cost=field.main),
    )


def _too_small(
    question: Question, misfits: Misfits, *, place: int, usd_per_h: float | None = None
) -> Rejection:
    """Cards without room for their share."""
    kind = question.kinds[int(misfits.kind[place])]
    way = question.ways[int(misfits.way[place])]
    need, able = float(misfits.need_bytes[place]), float(misfits.able_bytes[place])
    return Rejection(
        label=f"{int(misfits.chips[place])}x {kind.chip.name}, {way.label}",
        reason=say(
            "needs {need} per GPU, it has {room}",
            need=_size(need, beside=able),
            room=_size(able, beside=need),
        ),
        limit="memory",
        usd_per_h=usd_per_h,
        nearest=need,
    )


def _cheapest_usd_per_h(table: Candidates, *, kind: Numbers, n_chips: Numbers) -> Numbers:
    """What so many cards of each kind cost an hour at least, power left out; nan where no price is known."""
    question, costs = table.question, np.full(len(kind), np.nan)
    most = max(max(item.counts[-1], item.whole) for item in question.kinds)
    priced = np.flatnonzero(n_chips <= most)
    kind, n_chips = kind[priced], n_chips[priced]
    result = options(question, kind=kind, n_chips=n_chips, replica=n_chips)
    segment = np.array([item.chip.segment for item in question.kinds])[kind[result.index]]
    worn = np.full(len(segment), np.nan)
    for name in np.unique(segment):
        mine = segment == name
        worn[mine] = write_off_usd_per_h(result.usd[mine], tariff_in(question.wish, str(name)))
    each = np.where(result.rent_usd_per_h > 0, result.rent_usd_per_h, worn)
    np.fmin.at(costs, priced[result.index], each)
    return costs


def _unrun(question: Question) -> Iterator[Rejection]:
    """Cards somebody named that no way runs on."""
    run = {kind for way in question.ways for kind in way.kinds}
    for place, kind in enumerate(question.kinds):
        if kind.named and place not in run:
            yield Rejection(
                label=kind.chip.name,
                reason=say("the engine asked for does not run these weights on this GPU"),
                limit="format",
            )


def _unsold(table: Candidates) -> Iterator[Rejection]:
    """Cards that would do, and that nobody who was named rents out."""
    question, points = table.question, table.scored.points
    if not question.wish.clouds:
        return
    there = set(points.kind[table.options.index].tolist())
    clouds = ", ".join(question.wish.clouds)
    for kind in sorted(set(points.kind.tolist())):
        chip = question.kinds[kind].chip
        if kind not in there and chip.id in question.market.offers:
            yield Rejection(
                label=chip.name, reason=say("not offered by {clouds}", clouds=clouds), limit="cloud"
            )


def _unpriced(table: Candidates, limits: Sequence[Limit], *, first: int) -> Iterator[Rejection]:
    """Cards that keep every limit and that have no price at all: they may be cheaper. One line for all."""
    price = table.figures["usd_per_h"]
    if np.isnan(price[first]):
        return
    kind = table.scored.points.kind[table.options.index]
    unknown = set(kind[(excess_of(limits, len(price)) <= 0) & np.isnan(price)].tolist())
    kinds = sorted(unknown - set(kind[np.isfinite(price)].tolist()))
    names = [table.question.kinds[value].chip.name for value in kinds]
    if not names:
        return
    yield Rejection(
        label=", ".join(names[:NAMED]) + (f" (+{len(names) - NAMED})" if len(names) > NAMED else ""),
        reason=say("no price known: these may be cheaper"),
        limit="price",
    )


def _size(size_bytes: float, *, beside: float) -> str:
    """A size, with more digits where the other reads the same."""
    alike = show_bytes(size_bytes) == show_bytes(beside)
    return f"{to_gib(size_bytes):.3f} GiB" if alike else show_bytes(size_bytes)

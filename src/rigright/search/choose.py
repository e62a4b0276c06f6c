"""The few plans to show: the best first, then unlike ones that are worth their price at something else.

Nothing beats a chosen plan: each is held against every option, and gives way to what is better in all aims.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from rigright.base.errors import AskError
from rigright.base.record import dataclass, replace
from rigright.base.units import TERA
from rigright.base.words import say
from rigright.choice.layout import surely
from rigright.demand import Numbers, PlanWish
from rigright.predict.columns import grouped

LESS = (
    "usd_per_h",
    "usd_per_mtok",
    "usd_per_image",
    "usd_per_audio_h",
    "latency_s",
    "ttft_s",
    "tpot_s",
    "power_w",
    "usd",
    "loss",
    "days",
    "usd_total",
)
MORE = ("output_tok_per_s", "headroom", "train_tok_per_s", "images_per_s", "mfu")
NEAR = 1.03  # costs closer than this count as equal
PRICE_WEIGHT = 0.5  # twice the price has to bring this power of two of an aim
NEARBY = 2.0  # times the first plan's cost, for being done sooner
MOST_LOSS = 100  # above every rank of loss
OUTPUTS = ("output_tok_per_s", "images_per_s", "train_tok_per_s")
REACH = 10.0  # times the first plan's cost, beyond which nothing is worth it
UNPRICED_USD = TERA  # more than anything costs
GAIN = 1.25  # faster by less is no reason to give up quality
DIGITS = 2  # of a doubt that tell plans apart
TRIES = 24  # unlike options looked at before an aim is given up
AIMS = {
    "cost": "usd_per_h", "speed": "output_tok_per_s", "latency": "tpot_s", "ttft": "ttft_s",
    "power": "power_w", "quality": "loss", "price": "usd", "days": "days",
}  # fmt: skip
WORTH = ("tpot_s", "latency_s", "output_tok_per_s", "ttft_s", "images_per_s")
FRONT = frozenset(  # what a plan is held against others by: money, speed, quality; certainty is beside them
    {name for name in LESS if name != "power_w"} | {*OUTPUTS}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One option, and what it is best at."""

    place: int
    best_at: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """Options that keep every limit: figures as things to have less of, unknown the worst."""

    costs: dict[str, Numbers]
    table: Numbers  # [option, aim]
    slack: Numbers  # [aim]: times as much that counts as equal
    alike: Numbers  # a number for what a person would call the same
    main: str  # the cost that counts
    sure: Numbers  # the same, over the chance that the limits are kept (see `sure.py`); never unknown
    serves: Numbers  # output, as far as it is sure where layouts of one machine are compared
    load_given: bool  # more output than that is worth nothing
    buys: bool = True  # False: on a machine that is there, whose price decides nothing
    lost: Numbers | None = None  # what quality and speed are worth, as a logarithm of the price (`sure.py`)


def field_of(
    figures: dict[str, Numbers],
    *,
    alike: Numbers,
    load_given: bool,
    weight: Numbers | None = None,
    staged: Numbers = False,
    doubt: Numbers | None = None,
) -> Field:
    """The field of some options; `weight`: what doubts make of each cost; `staged`: which are pipelines.

    `doubt`: one over the chance that the limits are kept.
    """
    costs = {name: figures[name] for name in LESS if name in figures}
    costs |= {name: -figures[name] for name in MORE if name in figures}
    known = {name: np.where(np.isnan(column), np.inf, column) for name, column in costs.items()}
    main = cost_of(known, load_given=load_given)
    priced = np.isfinite(known[main])
    # what stands for an unknown price: beyond all that are known, by fewest cards, then least power
    size = [figures[name] for name in ("n_chips", "power_w") if name in figures]
    unpriced = UNPRICED_USD * (1.0 + grouped(*size)) if size else np.array(UNPRICED_USD)
    sure = np.where(priced, known[main] * (1.0 if weight is None else weight), unpriced)
    output = next((known[name] for name in OUTPUTS if name in known), np.zeros(len(alike)))
    serves = surely(output, staged=staged)
    names = [name for name in known if name in FRONT]
    aims = [surely(known[name], staged=staged) if name in OUTPUTS else known[name] for name in names]
    aims += [] if priced.all() else [np.where(priced, 0.0, unpriced)]
    aims += [] if doubt is None else [np.round(doubt, DIGITS)]
    slack = [NEAR if name.startswith("usd") else 1.0 for name in names]
    slack += [1.0] * (len(aims) - len(names))
    return Field(
        costs=known, table=np.stack(aims, axis=1), slack=np.array(slack), alike=alike, main=main, sure=sure,
        serves=serves, load_given=load_given,
    )  # fmt: skip


def cost_of(figures: Mapping[str, Numbers], *, load_given: bool) -> str:
    """The cost that counts: an hour's where somebody named the load, else a token's."""
    each = next((name for name in ("usd_per_image", "usd_per_audio_h") if name in figures), "usd_per_mtok")
    main = "usd_total" if "days" in figures else "usd_per_h" if load_given else each
    return main if main in figures else "usd_per_h"


def choose(field: Field, wish: PlanWish, *, ranks: Numbers | None = None) -> list[Choice]:
    """The first by its aim, then the best at each other aim among what is unlike those before.

    `ranks`: the order that decides the first where the best is wanted and not the cheapest (see `first.py`).
    """
    field = _aimed(field, wish)
    picked: list[int] = [] if ranks is None else [int(np.argmin(ranks))]
    for merit, alike in _merits(field, wish, picked=picked):
        place = _unlike(field, merit, alike=alike, picked=picked)
        if place is not None:
            picked.append(place)
        if len(picked) >= wish.most_plans:
            break
    return [Choice(place=place, best_at=_best_at(field, place, picked=picked)) for place in picked]


def _aimed(field: Field, wish: PlanWish) -> Field:
    """The field with what was asked for, where no plan is held against others by it else."""
    name = AIMS.get(wish.aim or "", "")
    if name in FRONT or name not in field.costs:
        return field
    table = np.column_stack([field.table, field.costs[name]])
    return replace(field, table=table, slack=np.append(field.slack, 1.0))


def _merits(field: Field, wish: PlanWish, *, picked: list[int]) -> Iterator[tuple[Numbers, Numbers]]:
    """What each plan in turn is chosen by, least is best; and what makes it too like one before."""
    if not picked:
        yield least(field, wish), field.alike
    elif wish.budget_usd is not None:  # the cheapest that does it, of whatever cards
        usd, loss = (field.costs.get(name, np.zeros(len(field.alike))) for name in ("usd", "loss"))
        yield least(field, wish), grouped(field.alike, usd, loss).astype(float)
    if not picked:
        return
    price, loss = field.sure, field.costs.get("loss")
    if wish.budget_usd is None:
        yield price, field.alike
    if loss is not None:  # better weights on the very same cards are news
        better = np.where(loss < loss[picked[0]], price, np.inf)
        yield better, field.alike + loss / MOST_LOSS
        own = next(
            (field.costs[name] for name in ("output_tok_per_s", "tpot_s") if name in field.costs), loss
        )
        # so much less of it that it is worth a look; outputs stand below zero
        gains = own <= own[picked[0]] * (1 / GAIN if own[picked[0]] > 0 else GAIN)
        faster = (loss > loss[picked[0]]) & (field.alike == field.alike[picked[0]]) & gains
        yield np.where(faster, own, np.inf), field.alike + loss / MOST_LOSS
    cost = field.costs[field.main]
    bold = (
        (cost < cost[picked].min() / NEAR) & field.load_given & field.buys
    )  # cheaper than all, however doubtful
    yield np.where(bold, cost, np.inf), np.where(bold, -1, field.alike)
    in_reach = price <= REACH * price[picked[0]]
    for name in WORTH:
        if name in field.costs and not (field.load_given and name in OUTPUTS):
            yield np.where(in_reach, _worth(field, name), np.inf), field.alike
    if "days" in field.costs and wish.days is None:
        near = price <= NEARBY * price[picked[0]]
        yield np.where(near, field.costs["days"], np.inf), field.alike
    for _ in range(wish.most_plans):
        yield price, field.alike


def least(field: Field, wish: PlanWish) -> Numbers:
    """The aim asked for, else cost with its doubts and what quality and speed are worth.

    Near the least the least loss, then the most output.
    """
    if wish.aim is not None and wish.aim not in AIMS:
        raise AskError(say('unknown aim "{aim}"; choose {known}', aim=wish.aim, known=", ".join(AIMS)))
    name = field.main if wish.aim in {None, "cost"} else AIMS[wish.aim or "cost"]
    column = field.costs[name if name in field.costs else field.main]
    if wish.aim is None:
        priced = field.sure < UNPRICED_USD
        column = field.sure if field.lost is None else field.sure * np.exp(np.where(priced, field.lost, 0.0))
    if name == "loss":
        return _ranked(column, field.sure, field.serves)
    if name.startswith("usd"):
        column = np.where(np.isfinite(column), column, field.sure)
    lowest = column.min()
    near = column <= (lowest * NEAR if lowest > 0 else lowest / NEAR)
    loss = field.costs.get("loss", np.zeros(len(column)))
    return np.where(near, _ranked(loss, field.serves, column), np.inf)


def _ranked(*columns: Numbers) -> Numbers:
    """Places by the first column, then the next."""
    order = np.lexsort(columns[::-1])
    ranks = np.empty(len(order))
    ranks[order] = np.arange(len(order))
    return ranks


def _worth(field: Field, name: str) -> Numbers:
    """An aim weighed against its price; what has no price is worth nothing here."""
    column, price = field.costs[name], field.sure
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.log(column) if name in LESS else -np.log(-column)
        merit = gain + PRICE_WEIGHT * np.log(price)
    return np.where(np.isfinite(merit), merit, np.inf)


def _unlike(field: Field, merit: Numbers, *, alike: Numbers, picked: list[int]) -> int | None:
    """The least of a merit that nothing beats and that is unlike what was picked; None if there is none."""
    open_ = np.isfinite(merit) & ~np.isin(alike, alike[picked])
    for _ in range(TRIES):
        places = np.flatnonzero(open_)
        if not len(places):
            return None
        place = unbeaten(field, int(places[np.argmin(merit[places])]))
        if not np.isin(alike[place], alike[picked]):
            return place
        open_ &= alike != alike[places[np.argmin(merit[places])]]
    return None


def unbeaten(field: Field, place: int) -> int:
    """The option itself, or one that is as good in all aims, better in some, and beaten by none.

    Prices that are near each other count as equal: a little cheaper is no reason to be worse at all else.
    """
    for slack in (field.slack, np.ones(len(field.slack))):  # near ones may form a ring
        seen: set[int] = set()
        while place not in seen:
            seen.add(place)
            places = np.flatnonzero(_beaten_by(field, place, slack=slack))
            if len(places):
                place = int(places[np.argmin(field.sure[places])])
    return place


def _beaten_by(field: Field, place: int, *, slack: Numbers) -> Numbers:
    """Which options beat one: no worse in any aim, better in some."""
    own = field.table[place]
    no_worse = np.all(field.table <= own * slack, axis=1)
    return no_worse & np.any(field.table < own / slack, axis=1)


def _best_at(field: Field, place: int, *, picked: list[int]) -> tuple[str, ...]:
    """The columns in which it is the best of the plans that are shown; what costs nothing is no bargain."""
    rented = not np.any(field.costs.get("usd", np.zeros(len(field.alike)))[picked] > 0)
    shown = {"usd_per_h": rented, "usd_total": "days" in field.costs}
    names = [name for name in field.costs if name in FRONT and shown.get(name, True)]
    return tuple(name for name in names if _is_best(field.costs[name], place, picked=picked, name=name))


def _is_best(column: Numbers, place: int, *, picked: list[int], name: str) -> bool:
    own, shown = column[place], column[picked]
    if name == "usd":
        shown = shown[shown > 0]
        if own <= 0:
            return False
    return bool(np.isfinite(own) and own < shown.max() and own <= shown.min())

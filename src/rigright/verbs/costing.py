"""What cost is asked about, and what it found: ways to have a machine for years, each with what is paid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from rigright.arch.sources.find import is_known
from rigright.base.errors import AskError, DataError
from rigright.base.files import STDIN
from rigright.base.record import Flat, Inner, dataclass, derived
from rigright.base.units import GIGA, KILO, MEGA, TERA
from rigright.base.words import Sentence, assuming, say
from rigright.cost.estimate import Estimate, added, scaled
from rigright.demand import CostWish, PlanWish, Serving
from rigright.facts.clouds import no_prices, providers_of
from rigright.facts.hosts import CPU_ID
from rigright.facts.naming import read_counts, read_tokens
from rigright.facts.nodes import Node, find_node, rented_from
from rigright.facts.tariffs import KwhPrice
from rigright.money.lifetime import Ledger, Payback, Term
from rigright.money.machine_price import NOTHING, Stored, stored_of
from rigright.money.tariff import SECONDS_PER_H, Tariff
from rigright.verbs.ordering import named_for, settled

OWN, BUY, REPLACE = "own", "buy", "replace"
RENT, SPOT, RESERVED, API = "rent", "spot", "reserved", "api"


@dataclass(frozen=True, slots=True, kw_only=True)
class CostWay:
    """One way to have the work done."""

    kind: str  # "own", "buy", "rent", "spot", "reserved", "replace", "api"
    label: str  # who rents it out, or what is bought in its place
    years: float | None = None  # of a contract; of a machine that is replaced, until then
    ledger: Inner[Ledger]
    payback: Payback | None = None  # of buying, against this way
    buy_is_cheaper: float | None = (
        None  # that buying costs less over all the years, the machine sold at their end
    )
    as_of: str | None = None
    stale: bool = False
    currency: str | None = None  # that it is billed in
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What the machine makes of a model."""

    model: str  # its id
    output_tok: float | None  # a month
    prompt_tok: float | None  # a month
    run_h: float | None = None  # of one training run
    unit: str = ""  # that its work is counted in where it is no tokens: "images", "texts", "audio_h"
    units: float | None = None  # a month


@dataclass(frozen=True, slots=True, kw_only=True)
class WayWithWork:
    """One way to have the machine, with what its work comes to."""

    way: Flat[CostWay]
    costed: Inner[Costed]

    @derived
    def up_front_usd(self) -> Estimate:
        """Paid at the start."""
        return self.first.upfront

    @derived
    def monthly_usd(self) -> Mapping[str, Estimate]:
        """By what it is for: `power`, `idle`, `rent`, `space`."""
        return self.first.monthly

    @derived
    def resale_usd(self) -> Estimate | None:
        """What the machine brings at the end."""
        return self.way.ledger.resale

    @derived
    def total_usd(self) -> Estimate:
        """Over all the years."""
        return self.way.ledger.total

    @property
    def first(self) -> Term:
        """The first of its stretches."""
        return self.way.ledger.terms[0]

    @derived
    def usd_per_mtok(self) -> Estimate | None:
        """For a million output tokens, prompts and all."""
        return self.costed.usd_per_mtok(self.way)

    @derived
    def usd_per_unit(self) -> Estimate | None:
        """For an image, a text or an hour of sound."""
        return self.costed.usd_per_unit(self.way)

    @derived
    def usd_per_run(self) -> Estimate | None:
        """For one training run."""
        return self.costed.usd_per_run(self.way)

    @derived
    def paid_usd(self) -> tuple[float, ...]:
        """All that is paid until each month, the first at once."""
        months = range(int(self.costed.months) + 1)
        return tuple(self.way.ledger.paid(float(month)).value for month in months)


@dataclass(frozen=True, slots=True, kw_only=True)
class Costed:
    """One machine for so many years."""

    machine: str  # what is costed
    n_chips: int  # cards
    n_paid: int  # cards that are bought to have them: boards are sold whole
    boxes: Inner[int]  # machines that hold them
    wish: PlanWish  # what was asked
    spend: CostWish  # what else is paid
    cost_ways: Inner[tuple[CostWay, ...]]  # the machine bought first, where its price is known
    cards_usd: Estimate | None  # to buy
    host_usd: Estimate | None  # the machine around the cards, to buy
    used: bool  # whether the cards are bought used
    power_w: Estimate  # while it works
    idle_w: float  # while it waits
    duty: float  # share of the time it works
    tariff: Inner[Tariff]
    carbon: Inner[KwhPrice | None]
    output: Output | None  # what it makes of a model
    worth_usd: tuple[Estimate, ...] = ()  # of the machine after each year, from today on
    notes: tuple[Sentence, ...] = ()  # what was assumed, and what to know
    asked: Inner[str] = ""
    missed: tuple[Sentence, ...] = ()  # limits that the model does not keep on it

    @derived
    def usd_per_kwh(self) -> float:
        """What power costs."""
        return self.tariff.usd_per_kwh

    @derived
    def pue(self) -> float:
        """What the building draws over what the machine draws."""
        return self.tariff.pue

    @derived
    def months(self) -> float:
        """How long."""
        return self.wish.years * 12

    @derived
    def kwh_per_month(self) -> float:
        """At the meter: the building included."""
        from rigright.money.lifetime import HOURS_PER_MONTH

        drawn = self.power_w.value * self.duty + self.idle_w * (1 - self.duty)
        return drawn / KILO * HOURS_PER_MONTH * self.tariff.pue

    @derived
    def carbon_kg(self) -> float | None:
        """Over all the years."""
        return None if self.carbon is None else self.carbon.value / KILO * self.kwh_per_month * self.months

    @derived
    def ways(self) -> tuple[WayWithWork, ...]:
        """The ways, each with what its work comes to."""
        return tuple(WayWithWork(way=way, costed=self) for way in self.cost_ways)

    def way(self, kind: str) -> CostWay | None:
        """The first way of a kind."""
        return next((way for way in self.cost_ways if way.kind == kind), None)

    @property
    def own(self) -> CostWay | None:
        """The machine itself: as it is there, or bought."""
        return self.way(OWN) or self.way(BUY)

    @property
    def other(self) -> CostWay | None:
        """What it is held against first: the cheapest that lasts, else hours that may end at any moment."""
        lasting = [way for way in self.cost_ways if way.kind in {RENT, RESERVED, API}]
        return min(lasting, key=lambda way: way.ledger.total.value, default=self.way(SPOT))

    def usd_per_mtok(self, way: CostWay) -> Estimate | None:
        """For a million output tokens, prompts and all."""
        made = None if self.output is None or self.output.unit else self.output.output_tok
        return scaled(way.ledger.total, MEGA / (made * self.months)) if made else None

    def usd_per_unit(self, way: CostWay) -> Estimate | None:
        """For an image, a text or an hour of sound."""
        made = None if self.output is None else self.output.units
        return scaled(way.ledger.total, 1 / (made * self.months)) if made else None

    def usd_per_run(self, way: CostWay) -> Estimate | None:
        """For one training run: its share of the hours that the machine works."""
        from rigright.money.lifetime import HOURS_PER_MONTH

        hours = None if self.output is None else self.output.run_h
        worked = self.months * HOURS_PER_MONTH * self.duty
        return scaled(way.ledger.total, hours / worked) if hours else None

    @property
    def up_front(self) -> Estimate | None:
        """To buy it."""
        return (
            None
            if self.cards_usd is None
            else added([estimate for estimate in (self.cards_usd, self.host_usd) if estimate])
        )


if TYPE_CHECKING:
    from rigright.search.record import Plan
    from rigright.verbs.planning.planned import Planned
    from rigright.verbs.runs.planned import PlannedRun

ALONE = frozenset(  # options that say something of a machine without a model
    "own tariff place customer pue years duty used currency prices buy rent spot cloud have room "  # noqa: SIM905
    "watts".split()
)
KEPT = ("currency", "years", "duty", "tariff_usd_per_kwh", "pue", "place")  # of the wish in a plan's file
HOURS_PER_DAY = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """What is costed: cards in boxes, and what they make and draw where a plan says so."""

    node: Node
    wish: PlanWish
    is_there: bool = False  # it need not be bought
    clouds: tuple[str, ...] = ()
    power_w: Estimate | None = None
    output_tok_per_s: float | None = None
    prompt_tok_per_s: float = 0.0
    run_h: float | None = None
    unit: str = ""  # of its work where that is no tokens
    units_per_h: float = 0.0
    model: str | None = None
    missed: tuple[Sentence, ...] = ()  # limits that its plan does not keep
    notes: tuple[Sentence, ...] = ()
    stored: Stored = NOTHING  # what a model keeps on its disks
    cards_usd: Estimate | None = None  # of the cards that are bought, as a plan has it
    host_usd: Estimate | None = None  # of the machines around them
    used: bool = False  # they are bought used at that price


def subject_of(what: str | PlannedRun, *, wish: PlanWish, model: str | None = None) -> Asset:
    """The machine that is meant, by its name or by the plan that asks for it."""
    from rigright.verbs.runs.planned import PlannedRun, read_plan
    from rigright.verbs.seen.here import is_place

    if isinstance(what, PlannedRun):
        return _of_run(what, wish=wish)
    if not what.strip():
        raise AskError(say("nothing to cost"), hint=say('name a machine, a model or a plan: "2x rtx 4090"'))
    if what == STDIN or Path(what).is_file():
        try:
            return _of_run(read_plan(what), wish=wish)
        except DataError:
            if not is_place(what):
                raise
    if model is not None:
        _check_one(what, wish)
        wish = wish if wish.owned is not None else replace(wish, on=what)
        return _planned(model, wish)
    if not is_place(what) and _is_model(what):
        return _planned(what, wish)
    from rigright.options.read import values_in

    more = [name for name in values_in(wish, "cost") if name not in ALONE]
    if more:
        raise AskError(
            say("{option} needs a model, but {machine} is a machine", option=f"--{more[0]}", machine=what),
            hint=say("add {option}", option="--for MODEL"),
        )
    _check_one(what, wish)
    return _named(named_for(what, wish), wish=wish)


def _named(what: str, *, wish: PlanWish) -> Asset:
    """A machine, or an instance of a cloud."""
    from rigright.verbs.seen.here import looked_at

    if providers_of(what):
        raise AskError(
            say("{cloud} is a cloud, not a machine", cloud=what),
            hint=say("give one of its instances: {example}", example="aws:p5.48xlarge"),
        )
    unpriced = no_prices(what.partition(":")[0])
    if unpriced is not None:
        raise unpriced
    looked = looked_at(what)
    there = looked is not None or wish.owned is not None
    clouds = () if there else rented_from(what)
    return Asset(node=looked or find_node(what), wish=wish, is_there=there, clouds=clouds)


def _is_model(what: str) -> bool:
    """Whether a name is that of a model; "minimax-m2" holds the name of a chip too."""
    if any(read_counts(list(read_tokens(part))).count is not None for part in what.split("+")):
        return False
    if is_known(what):
        return True
    try:
        find_node(what)
    except AskError:
        return "/" in what or Path(what).exists()
    return False


def _check_one(what: str, wish: PlanWish) -> None:
    """Refuse a second machine."""
    for option, other in (("--on", wish.on), ("--own", wish.owned)):
        if other not in {None, what}:
            raise AskError(
                say("two machines: {one} and {option} {other}", one=what, option=option, other=other or ""),
                hint=say("give one; to compare several, use `rigright compare`"),
            )


def _planned(model: str, wish: PlanWish) -> Asset:
    """The machine of the best plan, and what it makes."""
    from rigright.search.named import machine_flag
    from rigright.verbs.ordering import host_in
    from rigright.verbs.plan import plan
    from rigright.verbs.planning.planned import no_machine
    from rigright.verbs.seen.here import is_place, looked_at

    wish = settled(wish)
    result = plan(model, wish=wish)
    first = result.first
    if first is None:
        raise no_machine(result)
    is_own = first.supply.how == "own"
    named = wish.owned if is_own else wish.on  # all of it is paid for, however little works
    node = find_node(machine_flag(first)) if named is None else looked_at(named) or find_node(named)
    return Asset(
        node=replace(node, host=node.host or host_in(wish.on)),
        wish=wish,
        is_there=is_own or (wish.on is not None and is_place(wish.on)),
        model=result.model,
        cards_usd=first.supply.usd,
        host_usd=first.supply.host_usd,
        used=first.supply.used,
        missed=tuple(rejection.reason for rejection in result.broken),
        notes=(*result.notes, *_formats(result, first)),
        stored=stored_of(result.params, work=result.wish.work, train_tok=result.wish.train_tok),
        **_figures(first, prompt_tok=result.wish.prompt_tok),
    )


def _formats(result: Planned, plan: Plan) -> Iterator[Sentence]:
    """How weights and cache are stored, where nobody said it."""
    if isinstance(plan.work, Serving) and not (result.wish.weights and result.wish.kv):
        kv = "" if plan.work.kv == "16bit" else f", {plan.work.kv} KV"
        form = f"{plan.work.weights.removeprefix('gguf:')}{kv}"
        yield assuming(say("{model} in {format}", model=result.model.rpartition("/")[2], format=form))


def _figures(plan: Plan, *, prompt_tok: float | None) -> dict[str, Any]:
    figures = {name: estimate.value for name, estimate in plan.figures.items()}
    days = figures.get("days")
    made = {"audio_h": figures.get("audio_h_per_h", 0.0)}
    made |= {
        name: figures.get(f"{name}_per_s", 0.0) * SECONDS_PER_H for name in ("images", "videos", "texts")
    }
    unit = next((name for name, count in made.items() if count), "")
    return {
        "unit": unit,
        "units_per_h": made.get(unit, 0.0),
        "power_w": plan.figures.get("power_w"),
        "output_tok_per_s": figures.get("output_tok_per_s"),
        "prompt_tok_per_s": figures.get("requests_per_s", 0.0) * (prompt_tok or 0.0),
        "run_h": None if days is None else days * HOURS_PER_DAY,
    }


def _of_run(run: PlannedRun, *, wish: PlanWish) -> Asset:
    """The first plan of what `plan --json` printed; what its wish says holds unless it is said again."""
    from rigright.verbs.ordering import host_in, node_in, paid_node
    from rigright.verbs.runs.planned import count_of, estimate_in, planned_usd

    plain = PlanWish()
    fields: dict[str, Any] = {}
    for name in KEPT:
        value, usual = run.wish.get(name), getattr(plain, name)
        alike = isinstance(value, str) if isinstance(usual, str) or name == "place" else _is_number(value)
        if alike and getattr(wish, name) == usual:
            fields[name] = value
    chip, count, nodes = (
        str(run.plan.get("chip")),
        count_of(run.plan.get("n_chips")),
        count_of(run.plan.get("n_nodes")),
    )
    machine = (
        f"{nodes} nodes of {count // nodes}x {chip}"
        if nodes > 1 and count % nodes == 0
        else f"{count}x {chip}"
    )
    if "+" in chip or " + " in (run.machine or "") or chip.startswith(CPU_ID):
        machine = run.machine or chip
    output, requests, days = (run.figure(name) for name in ("output_tok_per_s", "requests_per_s", "days"))
    power, supply = run.figure("power_w"), run.plan.get("supply")
    how = supply.get("how") if isinstance(supply, dict) else None
    prompt_tok, cards_usd = run.wish.get("prompt_tok"), planned_usd(run.plan, run.wish, wish=wish)
    wish = replace(wish, **fields, used=wish.used or run.wish.get("used") is True)
    named = node_in(run.plan.get("machine"))
    node = paid_node(run.plan, run.wish)
    if node is None:
        node = named if named is not None and named.is_mixed else find_node(machine)
    return Asset(
        node=replace(node, host=node.host or host_in(run.wish.get("on"))),
        wish=wish,
        stored=_stored(run),
        is_there=how == "own",
        cards_usd=cards_usd,
        host_usd=None
        if cards_usd is None or not isinstance(supply, dict)
        else estimate_in(supply.get("host_usd")),
        used=isinstance(supply, dict) and supply.get("used") is True,
        model=run.model,
        power_w=None if power is None else Estimate(value=power[0], low=power[1], high=power[2]),
        output_tok_per_s=None if output is None else output[0],
        prompt_tok_per_s=requests[0] * float(prompt_tok or 0)
        if requests is not None and _is_number(prompt_tok)
        else 0.0,
        run_h=None if days is None else days[0] * HOURS_PER_DAY,
    )


def _stored(run: PlannedRun) -> Stored:
    """What its disks hold, by the parameters and the tokens in the file."""
    params, tokens, work = run.params, run.wish.get("train_tok"), run.wish.get("work")
    return stored_of(
        float(params) if _is_count(params) else 0.0,
        work=work if isinstance(work, str) else None,
        train_tok=float(tokens) if _is_count(tokens) else None,
    )


def _is_count(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < GIGA * TERA


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < GIGA

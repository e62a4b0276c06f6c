"""What `cost` found: ways to have a machine for years, each with what is paid when."""

from __future__ import annotations

from rigright.base.record import dataclass
from rigright.base.units import KILO, MEGA
from rigright.base.words import Sentence
from rigright.cost.estimate import Estimate, added, scaled
from rigright.demand import CostWish, PlanWish
from rigright.facts.tariffs import KwhPrice
from rigright.money.lifetime import Ledger, Payback, Term
from rigright.money.tariff import Tariff

OWN, BUY, REPLACE = "own", "buy", "replace"
RENT, SPOT, RESERVED, API = "rent", "spot", "reserved", "api"


@dataclass(frozen=True, slots=True, kw_only=True)
class CostWay:
    """One way to have the work done."""

    kind: str
    label: str  # who rents it out, or what is bought in its place
    years: float | None = None  # of a contract; of a machine that is replaced, until then
    ledger: Ledger
    payback: Payback | None = None  # of buying, against this way
    chance: float | None = None  # that buying costs less over all the years, the machine sold at their end
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldWay:
    """One way to have the machine, with what its work comes to."""

    way: CostWay
    costed: Costed

    TOLD = """
        kind=way.kind name! label=way.label years=way.years
        up_front_usd=first.upfront  # paid at the start
        monthly_usd=first.monthly  # by what it is for: `power`, `idle`, `rent`, `space`
        resale_usd=way.ledger.resale  # what the machine brings at the end
        total_usd=way.ledger.total  # over all the years
        usd_per_mtok usd_per_run payback=way.payback
        buy_is_cheaper=way.chance paid_usd as_of=way.as_of stale=way.stale
        currency=way.currency source=way.source
    """

    @property
    def first(self) -> Term:
        """The first of its stretches."""
        return self.way.ledger.terms[0]

    @property
    def usd_per_mtok(self) -> Estimate | None:
        """For a million output tokens, prompts and all."""
        return self.costed.usd_per_mtok(self.way)

    @property
    def usd_per_run(self) -> Estimate | None:
        """For one training run."""
        return self.costed.usd_per_run(self.way)

    @property
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
    boxes: int  # machines that hold them
    wish: PlanWish  # what was asked
    spend: CostWish  # what else is paid
    ways: tuple[CostWay, ...]  # the machine bought first, where its price is known
    cards: Estimate | None  # to buy
    host: Estimate | None  # the machine around the cards, to buy
    used: bool  # whether the cards are bought used
    power_w: Estimate  # while it works
    idle_w: float  # while it waits
    duty: float  # share of the time it works
    tariff: Tariff
    carbon: KwhPrice | None
    output: Output | None  # what it makes of a model
    worth: tuple[Estimate, ...] = ()  # of the machine after each year, from today on
    notes: tuple[Sentence, ...] = ()  # what was assumed, and what to know
    asked: str = ""

    TOLD = """
        machine n_chips n_paid wish spend verdict! months cards_usd=cards host_usd=host used worth_usd=worth
        power_w idle_w duty usd_per_kwh=tariff.usd_per_kwh pue=tariff.pue kwh_per_month carbon_kg
        output ways=told_ways notes
    """

    @property
    def months(self) -> float:
        """How long."""
        return self.wish.years * 12

    @property
    def kwh_per_month(self) -> float:
        """At the meter: the building included."""
        from rigright.money.lifetime import HOURS_PER_MONTH

        drawn = self.power_w.value * self.duty + self.idle_w * (1 - self.duty)
        return drawn / KILO * HOURS_PER_MONTH * self.tariff.pue

    @property
    def carbon_kg(self) -> float | None:
        """Over all the years."""
        return None if self.carbon is None else self.carbon.value / KILO * self.kwh_per_month * self.months

    @property
    def told_ways(self) -> tuple[ToldWay, ...]:
        """The ways, each with what its work comes to."""
        return tuple(ToldWay(way=way, costed=self) for way in self.ways)

    def way(self, kind: str) -> CostWay | None:
        """The first way of a kind."""
        return next((way for way in self.ways if way.kind == kind), None)

    @property
    def own(self) -> CostWay | None:
        """The machine itself: as it is there, or bought."""
        return self.way(OWN) or self.way(BUY)

    @property
    def other(self) -> CostWay | None:
        """What it is held against first: the cheapest that lasts, else hours that may end at any moment."""
        lasting = [way for way in self.ways if way.kind in {RENT, RESERVED, API}]
        return min(lasting, key=lambda way: way.ledger.total.value, default=self.way(SPOT))

    def usd_per_mtok(self, way: CostWay) -> Estimate | None:
        """For a million output tokens, prompts and all."""
        made = None if self.output is None else self.output.output_tok
        return scaled(way.ledger.total, MEGA / (made * self.months)) if made else None

    def usd_per_run(self, way: CostWay) -> Estimate | None:
        """For one training run: its share of the hours that the machine works."""
        from rigright.money.lifetime import HOURS_PER_MONTH

        hours = None if self.output is None else self.output.run_h
        worked = self.months * HOURS_PER_MONTH * self.duty
        return scaled(way.ledger.total, hours / worked) if hours else None

    @property
    def up_front(self) -> Estimate | None:
        """To buy it."""
        return None if self.cards is None else added([one for one in (self.cards, self.host) if one])

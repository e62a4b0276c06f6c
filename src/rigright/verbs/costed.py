"""What `cost` found: ways to have a machine for years, each with what is paid when."""

from __future__ import annotations

from collections.abc import Mapping

from rigright.base.record import Flat, Inner, dataclass, derived
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

"""Renting: the cheapest offer that has what is needed, by the hour or by contract."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from datetime import date
from functools import cache

from rigright.base.loader import records
from rigright.base.record import dataclass
from rigright.base.units import GIGA
from rigright.cost.estimate import Estimate
from rigright.facts.chips import by_id
from rigright.facts.clouds import Offer
from rigright.money.prices import price_width

BOX = 8  # chips of an instance that may be joined with others for one replica
SIZES = (1, 2, 4, BOX, BOX + 1)  # of replicas, up to which prices are told; the last: joined instances
NETWORK_BYTES_PER_S = 12.5 * GIGA  # that joined instances need at least: 100 Gbit/s


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """So many of one offer."""

    offer: Offer
    units: int
    machines: int
    n_chips: int  # that are paid for
    usd_per_h: Estimate

    @property
    def label(self) -> str:
        """What is rented: "aws p5.48xlarge", "autodl 2x RTX 4090"."""
        if self.offer.most_chips:
            return f"{self.offer.provider} {self.units}x {self.offer.instance}"
        times = "" if self.units == 1 else f"{self.units}x "
        return f"{times}{self.offer.provider} {self.offer.instance}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What a provider asks of those who commit themselves: a share of its price on demand."""

    provider: str
    years: float
    share_low: float
    share: float
    share_high: float
    as_of: str
    source: str
    confidence: str
    notes: str | None


@cache
def contracts() -> tuple[Contract, ...]:
    """Every contract of the table, in its order."""
    return records("reserved.csv", Contract)


def chips_of(offer: Offer) -> int:
    """Devices of an instance, as its driver shows them."""
    return int(offer.n_chips) * (by_id()[offer.chip].devices if offer.chip else 1)


def price_of(offer: Offer, *, spot: bool) -> float | None:
    """Dollars for an hour of one instance."""
    return offer.spot_usd_per_h if spot else offer.usd_per_h


def holds(offer: Offer, replica: int) -> bool:
    """Whether a replica stands in one instance, or in several that a fast network joins."""
    joined = (offer.network_bytes_per_s or 0.0) >= NETWORK_BYTES_PER_S and chips_of(offer) >= BOX
    return (offer.most_chips or chips_of(offer)) >= replica or joined


def cheapest(
    offers: Iterable[Offer], n_chips: int, *, today: date, spot: bool = False, replica: int = 1
) -> Lease | None:
    """The cheapest way to rent so many chips; None where nobody does."""
    size = SIZES[bisect_left(SIZES[:-1], replica)]
    pairs: list[tuple[float, Offer]] = []
    for offer in offers:
        price = price_of(offer, spot=spot)
        if price and holds(offer, size):
            pairs.append((-(-n_chips // chips_of(offer)) * price, offer))
    if not pairs:
        return None
    usd, offer = min(pairs, key=lambda pair: pair[0])
    units = -(-n_chips // chips_of(offer))
    width = price_width(offer.as_of, today, own=offer.is_own)
    return Lease(
        offer=offer,
        units=units,
        machines=-(-n_chips // (offer.most_chips or chips_of(offer))),
        n_chips=units * chips_of(offer),
        usd_per_h=Estimate(
            value=usd, low=usd * (1 - width), high=usd * (1 + width),
            mark="stated", as_of=offer.as_of, why=offer.source,
        ),
    )  # fmt: skip


def reserved(
    offers: Iterable[Offer], n_chips: int, *, today: date, years: float, replica: int = 1
) -> Iterator[tuple[Contract, Lease]]:
    """The cheapest contract of each length that is no longer than so many years."""
    offers = tuple(offers)
    best: dict[float, tuple[Contract, Lease]] = {}
    for contract in contracts():
        if contract.years > years:
            continue
        own = [offer for offer in offers if offer.provider == contract.provider]
        lease = cheapest(own, n_chips, today=today, replica=replica)
        if lease is None:
            continue
        known = best.get(contract.years)
        if known is None or _paid(contract, lease) < _paid(*known):
            best[contract.years] = contract, lease
    yield from best.values()


def _paid(contract: Contract, lease: Lease) -> float:
    return contract.share * lease.usd_per_h.value

"""Cost per hour of owning and of power, and dollars per 1M tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from rigright.base.money import USD, currency_of, from_currency
from rigright.base.record import dataclass
from rigright.base.units import KILO, MEGA, to_gib
from rigright.base.words import Sentence
from rigright.cost.estimate import Estimate, scaled
from rigright.demand import Numbers, PlanWish
from rigright.facts.chips import Chip
from rigright.facts.cpus import cpus
from rigright.facts.hosts import CPU, Host
from rigright.facts.prices import Need, hosts
from rigright.money.prices import assumptions, cpu_usd, part_usd, ram_usd
from rigright.terms.fitted import pue_of

if TYPE_CHECKING:
    from rigright.facts.tariffs import KwhPrice

HOURS_PER_YEAR = 365.25 * 24
SECONDS_PER_H = 3600
NO_HOST = Estimate(value=0.0, low=0.0, high=0.0, mark="stated")  # of what is sold as a whole machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """What an owner pays for an hour, beside the machine."""

    usd_per_kwh: float
    pue: float  # power of the building over power of the machine
    years: float  # a machine is written off over
    duty: float  # share of the time it works


def tariff_of(segment: str, *, wished: Mapping[str, float | None]) -> Tariff:
    """The tariff somebody wished, with the table's assumption where nothing was said."""
    table = assumptions()
    return Tariff(
        usd_per_kwh=_given(wished.get("usd_per_kwh"), table["tariff_usd_per_kwh"]),
        pue=_given(wished.get("pue"), pue_of(table["places"].get(segment, "datacenter"))),
        years=_given(wished.get("years"), 3.0),
        duty=_given(wished.get("duty"), 1.0),
    )


def tariff_in(wish: PlanWish, segment: str) -> Tariff:
    """The tariff of a wish: as it was said, else that of the place that was named, or of the currency."""
    wished = {"usd_per_kwh": wish.tariff_usd_per_kwh, "pue": wish.pue, "years": wish.years, "duty": wish.duty}
    place = wish.place or currency_of(wish.currency).place
    if wish.tariff_usd_per_kwh is None and place is not None:
        pair = local_tariff(place, segment, customer=wish.customer)
        if pair is not None:
            price = pair[0]
            wished["usd_per_kwh"] = from_currency(price.value, price.currency or USD)
    return tariff_of(segment, wished=wished)


def local_tariff(
    place: str, segment: str, *, customer: str | None = None
) -> tuple[KwhPrice, Sentence | None] | None:
    """What a kWh costs at a place, for a home or for a company as such cards stand in one."""
    from rigright.facts.tariffs import find_place, tariff_at

    stands = customer or assumptions()["places"].get(segment, "datacenter")
    return tariff_at(find_place(place), company=stands != "home")


def _given(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


def host_usd(chip: Chip, n_chips: int, *, today: date | None = None, host: Host | None = None) -> Estimate:
    """The machines around so many chips: full ones, and the smallest that holds the rest; 0 where none is.

    `host`: what somebody said of processor and memory, instead of what such a machine usually has.
    """
    around = chip.around if chip.vendor != CPU else "desktop"
    if host is not None and host.cpu.segment == "mobile":
        around = "mini"
    if around is None or not n_chips:
        return NO_HOST
    return _hosts_usd(around, -(-n_chips // chip.devices), today=today, host=host)


@cache
def _hosts_usd(around: str, cards: int, *, today: date | None, host: Host | None) -> Estimate:
    sizes = [host_parts for host_parts in hosts() if host_parts.around == around]
    full, rest = divmod(cards, sizes[-1].cards)
    boxes = [(sizes[-1], full)] if full else []
    boxes += [(next(host_parts for host_parts in sizes if host_parts.cards >= rest), 1)] if rest else []
    parts = [(part, count) for box, count in boxes for part in _parts_usd(box.parts, host, today=today)]
    return Estimate(
        value=sum(part.value * count for part, count in parts),
        low=sum(part.low * count for part, count in parts),
        high=sum(part.high * count for part, count in parts),
        mark="stated", as_of=boxes[0][0].as_of, why=boxes[0][0].source,
    )  # fmt: skip


def _parts_usd(needs: Sequence[Need], host: Host | None, *, today: date | None) -> Iterator[Estimate]:
    """Each part of one host; processor, board and memory as they were said."""
    row = None
    if host is not None and "cpu" not in host.assumed:
        row = next((cpu_model for cpu_model in cpus() if cpu_model.name == host.cpu.name), None)
    for need in needs:
        estimate = None
        if host is not None and need.kind == "ram" and "ram" not in host.assumed:
            serves = host.cpu.segment == "server"
            estimate = ram_usd(host.ram_kind, registered=serves, gb=to_gib(host.ram_bytes), today=today)
        elif host is not None and row is not None and need.kind == "cpu":
            item = None if today is None else cpu_usd(row, today)
            estimate = None if item is None else scaled(item, host.sockets)
        elif row is not None and need.kind == "board" and not need.variant.startswith(row.socket.lower()):
            estimate = part_usd("board", row.socket.lower().partition(" ")[0], today=today)
        estimate = estimate or part_usd(need.kind, need.variant, size=need.size, today=today)
        if estimate is not None:
            yield estimate


def write_off_usd_per_h(usd: Numbers, tariff: Tariff) -> Numbers:
    """What a bought machine costs for each hour it works."""
    return usd / (tariff.years * HOURS_PER_YEAR * tariff.duty)


def power_usd_per_h(power_w: Numbers, tariff: Tariff) -> Numbers:
    """What an hour of work draws, the building included."""
    return power_w / KILO * tariff.pue * tariff.usd_per_kwh


def usd_per_mtok(usd_per_h: Numbers, tok_per_s: Numbers) -> Numbers:
    """Dollars for a million tokens at so many tokens a second."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return usd_per_h / (np.asarray(tok_per_s, dtype=float) * SECONDS_PER_H) * MEGA

"""What a machine costs: its cards, and all that stands around them. The one home of both.

`build` orders machines line by line, and `data/orders.csv` keeps what it orders around cards of a kind, so a
search prices by the same lines. What cannot be ordered so is taken as such machines usually are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Protocol

from rigright.base.record import dataclass, replace
from rigright.base.units import TERA
from rigright.cost.estimate import Estimate, added, scaled
from rigright.facts.chips import Chip
from rigright.facts.cpus import cpus
from rigright.facts.host_words import ram_hosts
from rigright.facts.hosts import CPU, Host
from rigright.facts.prices import OrderLine, orders
from rigright.facts.units import devices_of
from rigright.money.prices import cpu_usd, part_usd
from rigright.money.tariff import host_usd

if TYPE_CHECKING:
    from rigright.facts.parts import PartKind

SIZES_TB = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_STATE_BYTES, _KEPT, _TOKEN_BYTES = 14.0, 3, 2.0  # of a parameter in a checkpoint; checkpoints; of a token
_WEIGHT_BYTES = 2.0  # of a parameter as it is published
TRAINS = frozenset({"finetune", "pretrain"})
Cards = tuple[tuple[str, int], ...]  # ids of chips and devices, of one machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What the disks of a machine hold."""

    weights_bytes: float = 0.0
    data_bytes: float = 0.0  # data sets and checkpoints


NOTHING = Stored()
BILL = "a bill of its parts, each at its price: `rigright build`"


class Listed(Protocol):
    """A part whose own row states its price."""

    @property
    def usd_low(self) -> float | None:
        """At least."""

    @property
    def usd_high(self) -> float | None:
        """At most."""

    @property
    def as_of(self) -> str | None:
        """When."""


class Ordered(Protocol):
    """Puts machines together of which somebody said more than their cards."""

    @property
    def host(self) -> Host | None:
        """Processor and memory of a PC that is there."""

    @property
    def is_bound(self) -> bool:
        """Whether what stands around cards is decided by more than the cards."""

    def stands(self, chips: Sequence[tuple[Chip, int]], *, boxes: int) -> bool:
        """Whether machines alike, each with so many devices, can stand where they shall."""

    def __call__(
        self, cards: Cards, machines: int, *, host: Host | None, stored: Stored, today: date
    ) -> Estimate | None:
        """What stands around the cards of them all; None where none can be put together."""


def stored_of(params: float, *, work: str | None, train_tok: float | None) -> Stored:
    """What a model's work stores."""
    kept = _KEPT * _STATE_BYTES * params + _TOKEN_BYTES * (train_tok or 0.0) if work in TRAINS else 0.0
    return Stored(weights_bytes=_WEIGHT_BYTES * params, data_bytes=kept)


def disks_tb(stored: Stored, *, more: float = 1.0) -> Iterator[tuple[str, float]]:
    """Sizes in TB: the system with a copy of the weights, data and checkpoints, scratch."""
    for kind, size in (
        ("system", max(1 / 1.5 * TERA, 1.5 * stored.weights_bytes)),
        ("data", stored.data_bytes),
        ("scratch", stored.data_bytes / 4),
    ):
        if size > 0 and (kind != "scratch" or size > TERA / 4):
            wished = more * 1.5 * size / TERA
            yield kind, next((value for value in SIZES_TB if value >= wished), math.ceil(wished / 32) * 32.0)


def disk_of(size_tb: float) -> OrderLine:
    """A disk of an order."""
    return OrderLine(kind="disk", variant="nvme-gen4", size=size_tb)


def network_of(n_cards: int) -> PartKind:
    """What joins desks that work as one."""
    from rigright.facts.parts import parts

    return next(
        part_kind for part_kind in parts("nic") if part_kind.id == ("nic-100g" if n_cards >= 2 else "nic-25g")
    )


def own_line(kind: str, part: Listed, *, count: int = 1) -> OrderLine:
    """A line of a part whose own row states its price."""
    return OrderLine(kind=kind, count=count, low=part.usd_low, high=part.usd_high, as_of=part.as_of)


@cache
def line_usd(line: OrderLine, today: date) -> Estimate | None:
    """What a line costs; None where nobody knows."""
    if line.low is not None and line.high is not None:
        middle = (line.low + line.high) / 2
        estimate = Estimate(value=middle, low=line.low, high=line.high, mark="stated", as_of=line.as_of)
        return scaled(estimate, line.count)
    row = next((row for row in cpus() if row.name == line.variant), None) if line.kind == "cpu" else None
    priced = part_usd(line.kind, line.variant, size=line.size, today=today)
    result = priced if row is None else cpu_usd(row, today)
    return None if result is None else scaled(result, line.count)


def around_usd(
    chips: tuple[tuple[Chip, int], ...], *, boxes: int, today: date, host: Host | None = None,
    stored: Stored = NOTHING, ordered: Ordered | None = None,
) -> Estimate:  # fmt: skip
    """All that stands around cards in machines alike; `chips`: each kind with its devices in one of them.

    `host`: what somebody said of processor and memory; `ordered` puts such a machine together.
    """
    chip, count = chips[0]
    bound = ordered is not None and ordered.is_bound
    listed = None if host is None or len(chips) > 1 or bound else ram_hosts().get(host)
    if listed is not None:  # one of few that are bought so: the same order, kept
        known = _order_usd(
            chip.id, count // devices_of(chip), boxes=boxes, stored=stored, today=today, host=listed
        )
        if known is not None:
            return scaled(known, boxes)
    is_said = host is not None and not {"cpu", "ram"} <= set(host.assumed)
    if ordered is not None and (bound or is_said or len(chips) > 1 or chip.vendor == CPU):
        cards = tuple((item.id, each) for item, each in chips if item.vendor != CPU)
        made = ordered(cards, boxes, host=host, stored=stored, today=today)
        if made is not None:
            return replace(made, why=BILL)
    n_devices = sum(each for _, each in chips)
    plain = (
        None
        if is_said or len(chips) > 1
        else _order_usd(chip.id, count // devices_of(chip), boxes=boxes, stored=stored, today=today)
    )
    return scaled(plain or host_usd(chip, n_devices, today=today, host=host), boxes)


@cache
def _order_usd(
    chip: str, cards: int, *, boxes: int, stored: Stored, today: date, host: str = ""
) -> Estimate | None:
    """What stands around cards of one kind in one of so many machines."""
    lines = orders(host).get((chip, cards))
    if lines is None:
        return None
    more = [disk_of(size) for _, size in disks_tb(stored)]
    if boxes > 1 and all(line.kind != "chassis" for line in lines):
        more.append(own_line("nic", network_of(cards)))
    whole = added([usd for line in (*lines, *more) if (usd := line_usd(line, today)) is not None])
    return replace(whole, why=BILL)

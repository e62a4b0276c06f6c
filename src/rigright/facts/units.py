"""Units: in which numbers chips are sold, and how many of them one machine holds."""

from __future__ import annotations

from functools import cache

from rigright.base.loader import records
from rigright.base.record import dataclass
from rigright.facts.chips import Chip, by_id
from rigright.facts.clouds import offers

OTHER = "other"  # chips that no row is about
MOST_BOX = 72  # chips that are looked at as one box, however far a pod of them reaches


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """How chips are sold; counts are of chips, each of which may show as several devices."""

    of: str  # id of a chip, or how its form begins
    sold: tuple[int, ...]  # on one board or as one machine, the fewest first
    node: int  # under one operating system, as such machines usually are
    most: int = 0  # in the largest such machine, where that is another
    source: str
    as_of: str
    confidence: str
    notes: str | None


@cache
def _rows() -> dict[str, Units]:
    return {units.of: units for units in records("chip_units.csv", Units)}


def units_of(chip: Chip) -> Units:
    """The row of a chip, else of the longest beginning of its form."""
    return _units_of(chip.id, chip.form)


@cache
def _units_of(chip: str, form: str) -> Units:
    rows = _rows()
    begins = sorted((name for name in rows if form.startswith(name)), key=len)
    return rows[chip if chip in rows else begins[-1] if begins else OTHER]


def devices_of(chip: Chip) -> int:
    """The devices that a driver shows for one chip, also of a chip that stands for one of them."""
    return by_id().get(chip.id, chip).devices


def sold_count(chip: Chip, n_chips: int) -> int:
    """The fewest devices that are sold and hold so many; none are needed of none."""
    if n_chips <= 0:
        return 0
    each, sold = devices_of(chip), units_of(chip).sold
    cards = -(-n_chips // each)
    number = next((item for item in sold if item >= cards), -(-cards // sold[-1]) * sold[-1])
    return number * each


def box_of(chip: Chip) -> int:
    """Devices that stand in one box: a machine, or a rack of machines that one fabric joins."""
    node = units_of(chip).node * devices_of(chip)
    return max(node, min(chip.link_max_chips or 0, MOST_BOX))


def fills_boxes(chip: Chip, n_chips: int) -> bool:
    """Whether so many devices stand in boxes alike: of boards each holds as many as are sold on one."""
    each, rest = divmod(n_chips, max(-(-n_chips // box_of(chip)), 1))
    return units_of(chip).sold[0] == 1 or (not rest and sold_count(chip, each) == each)


def node_of(chip: Chip | None) -> int:
    """Devices under one operating system; None: of any chip."""
    return _rows()[OTHER].node if chip is None else units_of(chip).node * devices_of(chip)


def most_in_node(chip: Chip | None) -> int:
    """Devices of the largest machine there is, a cloud's included; None: of any chip."""
    if chip is None:
        return _rows()[OTHER].most
    rented = _largest_rented().get(chip.id, 0)
    return max(units_of(chip).most, units_of(chip).node, rented) * devices_of(chip)


@cache
def _largest_rented() -> dict[str, int]:
    counts: dict[str, int] = {}
    for offer in offers():
        if offer.chip is not None:
            number = offer.most_chips or int(offer.n_chips)
            counts[offer.chip] = max(number, counts.get(offer.chip, 0))
    return counts


def boxes_of(chip: Chip, n_chips: int) -> tuple[int, int]:
    """Devices of a box and boxes, alike, that so many devices stand in: as few as there can be."""
    each = devices_of(chip)
    if n_chips <= max(units_of(chip).most * each, box_of(chip)):
        return n_chips, 1
    number = next(item for item in range(box_of(chip), 0, -1) if n_chips % item == 0 and item % each == 0)
    return number, n_chips // number

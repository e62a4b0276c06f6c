"""Writes `src/rigright/data/orders.csv`: what `build` puts around cards of every chip.

    python scripts/order_table.py

Minutes. `tests/agreement/test_one_price.py` holds the table to what `build` orders.
"""

from __future__ import annotations

import csv
from datetime import date

from rigright.base.tables import DATA
from rigright.build.proposals.propose import propose
from rigright.build.proposals.record import BuildWish, recommended
from rigright.facts.chips import Chip, chips
from rigright.facts.hosts import CPU
from rigright.facts.units import units_of

DISKS = frozenset({"system", "data", "scratch"})
DAY = date(2026, 11, 25)  # which parts are taken hangs on their price, not on its age


def counts_of(chip: Chip) -> tuple[int, ...]:
    """Cards of one machine that a row is for."""
    units = units_of(chip)
    return tuple(range(1, 9)) if units.sold == (1,) else units.sold


def order_of(chip: Chip, count: int) -> str | None:
    """The lines around so many; None where `build` knows no such machine, or nothing of its price."""
    made = recommended(propose(BuildWish(cards=((chip.id, count),)), today=DAY).variants)
    if made is None or not made.is_ordered or made.machines > 1:
        return None
    lines = (item.line for item in made.items if item.kind not in DISKS)
    return "; ".join(line.written for line in lines if line is not None)


def main() -> None:
    """Each order once, with all cards it is for."""
    found: dict[str, dict[str, list[int]]] = {}
    for chip in chips():
        if chip.vendor == CPU or chip.around is None:
            continue
        for count in counts_of(chip):
            order = order_of(chip, count)
            if order:
                found.setdefault(order, {}).setdefault(chip.id, []).append(count)
    with (DATA / "orders.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("cards", "lines"))
        for order, cards in found.items():
            told = (" ".join([chip, *map(str, counts)]) for chip, counts in cards.items())
            writer.writerow(("; ".join(told), order))


if __name__ == "__main__":
    main()

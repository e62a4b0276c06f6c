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
from rigright.facts.host_words import ram_hosts
from rigright.facts.hosts import CPU, Host
from rigright.facts.units import units_of
from rigright.verbs.ordering import beside

DESK = frozenset({"consumer", "workstation"})
DISKS = frozenset({"system", "data", "scratch"})
DAY = date(2026, 11, 25)  # which parts are taken hangs on their price, not on its age


def counts_of(chip: Chip) -> tuple[int, ...]:
    """Cards of one machine that a row is for."""
    units = units_of(chip)
    return tuple(range(1, 9)) if units.sold == (1,) else units.sold


def order_of(chip: Chip, count: int, host: Host | None = None) -> str | None:
    """The lines around so many; None where `build` knows no such machine, or nothing of its price."""
    wish = beside(host, BuildWish(cards=((chip.id, count),)))
    made = recommended(propose(wish, today=DAY).variants)
    if made is None or not made.is_ordered or made.machines > 1:
        return None
    lines = (item.line for item in made.items if item.kind not in DISKS)
    return "; ".join(line.written for line in lines if line is not None)


def main() -> None:
    """Each order once, with all cards it is for."""
    found: dict[tuple[str, str], dict[str, list[int]]] = {}
    for chip in chips():
        if chip.vendor == CPU or chip.around is None:
            continue
        asked: list[tuple[str, Host | None, int]] = [("", None, count) for count in counts_of(chip)]
        if chip.segment in DESK and counts_of(chip)[0] == 1:
            asked += [(words, host, 1) for host, words in ram_hosts().items()]
        for words, host, count in asked:
            order = order_of(chip, count, host)
            if order:
                found.setdefault((words, order), {}).setdefault(chip.id, []).append(count)
    with (DATA / "orders.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("host", "cards", "lines"))
        places = {"": 0} | {words: place for place, words in enumerate(ram_hosts().values(), 1)}
        for (words, order), cards in sorted(found.items(), key=lambda item: places[item[0][0]]):
            told = (" ".join([chip, *map(str, counts)]) for chip, counts in cards.items())
            writer.writerow((words, "; ".join(told), order))


if __name__ == "__main__":
    main()

"""Disks: NVMe where SATA or turning disks hold the data, a newer generation where NVMe is slow."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import GIGA
from rigright.base.words import say
from rigright.build.change import Change, Fit, Standing, part_usd
from rigright.facts.fabrics import pcie_bytes_per_s
from rigright.facts.parts import PartKind, parts

_USUAL = {"hdd": 0.2 * GIGA, "ssd": 0.55 * GIGA, "nvme": 3.4 * GIGA, "virtual": GIGA}
_LEAST_FASTER = 1.3


def propose(standing: Standing) -> Iterator[Change]:
    """The faster disk that is there; every NVMe disk that reads much faster than the slowest."""
    rates = [_USUAL[kind] for kind in standing.disk_kinds or () if kind in _USUAL]
    now = standing.disk_bytes_per_s or min(rates, default=None)
    if now is None:
        return
    if standing.disk_bytes_per_s is None and max(rates) / now >= _LEAST_FASTER:
        # nothing is bought while a faster disk stands beside the slow one
        yield Change(
            kind="disk",
            title=say("move the data to the faster disk already installed"),
            helps={"disk": max(rates) / now},
            usd=None,
            fits=(Fit(says=say("free space for the data"), holds=None),),
            command="rigright bench disk",
            source="what disks of these kinds usually read",
        )
    for part in parts("nvme"):
        rate = _in_slot(part, standing.slot_gen)
        if rate / now >= _LEAST_FASTER:
            yield Change(
                kind="disk",
                title=say("{part} for the data", part=part.name),
                helps={"disk": rate / now},
                usd=part_usd(part),
                fits=(Fit(says=say("free M.2, U.2 or x4 PCIe slot"), holds=None),),
                more_w=part.power_w,
                command="rigright bench disk",
                source=part.source,
            )


def _in_slot(part: PartKind, gen: int | None) -> float:
    """What it reads in the slots of this machine."""
    rate = part.rate or 0.0
    if gen is None or part.needs_gen is None or gen >= part.needs_gen:
        return rate
    return min(rate, pcie_bytes_per_s(gen, part.needs_lanes or 4))

"""Network cards by model and board: ports, rate; and the counters of their ports, with width and limit."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from rigright.base.loader import records
from rigright.base.record import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NicModel:
    """A card, or one board of it where the board's number is known."""

    type: str | None  # as its driver tells it: "MT4129"
    board: str | None  # "MT_0000000838"
    pci: str | None  # "15b3:1021"
    name: str
    ports: int
    bytes_per_s: float  # the most of one port
    counters: str  # "pma": as wide as InfiniBand has them; "own": 64 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class PortCounter:
    """An error counter of a port: how far it counts, and how fast a sound port lets it grow."""

    name: Annotated[str, "counter"]
    kinds: tuple[str, ...]  # of ports
    bits: int
    per_hour: float
    least: int  # so few say nothing
    weight: str  # "wear": cable or transceiver; "link": it went down; "flow": the way is jammed

    def is_full(self, count: int, *, nic: NicModel | None) -> bool:
        """Whether it stands where it can count no further, so that it says nothing any more."""
        return (nic is None or nic.counters == "pma") and count == 2**self.bits - 1


def nic_of(*, model: str | None = None, board: str | None = None, pci: str | None = None) -> NicModel | None:
    """The card: by its board, else by its model, else by its number on the bus."""
    rows = nics()
    by_board = next((nic_model for nic_model in rows if board and nic_model.board == board), None)
    plain = [nic_model for nic_model in rows if nic_model.board is None]
    by_type = next((nic_model for nic_model in plain if model and nic_model.type == model), None)
    return (
        by_board or by_type or next((nic_model for nic_model in plain if pci and nic_model.pci == pci), None)
    )


@cache
def nics() -> tuple[NicModel, ...]:
    """Every row."""
    return records("nics.csv", NicModel)


@cache
def port_counters() -> tuple[PortCounter, ...]:
    """Every row, in its order."""
    return records("port_counters.csv", PortCounter)

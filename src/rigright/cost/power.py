"""Watts of chips and machines by how much of them is in use.

Chips are named in their order; every figure is a number or an array with one entry a chip (or a plan).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rigright.base.record import dataclass
from rigright.demand import Numbers
from rigright.facts.chips import Chip
from rigright.facts.classes import terms_of
from rigright.facts.corrections import corrections

SUBJECT = "power"
SERVER_CARDS = 8  # of a server whose cards are rented out one by one
MODULES = ("SXM", "OAM")  # forms of chips that stand on a board of their own kind, in servers made for them


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """How much is in use: shares of the stated rates, from nothing to one."""

    compute: Numbers
    memory: Numbers
    duty: Numbers = 1.0  # share of the time that the chip works at all


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """Watts with the band that four of five measured runs should lie in."""

    value: Numbers
    low: Numbers
    high: Numbers


def busy_in(phase: str) -> Busy:
    """What a phase usually keeps in use: "idle", "decode", "serve", "prefill", "training", "image"."""
    found = corrections(SUBJECT)["phases"][phase]
    return Busy(compute=found["compute"], memory=found["memory"])


def draw_w(chips: Sequence[Chip], busy: Busy) -> Draw:
    """Watts of each chip. nan: nobody says what it is rated."""
    terms = [terms_of(corrections(SUBJECT)["chips"], chip) for chip in chips]
    rated = np.array([chip.tdp_w if chip.tdp_w is not None else np.nan for chip in chips])
    idle, awake = rated * _column(terms, "idle"), rated * _column(terms, "awake")
    used = rated * (_column(terms, "compute") * busy.compute + _column(terms, "memory") * busy.memory)
    working = np.minimum(idle + awake + used, rated)
    value = idle + busy.duty * (working - idle)
    high = np.minimum(value * _column(terms, "high"), np.maximum(rated, value))
    return Draw(value=value, low=value * _column(terms, "low"), high=high)


def machine_w(chips: Sequence[Chip], drawn: Draw, *, count: Numbers = 1, boxes: Numbers = 1) -> Draw:
    """Watts at the wall of machines that hold `count` chips of a kind in `boxes` boxes."""
    return _around([_host(chip) for chip in chips], drawn, count=count, boxes=boxes)


def rented_w(chips: Sequence[Chip], drawn: Draw, *, count: Numbers = 1) -> Draw:
    """The same of cards that are rented: their share of a full server, and no machine of their own."""
    hosts = [_host(chip, served=True) for chip in chips]
    cards = np.array([1.0 if chip.unified_memory else SERVER_CARDS for chip in chips])
    return _around(hosts, drawn, count=count, boxes=count / cards)


def _around(hosts: Sequence[Mapping[str, float]], drawn: Draw, *, count: Numbers, boxes: Numbers) -> Draw:
    around = _column(hosts, "base_w") * boxes + _column(hosts, "share") * drawn.value * count
    return Draw(
        value=drawn.value * count + around,
        low=drawn.low * count + around * _column(hosts, "low"),
        high=drawn.high * count + around * _column(hosts, "high"),
    )


def pue_of(place: str) -> float:
    """What a building draws for each watt: "home", "office", "datacenter", "hyperscale"."""
    return float(corrections(SUBJECT)["pue"][place])


def _host(chip: Chip, *, served: bool = False) -> Mapping[str, float]:
    """What stands around a chip; `served`: in a data centre, whatever it is made for."""
    hosts: Mapping[str, Any] = corrections(SUBJECT)["hosts"]
    if chip.segment == "datacenter" and chip.form.startswith(MODULES):
        return dict(hosts["module"])
    name = "soc" if chip.unified_memory else "datacenter" if served else chip.segment
    return dict(hosts.get(name, hosts["consumer"]))


def _column(terms: Sequence[Mapping[str, float]], name: str) -> np.ndarray:
    return np.array([term[name] for term in terms], dtype=float)

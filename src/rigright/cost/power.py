"""Power of chips and machines by utilization.

Chips are named in order; every figure is a number or an array with one entry per chip, or one per plan
where `at` gives the place of each plan's chip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rigright.base.record import dataclass
from rigright.demand import Numbers
from rigright.facts.chips import Chip
from rigright.facts.hosts import CPU

SUBJECT = "power"
SERVER_CARDS = 8  # of a server whose cards are rented out one by one
BOARDS = frozenset({"baseboard", "used-baseboard"})  # hosts of chips on boards of their own kind


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerTerms:
    """Chips in their order, and what was fitted of the watts of such chips and hosts."""

    chips: tuple[Chip, ...]
    tables: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """How much is in use, from nothing to one."""

    compute: Numbers  # share of the time that computing at the rate that is reached would take
    work: Numbers  # share of the time that kernels compute or read, not wait for the host or for each other
    duty: Numbers = 1.0  # share of the time that the chip works at all


AT_REST = Busy(compute=0.0, work=0.0, duty=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """Watts with the band that four of five measured runs should lie in."""

    value: Numbers
    low: Numbers
    high: Numbers


def draw_w(power: PowerTerms, busy: Busy, *, at: Numbers | None = None) -> Draw:
    """Watts of each chip. nan: nobody says what it is rated."""
    terms = [chip.terms_in(power.tables["chips"]) for chip in power.chips]
    term = {name: _column(terms, name, at=at) for name in ("idle", "awake", "compute", "work", "low", "high")}
    rated = np.array([chip.tdp_w if chip.tdp_w is not None else np.nan for chip in power.chips])
    rated = rated if at is None else rated[at]
    used = term["awake"] + term["compute"] * busy.compute + term["work"] * busy.work
    working = rated * np.minimum(term["idle"] + used, 1.0)
    value = rated * term["idle"] + busy.duty * (working - rated * term["idle"])
    high = np.minimum(value * term["high"], np.maximum(rated, value))
    return Draw(value=value, low=value * term["low"], high=high)


def machine_w(
    power: PowerTerms, drawn: Draw, *, count: Numbers = 1, idle: Numbers = 0, boxes: Numbers = 1,
    at: Numbers | None = None,
) -> Draw:  # fmt: skip
    """Watts at the wall of machines that hold `count` chips of a kind, and `idle` ones, in `boxes` boxes."""
    cards = _together(drawn, draw_w(power, AT_REST, at=at), count=count, idle=idle)
    hosts = [_host(chip, power.tables["hosts"]) for chip in power.chips]
    return _around(hosts, cards, boxes=boxes, at=at)


def rented_w(
    power: PowerTerms, drawn: Draw, *, count: Numbers = 1, idle: Numbers = 0, at: Numbers | None = None
) -> Draw:
    """The same of cards that are rented: their share of a full server, and no machine of their own."""
    hosts = [_host(chip, power.tables["hosts"], served=True) for chip in power.chips]
    values = np.array([1.0 if chip.unified_memory else SERVER_CARDS for chip in power.chips])
    boxes = (count + idle) / (values if at is None else values[at])
    cards = _together(drawn, draw_w(power, AT_REST, at=at), count=count, idle=idle)
    return _around(hosts, cards, boxes=boxes, at=at)


def _together(drawn: Draw, rest: Draw, *, count: Numbers, idle: Numbers) -> Draw:
    ends = {end: getattr(drawn, end) * count + getattr(rest, end) * idle for end in ("value", "low", "high")}
    return Draw(**ends)


def _around(hosts: Sequence[Mapping[str, float]], cards: Draw, *, boxes: Numbers, at: Numbers | None) -> Draw:
    """Cards with their host."""
    base, share, low, high = (_column(hosts, name, at=at) for name in ("base_w", "share", "low", "high"))
    around = base * boxes + share * cards.value
    return Draw(value=cards.value + around, low=cards.low + around * low, high=cards.high + around * high)


def _host(chip: Chip, hosts: Mapping[str, Any], *, served: bool = False) -> Mapping[str, float]:
    """What stands around a chip: the host that is priced for it; `served`: a server in any case."""
    around = None if chip.vendor == CPU else chip.around
    if around in BOARDS and chip.segment == "datacenter":
        return dict(hosts["module"])
    if chip.unified_memory:
        return dict(hosts["soc"])
    if served or around == "server":
        return dict(hosts["datacenter"])
    desk = "workstation" if chip.segment == "datacenter" and around == "desktop" else chip.segment
    return dict(hosts.get(desk, hosts["consumer"]))


def _column(terms: Sequence[Mapping[str, float]], name: str, *, at: Numbers | None) -> np.ndarray:
    column = np.array([term[name] for term in terms], dtype=float)
    return column if at is None else column[at]

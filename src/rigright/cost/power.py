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
from rigright.facts.corrections import corrections
from rigright.facts.hosts import CPU
from rigright.facts.prices import host_around

SUBJECT = "power"
SERVER_CARDS = 8  # of a server whose cards are rented out one by one
BOARDS = frozenset({"baseboard", "used-baseboard"})  # hosts of chips on boards of their own kind


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


def busy_in(phase: str) -> Busy:
    """What a phase usually keeps in use: "idle", "decode", "serve", "prefill", "training", "image"."""
    found = corrections(SUBJECT)["phases"][phase]
    return Busy(compute=found["compute"], work=found["work"])


def draw_w(
    chips: Sequence[Chip], busy: Busy, *, at: Numbers | None = None, tables: Mapping[str, Any] | None = None
) -> Draw:
    """Watts of each chip. nan: nobody says what it is rated."""
    told = (corrections(SUBJECT) if tables is None else tables)["chips"]
    terms = [chip.terms_in(told) for chip in chips]
    term = {name: _column(terms, name, at=at) for name in ("idle", "awake", "compute", "work", "low", "high")}
    rated = np.array([chip.tdp_w if chip.tdp_w is not None else np.nan for chip in chips])
    rated = rated if at is None else rated[at]
    used = term["awake"] + term["compute"] * busy.compute + term["work"] * busy.work
    working = rated * np.minimum(term["idle"] + used, 1.0)
    value = rated * term["idle"] + busy.duty * (working - rated * term["idle"])
    high = np.minimum(value * term["high"], np.maximum(rated, value))
    return Draw(value=value, low=value * term["low"], high=high)


def band_of(chip: Chip) -> tuple[float, float]:
    """Low and high of a chip's watts, as multiples of what is estimated; its rating cuts the high end."""
    terms = chip.terms_in(corrections(SUBJECT)["chips"])
    return float(terms["low"]), float(terms["high"])


def machine_w(
    chips: Sequence[Chip], drawn: Draw, *, count: Numbers = 1, idle: Numbers = 0, boxes: Numbers = 1,
    at: Numbers | None = None,
) -> Draw:  # fmt: skip
    """Watts at the wall of machines that hold `count` chips of a kind, and `idle` ones, in `boxes` boxes."""
    cards = _together(drawn, draw_w(chips, AT_REST, at=at), count=count, idle=idle)
    return _around([_host(chip) for chip in chips], cards, boxes=boxes, at=at)


def rented_w(
    chips: Sequence[Chip], drawn: Draw, *, count: Numbers = 1, idle: Numbers = 0, at: Numbers | None = None
) -> Draw:
    """The same of cards that are rented: their share of a full server, and no machine of their own."""
    hosts = [_host(chip, served=True) for chip in chips]
    held = np.array([1.0 if chip.unified_memory else SERVER_CARDS for chip in chips])
    boxes = (count + idle) / (held if at is None else held[at])
    cards = _together(drawn, draw_w(chips, AT_REST, at=at), count=count, idle=idle)
    return _around(hosts, cards, boxes=boxes, at=at)


def _together(drawn: Draw, rest: Draw, *, count: Numbers, idle: Numbers) -> Draw:
    ends = {end: getattr(drawn, end) * count + getattr(rest, end) * idle for end in ("value", "low", "high")}
    return Draw(**ends)


def _around(hosts: Sequence[Mapping[str, float]], cards: Draw, *, boxes: Numbers, at: Numbers | None) -> Draw:
    """Cards with their host."""
    base, share, low, high = (_column(hosts, name, at=at) for name in ("base_w", "share", "low", "high"))
    around = base * boxes + share * cards.value
    return Draw(value=cards.value + around, low=cards.low + around * low, high=cards.high + around * high)


def pue_of(place: str) -> float:
    """What a building draws for each watt: "home", "office", "datacenter", "hyperscale"."""
    return float(corrections(SUBJECT)["pue"][place])


def _host(chip: Chip, *, served: bool = False) -> Mapping[str, float]:
    """What stands around a chip: the host that is priced for it; `served`: a server in any case."""
    hosts: Mapping[str, Any] = corrections(SUBJECT)["hosts"]
    around = None if chip.vendor == CPU else host_around(chip)
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

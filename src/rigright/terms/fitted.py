"""Terms as they were fitted on runs, of links and power too; own runs; and how people usually run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from rigright.base.tables import DATA, read_toml
from rigright.cost import links
from rigright.cost.links import Wire
from rigright.cost.power import SUBJECT as POWER
from rigright.cost.power import Busy, PowerTerms
from rigright.cost.unsaid import Prior
from rigright.facts.anchors import Anchor, anchors, note_anchor
from rigright.facts.chips import Chip
from rigright.facts.corrections import corrections
from rigright.facts.fabrics import ChipLinks, fabric_of


def fitted(subject: str, tables: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """The terms of a subject; `tables`: others than ours."""
    return corrections(subject) if tables is None else tables


def own_runs(subject: str, *, engines: Collection[str]) -> tuple[Anchor, ...]:
    """Own runs of engines, "" for those of any."""
    return tuple(anchor for anchor in anchors() if anchor.subject == subject and anchor.engine in engines)


def noted(own: Iterable[Anchor], *, chips: Collection[str]) -> tuple[Anchor, ...]:
    """Those of chips, "" for any; it is noted that they move a figure, so that the answer says so."""
    mine = tuple(anchor for anchor in own if anchor.chip in chips)
    for first in {(anchor.figure, anchor.chip): anchor for anchor in reversed(mine)}.values():
        note_anchor(first)
    return mine


def wire_of(chips: Sequence[Chip], *, engine: str | None = None) -> Wire:
    """The wires of chips as such chips usually stand, in their order: each figure an array over them."""
    return wire_of_fabrics([fabric_of(chip) for chip in chips], engine=engine)


def wire_of_fabrics(fabrics: Sequence[ChipLinks], *, engine: str | None = None) -> Wire:
    """The same of fabrics that somebody described: bridges, lanes, a network, cards of a box."""
    return links.wire_of_fabrics(fabrics, engine=engine, tables=fitted("links"))


def power_terms(chips: Sequence[Chip], *, tables: Mapping[str, Any] | None = None) -> PowerTerms:
    """What was fitted of chips, in their order; `tables`: other terms than ours."""
    return PowerTerms(chips=tuple(chips), tables=fitted(POWER, tables))


def busy_in(phase: str) -> Busy:
    """What a phase usually keeps in use: "idle", "decode", "serve", "prefill", "training", "image"."""
    value = fitted(POWER)["phases"][phase]
    return Busy(compute=value["compute"], work=value["work"])


def power_band(chip: Chip) -> tuple[float, float]:
    """Low and high of a chip's watts, as multiples of what is estimated; its rating cuts the high end."""
    terms = chip.terms_in(fitted(POWER)["chips"])
    return float(terms["low"]), float(terms["high"])


def pue_of(place: str) -> float:
    """What a building draws for each watt: "home", "office", "datacenter", "hyperscale"."""
    return float(fitted(POWER)["pue"][place])


@cache
def priors(work: str) -> Mapping[str, Prior]:
    """What may be unsaid of a kind of work ("serving", "training", ...), by name."""
    return {
        name: Prior(
            name=name,
            values=tuple(row["values"]),
            weights=tuple(row.get("weights", [1.0] * len(row["values"]))),
            option=row.get("option", ""),
        )
        for name, row in read_toml(DATA / "unsaid.toml").get(work, {}).items()
    }

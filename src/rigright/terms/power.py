"""Watts of chips, phases and buildings, as they were fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rigright.cost.power import SUBJECT, Busy, PowerTerms
from rigright.facts.chips import Chip
from rigright.terms.fitted import fitted


def power_terms(chips: Sequence[Chip], *, tables: Mapping[str, Any] | None = None) -> PowerTerms:
    """What was fitted of chips, in their order; `tables`: other terms than ours."""
    return PowerTerms(chips=tuple(chips), tables=fitted(SUBJECT, tables))


def busy_in(phase: str) -> Busy:
    """What a phase usually keeps in use: "idle", "decode", "serve", "prefill", "training", "image"."""
    found = fitted(SUBJECT)["phases"][phase]
    return Busy(compute=found["compute"], work=found["work"])


def power_band(chip: Chip) -> tuple[float, float]:
    """Low and high of a chip's watts, as multiples of what is estimated; its rating cuts the high end."""
    terms = chip.terms_in(fitted(SUBJECT)["chips"])
    return float(terms["low"]), float(terms["high"])


def pue_of(place: str) -> float:
    """What a building draws for each watt: "home", "office", "datacenter", "hyperscale"."""
    return float(fitted(SUBJECT)["pue"][place])

"""How much was measured of something like a plan: its chip, engine, kind of model, and by the user."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from functools import cache, lru_cache
from typing import Any

import numpy as np

from rigright.arch.record import Arch, Mix
from rigright.base.record import dataclass, replace
from rigright.cost.layers import unlike_layers
from rigright.demand import Numbers
from rigright.facts.anchors import ANY, RunCase
from rigright.facts.engines import Engine

NOTHING, KIN, CLASS, CHIP = range(4)  # what was measured of a chip: not even its kin, kin, class, itself
NEVER, ELSEWHERE, TRAVELLED = range(3)  # and of an engine: see `engine_level`
MANY = 1024  # models in engines
SEVERAL = 3  # chips on which an engine ran tell what is the engine's and what the chip's
_ROUND = re.compile(r"[_ -]v?\d+(\.\d+)*$|\s*\(.*$")
LANGUAGE = {"text", "image-text", "audio-text"}
STATES = {Mix.LINEAR, Mix.SSM}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known; arrays have an entry a chip, or after `at` a plan."""

    chip: Numbers = CHIP
    engine: Numbers = TRAVELLED
    kind: Numbers = True  # of model: whether any was measured
    model: Numbers = True  # whether this very one was
    source: Numbers = True  # whether who measures is one whose runs taught; a stranger's never did
    shift: Mapping[str, Numbers] = field(default_factory=dict)  # by the user's own runs, by figure: a factor,
    narrow: Mapping[str, Numbers] = field(default_factory=dict)  # and how much of the band's width is left
    bands: Mapping[str, Any] = field(default_factory=dict)  # by figure: terms of its band; none were tested

    def least(self) -> int:
        """The place of the chip that least was measured of."""
        return int(np.argmin(np.asarray(self.chip) + self.engine))

    def at(self, chips: Numbers) -> Known:
        """One entry a plan, from one a chip: `chips` are places in the list of chips."""
        return Known(
            chip=np.asarray(self.chip)[chips],
            engine=np.asarray(self.engine)[chips],
            kind=self.kind,
            model=self.model,
            source=self.source,
            shift={figure: np.asarray(shift)[chips] for figure, shift in self.shift.items()},
            narrow={figure: np.asarray(narrow)[chips] for figure, narrow in self.narrow.items()},
            bands=self.bands,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What runs, beside the chip: engine, model, its kind (see `kind_of`), how, and who measures."""

    engine: str = ""
    backends: Mapping[str, str] = field(default_factory=dict)  # what the engine computes with, by vendor
    model: str = ""
    kind: str = ""
    source: str = ""
    case: RunCase = ANY


def ran(arch: Arch, *, engine: Engine | str = "", source: str | None = None, case: RunCase = ANY) -> Ran:
    """A language model in an engine; one with several backends is as many engines, each on its chips."""
    what = _ran(arch, engine=engine, source=source or "")
    return what if case == ANY else replace(what, case=case)


@lru_cache(maxsize=MANY)
def _ran(arch: Arch, *, engine: Engine | str, source: str) -> Ran:
    what = Ran(model=arch.name, kind=kind_of(arch), source=source)
    if isinstance(engine, str):
        return replace(what, engine=engine)
    built = {vendor: engine.backend_on(vendor) for vendor in engine.backends}
    return replace(what, engine=engine.id, backends=built)


def source_family(source: str) -> str:
    """Who measures, whatever page and round: what stands before the page, less the number of a round."""
    return _ROUND.sub("", source.partition(":")[0].partition("@")[0].strip().lower()).rpartition("/")[2]


@cache
def kind_of(arch: Arch) -> str:
    """What an architecture is to time: "dense", "moe", "latent", "state", with "+" between, or its task."""
    if arch.task not in LANGUAGE:
        return arch.task
    layers = unlike_layers(arch)
    mixes = {layer.mixer.kind for layer in layers if layer.mixer is not None}
    texts = [
        "moe" if any(layer.ffn is not None and layer.ffn.experts for layer in layers) else "dense",
        "latent" if Mix.LATENT in mixes else "",
        "state" if mixes & STATES else "",
    ]
    return "+".join(text for text in texts if text)


def engine_level(chip: str, kin: str, *, ran: Mapping[str, str]) -> int:
    """What was measured of an engine, seen from a chip; `ran`: the chips it ran on, and their kin.

    It travels to where it ran itself, and to kin of chips among several; else it ran elsewhere, or never.
    """
    if chip in ran or (len(ran) >= SEVERAL and kin in ran.values()):
        return TRAVELLED
    return ELSEWHERE if ran else NEVER

"""What was measured of something like a plan: of its chip, its engine, its model, and by the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from rigright.base.tables import DATA
from rigright.cost.known import (
    CHIP,
    CLASS,
    KIN,
    NEVER,
    NOTHING,
    TRAVELLED,
    Known,
    Ran,
    engine_level,
    source_family,
)
from rigright.facts.anchors import Anchor
from rigright.facts.chips import Chip, by_id, kin_of
from rigright.facts.hosts import CPU
from rigright.terms.fitted import fitted, noted, own_runs


def known_of(subject: str, chips: Sequence[Chip], *, what: Ran) -> Known:
    """What was measured of each chip, of the engine, of the model."""
    tested = bands_of(subject)
    seen = tested.get("seen", {})
    own = own_runs(subject, engines={"", what.engine})
    placed = _placed(own, chips, what=what) if own else {}
    return Known(
        chip=np.array([_chip_level(chip, seen) for chip in chips]),
        engine=np.array([_engine_level(chip, what, seen=seen) for chip in chips]),
        kind=not what.kind or what.kind in seen.get("kinds", ()),
        model=not what.model or what.model in seen.get("models", ()),
        source=source_family(what.source) in seen.get("sources", ()),
        shift={name: np.array([shift for shift, _ in each]) for name, each in placed.items()},
        narrow={name: np.array([narrow for _, narrow in each]) for name, each in placed.items()},
        bands=tested.get("bands", {}),
    )


def _placed(
    own: Sequence[Anchor], chips: Sequence[Chip], *, what: Ran
) -> dict[str, list[tuple[float, float]]]:
    """By figure: where the user's own runs put each chip, and what they leave of its band."""
    from rigright.cost.own_runs import moved

    noted(own, chips={chip.id for chip in chips})
    return {
        figure: [
            moved(
                [anchor for anchor in own if anchor.figure == figure and anchor.chip == chip.id],
                model=what.model,
                asked=what.case,
            )
            for chip in chips
        ]
        for figure in sorted({anchor.figure for anchor in own})
    }


def known_of_one(subject: str, chip: Chip, *, what: Ran) -> Known:
    """The same of a single chip, as plain numbers."""
    return known_of(subject, (chip,), what=what).at(0)


@cache
def bands_of(subject: str) -> Mapping[str, Any]:
    """The bands of a subject; empty where none were ever tested."""
    name = f"bands_{subject}"
    return fitted(name) if (DATA / "corrections" / f"{name}.toml").is_file() else {}


def _chip_level(chip: Chip, seen: Mapping[str, Any]) -> int:
    own, classes = chip.kind, seen.get("classes", ())
    known = own.id in classes
    # no term is of one processor alone
    if (known and chip.vendor == CPU) or chip.id in seen.get("chips", ()):
        return CHIP
    return CLASS if known else KIN if own.kin in map(kin_of, classes) else NOTHING


def _engine_level(chip: Chip, what: Ran, *, seen: Mapping[str, Any]) -> int:
    engines, engine = seen.get("engines", {}), what.engine
    if what.case.staged and engine not in seen.get("staged", ()):
        return NEVER
    ran = engines.get(f"{engine} {what.backends.get(chip.vendor, '')}", engines.get(engine, ()))
    if ran and chip.vendor == CPU:
        return TRAVELLED  # of processors there are too many to list: it ran on each class of them
    every = by_id()
    if not engine or (chip.id in ran and chip.id in every):
        return TRAVELLED
    kins = {name: every[name].kind.kin for name in ran if name in every}
    return engine_level(chip.id, chip.kind.kin, ran=kins)

"""Predictions corrected by the user's own runs: on a chip and engine, for a model, near what was measured.

Each anchor gives the total factor at its place. A measured case moves by its own anchor; a case nearby by
the anchors around it, less with distance; beyond that by what the model's runs have in common, then by
what all models' runs have in common.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rigright.facts.anchors import Anchor, RunCase

FADE = 1.0  # doublings of load after which a neighbour tells a third
_LENGTH = 0.5  # a doubling of a length, in doublings of load
_SAME = 1e-6


def moved(own: Sequence[Anchor], *, model: str, asked: RunCase) -> tuple[float, float]:
    """Factor of a figure and what is left of its band's width, by anchors of one chip, engine and figure."""
    if not own:
        return 1.0, 1.0
    mine = [one for one in own if one.model == model and one.weights in {"", asked.weights or one.weights}]
    wide = [one for one in own if not one.model]
    shift, narrow = _mean([one for one in mine if one.model and not one.load] or wide)
    cases = [one for one in mine if one.model and one.load and one.apart == asked.apart]
    if not asked.load or not cases:
        return shift, narrow
    far = [distance(one.case, asked) for one in cases]
    nearest = min(far)
    if nearest < _SAME:
        return _mean([one for one, away in zip(cases, far, strict=True) if away < _SAME])
    weights = [1 / away**2 for away in far]
    fade = math.exp(-nearest / FADE) / sum(weights)
    logs = [
        fade
        * sum(
            weight * math.log(getattr(one, name) / level) for weight, one in zip(weights, cases, strict=True)
        )
        for name, level in (("shift", shift), ("narrow", narrow))
    ]
    return shift * math.exp(logs[0]), min(1.0, narrow * math.exp(logs[1]))


def _mean(found: Sequence[Anchor]) -> tuple[float, float]:
    """Of anchors that say the same of a case, such as those of several formats where none is named."""
    if not found:
        return 1.0, 1.0
    shift = math.exp(sum(math.log(one.shift) for one in found) / len(found))
    return shift, max(one.narrow for one in found)


def distance(one: RunCase, asked: RunCase) -> float:
    """Between two cases, in doublings of load; what either leaves unsaid is no distance."""
    pairs = (
        (1.0, one.load, asked.load),
        (1.0, one.chips, asked.chips),
        (_LENGTH, one.prompt_tok, asked.prompt_tok),
        (_LENGTH, one.output_tok, asked.output_tok),
    )
    return sum(scale * abs(math.log2(left / right)) for scale, left, right in pairs if left and right)

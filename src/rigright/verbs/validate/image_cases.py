"""Many rows of vision.csv at once: the same law, every figure an array over rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from rigright.cost.images.law import forward, train
from rigright.cost.images.rates import Place, cpu_place, image_rates, place_of
from rigright.cost.images.work import ImageWork
from rigright.cost.links import Wire
from rigright.cost.wires import wire_of
from rigright.facts.chips import chips
from rigright.verbs.validate.image_rows import ImageAsk


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageCases:
    """Asks, and what of them no term changes."""

    asks: tuple[ImageAsk, ...]
    work: ImageWork
    batch: np.ndarray
    ranks: np.ndarray
    train: np.ndarray
    wire: Wire


def cases(asks: Sequence[ImageAsk]) -> ImageCases:
    """Asks side by side."""
    names = [field.name for field in fields(ImageWork)]
    return ImageCases(
        asks=tuple(asks),
        work=ImageWork(**{name: _column(asks, lambda ask, n=name: getattr(ask.work, n)) for name in names}),
        batch=_column(asks, lambda ask: ask.batch),
        ranks=_column(asks, lambda ask: ask.ranks),
        train=np.array([ask.train for ask in asks]),
        wire=wire_of([ask.chip or chips()[0] for ask in asks]),
    )


def samples_per_s(ready: ImageCases, tables: Mapping[str, Any] | None = None) -> np.ndarray:
    """What the law says of each ask, over all its chips."""
    places = [_place(ask, tables) for ask in ready.asks]
    kinds, runs = [ask.kind for ask in ready.asks], [ask.run for ask in ready.asks]
    rates = image_rates(places, kinds=kinds, runs=runs, tables=tables)
    once = forward(ready.work, rates, batch=ready.batch)
    step = train(ready.work, rates, batch=ready.batch, ranks=ready.ranks, wire=ready.wire)
    total_s = np.where(ready.train, step.total_s, once.total_s)
    return np.asarray(ready.batch * ready.ranks / total_s)


def _place(ask: ImageAsk, tables: Mapping[str, Any] | None) -> Place:
    if ask.cpu is not None:
        return cpu_place(ask.cpu, ask.run.precision, tables=tables)
    return place_of(ask.chip or chips()[0], ask.run.precision, tables=tables)


def _column(asks: Sequence[ImageAsk], get: Any) -> np.ndarray:
    return np.array([get(ask) for ask in asks], dtype=float)

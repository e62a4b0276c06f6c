"""What each pipeline stage holds: weights by cut and layers by mixer, as one table over stages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rigright.arch.record import Arch, Cut, Mixer
from rigright.cost.memory_kv import lanes, mixers_of
from rigright.cost.shards import stage_bounds
from rigright.cost.weights import ByCut, WeightBytes
from rigright.demand import Numbers

CUTS = tuple(Cut)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """Unlike stages of each pipeline length: [length, stage, ...]; short pipelines repeat their first."""

    index: Numbers  # of each layout's pipeline length in the tables
    cut_bytes: Numbers  # [length, stage, cut]
    counts: Numbers  # [length, stage, mixer]
    head: Numbers  # [length, stage]: 1 where the stage makes logits
    mixers: tuple[Mixer, ...]

    @property
    def rows(self) -> int:
        """Unlike stages to look at."""
        return int(self.head.shape[1])


def stages(arch: Arch, weights: WeightBytes, pp: Numbers) -> Stages:
    """Lay the model over pipelines of the lengths asked for."""
    lengths, index = np.unique(np.asarray(pp, dtype=int), return_inverse=True)
    tables = [_unlike(arch, weights, int(length)) for length in lengths]
    most = max(len(table) for table in tables)
    padded = np.stack(
        [np.concatenate([table, np.repeat(table[:1], most - len(table), axis=0)]) for table in tables]
    )
    return Stages(
        index=index.reshape(np.shape(pp)),
        cut_bytes=padded[:, :, : len(CUTS)],
        counts=padded[:, :, len(CUTS) : -1],
        head=padded[:, :, -1],
        mixers=tuple(lanes(arch)),
    )


def _unlike(arch: Arch, weights: WeightBytes, length: int) -> Numbers:
    """Rows of stages that differ: bytes by cut, layers by mixer, whether it makes logits."""
    layers = _layer_table(arch, weights)
    sums = np.concatenate([np.zeros((1, layers.shape[1])), np.cumsum(layers, axis=0)])
    bounds = stage_bounds(len(layers), length)
    table = np.stack([sums[end] - sums[start] for start, end in bounds])
    table[0, : len(CUTS)] += _cut_row(weights.entry) + _cut_row(weights.beside)
    table[-1, : len(CUTS)] += _cut_row(weights.exit)
    if arch.tied and length > 1:
        table[-1, : len(CUTS)] += _cut_row({Cut.VOCAB: weights.entry.get(Cut.VOCAB, 0)})
    head = np.zeros((length, 1))
    head[-1] = 1
    return np.unique(np.concatenate([table, head], axis=1), axis=0)


def _layer_table(arch: Arch, weights: WeightBytes) -> Numbers:
    kinds = tuple(lanes(arch))
    rows = {id(layer): [mixers_of(layer).count(kind) for kind in kinds] for layer in arch.trunk.layers}
    cuts = np.array([_cut_row(by_cut) for by_cut in weights.layers]).reshape(len(weights.layers), len(CUTS))
    counts = np.array([rows[id(layer)] for layer in arch.trunk.layers], dtype=float)
    return np.concatenate([cuts, counts.reshape(len(cuts), len(kinds))], axis=1)


def _cut_row(by_cut: ByCut) -> Numbers:
    return np.array([by_cut.get(cut, 0.0) for cut in CUTS])

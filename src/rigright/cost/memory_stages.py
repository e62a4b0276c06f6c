"""Contents of each pipeline stage: weights and layers, as one table over stages."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rigright.arch.record import Arch, Cut
from rigright.base.record import dataclass, kept
from rigright.cost.memory_kv import lanes, mixers_of, unlike_layers
from rigright.cost.memory_settings import Start
from rigright.cost.memory_split import even_bounds
from rigright.cost.shards import ByCut
from rigright.cost.weights import WeightBytes, on_cards
from rigright.demand import Layout, Numbers

Bounds = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What one stage holds: numbers, or an array over layouts."""

    cuts: tuple[Cut, ...]
    cut_bytes: Numbers  # [cut, ...]
    counts: Numbers  # [mixer, ...]: layers of each kind that keeps a cache
    layers: Numbers
    head: Numbers  # 1 where it makes logits

    def weights_bytes(self, shares: Mapping[Cut, Numbers]) -> Numbers:
        """Weights of one rank of this stage, each way of cutting with its share."""
        return sum(self.cut_bytes[place] * shares[cut] for place, cut in enumerate(self.cuts))


def unlike_stages(
    arch: Arch, weights: WeightBytes, *, pp: Numbers, host_embed: bool = False, split: str = "tensor"
) -> tuple[Stage, ...]:
    """The stages that differ, over pipelines of the lengths asked for; short ones repeat their first."""
    lengths, index = np.unique(np.asarray(pp, dtype=int), return_inverse=True)
    count = len(arch.trunk.layers)
    tables = [
        _unlike(weights, arch, bounds=even_bounds(count, length, split=split), host_embed=host_embed)
        for length in lengths.tolist()
    ]
    places = np.arange(max(len(table) for table in tables))
    padded = np.stack([table[np.minimum(places, len(table) - 1)] for table in tables], axis=2)
    index = index.reshape(np.shape(pp))
    cuts = cuts_of(weights)
    return tuple(_stage(cuts, np.take(padded[place], index, axis=1)) for place in places)


def rank_stages(
    arch: Arch, weights: WeightBytes, *, start: Start, layout: Layout, on_card: bool
) -> tuple[Stage, ...]:
    """The stages that differ, whatever they hold; `on_card`: without what the engine leaves on the host."""
    weights, engine = on_cards(weights, start.serving.offload), start.engine
    return unlike_stages(
        arch, weights, pp=layout.pp, host_embed=on_card and engine.host_embed, split=engine.split
    )


def stages(
    arch: Arch, weights: WeightBytes, *, bounds: Bounds, host_embed: bool = False
) -> tuple[Stage, ...]:
    """Every stage of one pipeline, in order; the token table may stay on the host."""
    cuts = cuts_of(weights)
    table = _table(arch, weights, bounds=bounds, host_embed=host_embed)
    return tuple(_stage(cuts, row) for row in table)


@kept
def cuts_of(weights: WeightBytes) -> tuple[Cut, ...]:
    """The ways in which anything of this model is cut."""
    unlike = {id(by_cut): by_cut for by_cut in weights.layers}.values()
    places: list[ByCut] = [*unlike, weights.entry, weights.exit, weights.beside, {Cut.VOCAB: 0}]
    return tuple(dict.fromkeys(cut for by_cut in places for cut in by_cut))


def _stage(cuts: tuple[Cut, ...], columns: Numbers) -> Stage:
    width = len(cuts)
    return Stage(
        cuts=cuts,
        cut_bytes=columns[:width],
        counts=columns[width:-2],
        layers=columns[-2],
        head=columns[-1],
    )


@kept
def _unlike(weights: WeightBytes, arch: Arch, *, bounds: Bounds, host_embed: bool) -> Numbers:
    """The rows of a table that differ, each once and in order."""
    table = _table(arch, weights, bounds=bounds, host_embed=host_embed)
    return np.array(sorted(set(map(tuple, table.tolist()))))


def _table(arch: Arch, weights: WeightBytes, *, bounds: Bounds, host_embed: bool) -> Numbers:
    """A row a stage: bytes by cut, layers by mixer, layers, whether it makes logits."""
    cuts, sums = cuts_of(weights), _sums(weights, arch)
    width = len(cuts)
    table = np.stack([sums[end] - sums[start] for start, end in bounds])
    table[0, :width] += _cut_row(cuts, weights.beside)
    alone = len(bounds) == 1
    if not host_embed or (arch.tied and alone):
        table[0, :width] += _cut_row(cuts, weights.entry)
    table[-1, :width] += _cut_row(cuts, weights.exit)
    if arch.tied and not alone:  # the head is a copy of the table that the first stage, or the host, has
        table[-1, :width] += _cut_row(cuts, {Cut.VOCAB: weights.entry.get(Cut.VOCAB, 0)})
    head = np.zeros((len(bounds), 1))
    head[-1] = 1
    return np.concatenate([table, head], axis=1)


@kept
def _sums(weights: WeightBytes, arch: Arch) -> Numbers:
    """What the layers before each hold: bytes by cut, layers by mixer, layers."""
    cuts = cuts_of(weights)
    kinds = tuple(lanes(arch))
    kept = {id(layer): [mixers_of(layer).count(kind) for kind in kinds] for layer in unlike_layers(arch)}
    sizes = {id(by_cut): [by_cut.get(cut, 0.0) for cut in cuts] for by_cut in weights.layers}
    rows = [
        [*sizes[id(by_cut)], *kept[id(layer)], 1]
        for layer, by_cut in zip(arch.trunk.layers, weights.layers, strict=True)
    ]
    rows[: weights.in_ram] = [[0.0] * (len(cuts) + len(kinds) + 1)] * weights.in_ram
    layers = np.array(rows, dtype=float).reshape(len(rows), len(cuts) + len(kinds) + 1)
    return np.concatenate([np.zeros((1, layers.shape[1])), np.cumsum(layers, axis=0)])


def _cut_row(cuts: tuple[Cut, ...], by_cut: ByCut) -> Numbers:
    return np.array([by_cut.get(cut, 0.0) for cut in cuts])

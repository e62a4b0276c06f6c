"""Pipeline stages: which layers each holds, evenly or by free memory; their weights as one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from rigright.arch.record import Arch, Cut
from rigright.base.record import dataclass, kept
from rigright.base.units import MEGA
from rigright.cost.layers import lanes, mixers_of, unlike_layers
from rigright.cost.memory.settings import Start
from rigright.cost.shards import ByCut, stage_bounds
from rigright.cost.weights import WeightBytes, on_cards
from rigright.demand import Layout, Numbers

HALVINGS = 40
MOST_FILL = float(MEGA)  # beyond it no card has any room


def split_by_free(layers: int, free_bytes: Sequence[float]) -> tuple[tuple[int, int], ...]:
    """First and past-last layer of each card as llama.cpp deals them: by what is free when it starts.

    The head counts as one layer more, and a layer goes to the card on which its beginning falls.
    """
    each = np.maximum(np.asarray(free_bytes, dtype=float), 1.0)
    free = np.cumsum(each / each.max())  # cards alike are dealt alike, whatever their size
    cards = np.searchsorted(free / free[-1], np.arange(layers) / (layers + 1), side="right")
    ends = np.searchsorted(cards, np.arange(len(free)), side="right")
    return tuple(pairwise([0, *ends.tolist()]))


def even_bounds(layers: int, cards: int, *, split: str) -> tuple[tuple[int, int], ...]:
    """The same of so many alike cards, for engines that cut tensors and for those that deal layers out."""
    return stage_bounds(layers, cards) if split == "tensor" else split_by_free(layers, [1.0] * cards)


def split_layers(layers_bytes: Sequence[float], room_bytes: Sequence[float]) -> tuple[tuple[int, int], ...]:
    """First and past-last layer of each card; all are filled, or overfilled, alike."""
    sums = np.concatenate([[0.0], np.cumsum(layers_bytes)])
    room = np.maximum(np.asarray(room_bytes, dtype=float), 0.0)
    low, high = 0.0, 1.0
    while _reached(sums, room * high)[-1] < len(layers_bytes) and high < MOST_FILL:
        high *= 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (
            (low, middle) if _reached(sums, room * middle)[-1] >= len(layers_bytes) else (middle, high)
        )
    ends = _reached(sums, room * high)
    ends[-1] = len(layers_bytes)
    return tuple(pairwise([0, *ends]))


def _reached(sums: Numbers, room: Numbers) -> list[int]:
    """Past-last layer of each card when each takes all it has room for."""
    ends: list[int] = []
    start = 0
    for size in room:
        start = int(np.searchsorted(sums, sums[start] + size * (1 + 1e-12), side="right")) - 1
        ends.append(start)
    return ends


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


def _unlike_stages(
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
    return _unlike_stages(
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

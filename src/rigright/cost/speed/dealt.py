"""Layers split over GPUs that work one after another: the part of a step that each GPU does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rigright.base.record import dataclass, replace
from rigright.cost.speed.rates import Rates
from rigright.cost.speed.step import Pass, step
from rigright.cost.speed.work import Gemm, PassWork
from rigright.demand import Layout, Numbers
from rigright.facts.chips import Chip


@dataclass(frozen=True, slots=True, kw_only=True)
class Dealt:
    """Cards in the order of their layers."""

    chips: tuple[Chip, ...]  # each kind once
    kinds: tuple[int, ...]  # of each card, the place of its chip among them
    parts: Numbers  # of a pass, that each card does

    @property
    def shares(self) -> Numbers:
        """What part of a pass each kind of chip does."""
        return np.bincount(self.kinds, weights=self.parts, minlength=len(self.chips))

    def evened(self, rates: Rates, *, work: PassWork, chunk_tok: Numbers) -> Rates:
        """The rates with so much less of a pipeline's gain as its slowest card holds the others up."""
        content = Pass(prefill_tok=chunk_tok, prefill_seqs=1)
        whole_s = np.broadcast_to(
            step(work, rates, layout=Layout(), content=content).total_s, len(self.chips)
        )
        each = whole_s[list(self.kinds)] * self.parts
        busy = each.sum() / each.max()
        return replace(rates, piped=rates.piped * (busy - 1) / max(len(each) - 1, 1))


def deal(chips: Sequence[Chip], work: PassWork, *, bounds: Sequence[tuple[int, int]]) -> Dealt:
    """Cards, each with its first and past-last layer; the last has the head too."""
    kinds = {chip.id: chip for chip in chips}
    order = list(kinds)
    return Dealt(
        chips=tuple(kinds.values()),
        kinds=tuple(order.index(chip.id) for chip in chips),
        parts=parts_of(work, bounds),
    )


def parts_of(work: PassWork, bounds: Sequence[tuple[int, int]]) -> Numbers:
    """What part of a pass each card does, by its first and past-last layer."""
    head = head_share(work)
    parts = np.array([last - first for first, last in bounds]) / work.layers * (1 - head)
    parts[-1] += head
    return parts


def evenness(work: PassWork, bounds: Sequence[tuple[int, int]]) -> float:
    """What is left of a pipeline's gain on cards alike: the one with the head and most layers holds it up."""
    return float((1 / parts_of(work, bounds).max() - 1) / (len(bounds) - 1))


def head_share(work: PassWork) -> float:
    """What part of the bytes that one token is multiplied by is the head's."""
    head = sum(_met_bytes(gemm) for gemm in work.gemms if gemm.kind == "head")
    return head / sum(_met_bytes(gemm) for gemm in work.gemms)


def _met_bytes(gemm: Gemm) -> float:
    return float(gemm.size_bytes) * (gemm.per_tok / gemm.experts if gemm.experts else 1.0)

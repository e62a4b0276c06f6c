"""A rank's share of the model's matrix multiplications, in the few groups that a step is timed by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rigright.base.record import dataclass
from rigright.cost.shards import share
from rigright.cost.speed.work import Gemm, PassWork
from rigright.demand import Layout, Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Multiplications of one rank that take their tokens, experts and format alike."""

    kind: str  # "dense", "expert", "head"
    narrow: bool
    elems: Numbers
    size_bytes: Numbers
    experts: int
    per_tok: int
    width: Numbers  # of one expert, as a rank has it


def parts_of(work: PassWork, layout: Layout) -> tuple[Part, ...]:
    """The groups, in a fixed order."""
    groups: dict[tuple[str, bool, int, int, int], list[Gemm]] = {}
    for gemm in work.gemms:
        kind = gemm.kind if gemm.kind in {"expert", "head"} else "dense"
        groups.setdefault((kind, gemm.narrow, gemm.experts, gemm.per_tok, gemm.width), []).append(gemm)
    return tuple(_part(key, gemms, work=work, layout=layout) for key, gemms in groups.items())


def _part(
    key: tuple[str, bool, int, int, int], gemms: Sequence[Gemm], *, work: PassWork, layout: Layout
) -> Part:
    kind, narrow, experts, per_tok, width = key
    shares = [share(gemm.cut, layout, kv_heads=work.kv_heads) for gemm in gemms]
    return Part(
        kind=kind,
        narrow=narrow,
        experts=experts,
        per_tok=per_tok,
        width=width * shares[0] * layout.ep,
        elems=sum(gemm.elems * value for gemm, value in zip(gemms, shares, strict=True)),
        size_bytes=sum(gemm.size_bytes * value for gemm, value in zip(gemms, shares, strict=True)),
    )


def ranks_of(layout: Layout) -> Numbers:
    """Ranks that hold sequences of their own inside a replica."""
    return np.asarray(layout.tp, dtype=float) if layout.attention_dp else np.float64(1.0)

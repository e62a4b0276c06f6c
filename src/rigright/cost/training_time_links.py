"""Communication of a training step: bytes and ranks of each kind, and what does not overlap."""

from __future__ import annotations

import numpy as np

from rigright.arch.record import Cut
from rigright.base.record import dataclass
from rigright.cost.links import all_gather_s, all_reduce_s, all_to_all_s, send_s
from rigright.cost.training_time_parts import StepCase
from rigright.demand import Numbers

ACT_BYTES = 2
GRAD_BYTES_LEAST = 2
QUANTISED_BYTES = 0.5  # an element of a 4-bit base, as it is gathered
BACK = 2.0  # ring attention returns gradients of keys and values beside them


@dataclass(frozen=True, slots=True, kw_only=True)
class WireSeconds:
    """Seconds on the wires: of one micro-batch over all layers of one rank, and once a step."""

    tp_s: Numbers
    cp_s: Numbers
    ep_s: Numbers
    pp_s: Numbers  # one crossing from stage to stage and back
    gather_s: Numbers  # weights and gradients of a micro-batch (FSDP, ZeRO-3)
    reduce_s: Numbers  # gradients and weights of a step


def traffic(case: StepCase) -> WireSeconds:
    """What each kind of parallelism sends."""
    micro, once = _replicas(case)
    return WireSeconds(
        tp_s=_tensor(case), cp_s=_context(case), ep_s=_experts(case), pp_s=_stages(case),
        gather_s=micro, reduce_s=once,
    )  # fmt: skip


def exposed_s(sent_s: Numbers, *, cover_s: Numbers, bare: Numbers) -> Numbers:
    """A share that is never hidden, and what is left of the rest once the cover ends."""
    return bare * sent_s + np.maximum((1 - bare) * sent_s - cover_s, 0.0)


def _inside(case: StepCase, stride: Numbers) -> Numbers:
    """Ranks of a group that share a domain, where its members are so far apart."""
    return np.maximum(np.asarray(case.rates.wire.domain) / np.asarray(stride), 1.0)


def _passes(case: StepCase) -> float:
    """Passes that send activations: forward, backward, and again where all is recomputed."""
    return 3.0 if case.setup.habit.recompute == "full" else 2.0


def _tensor(case: StepCase) -> Numbers:
    size = case.tok * case.effort.hidden * ACT_BYTES
    each = all_reduce_s(size, case.layout.tp, wire=case.rates.wire)
    return _passes(case) * case.effort.reduced * each


def _context(case: StepCase) -> Numbers:
    """Keys and values handed round, their gradients on the way back."""
    layout = case.layout
    cp, tp = np.asarray(layout.cp, dtype=float), np.asarray(layout.tp)
    size = case.tok * cp * case.effort.kv_elems * ACT_BYTES / tp
    each = all_gather_s(size, cp, wire=case.rates.wire, inside=_inside(case, tp))
    return (_passes(case) - 1 + BACK) * each


def _experts(case: StepCase) -> Numbers:
    """Each token to the ranks of its experts and back; to another domain once, and handed on there."""
    effort, layout, wire = case.effort, case.layout, case.rates.wire
    if not effort.moe_layers:
        return np.zeros(())
    ep, tp = np.asarray(layout.ep, dtype=float), np.asarray(layout.tp)
    inner = np.minimum(ep, wire.domain)
    domains = np.ceil(ep / inner)
    size = case.tok * effort.sent_elems / effort.moe_layers * ACT_BYTES / tp
    within = all_to_all_s(size * _met(ep, effort.per_tok), inner, wire=wire)
    between = all_to_all_s(size * _met(domains, effort.per_tok), domains, wire=wire, inside=1)
    return 2 * _passes(case) * effort.moe_layers * np.maximum(within, between)


def _met(places: Numbers, per_tok: int) -> Numbers:
    """Of so many places, how many a token's experts lie in."""
    return places * (1 - (1 - 1 / places) ** per_tok)


def _stages(case: StepCase) -> Numbers:
    layout = case.layout
    pp, tp = np.asarray(layout.pp, dtype=float), np.asarray(layout.tp)
    size = case.tok * case.effort.hidden * ACT_BYTES * case.stream_share
    outer = tp * np.asarray(layout.cp) * np.asarray(layout.dp) >= case.rates.wire.domain
    return np.where(pp > 1, 2 * send_s(size, wire=case.rates.wire, outer=outer), 0.0)


def rank_elems(case: StepCase) -> tuple[Numbers, Numbers]:
    """Elements on one rank: what all replicas hold, and experts, which fewer do."""
    layout, effort = case.layout, case.effort
    tp, ep, pp = (np.asarray(value, dtype=float) for value in (layout.tp, layout.ep, layout.pp))
    plain, routed = effort.tables / tp, np.zeros(())
    for bulk in effort.bulks:
        if bulk.experts:
            routed = routed + bulk.held / np.where(ep > 1, np.maximum(ep, tp), tp) / pp
        elif bulk.head:
            plain = plain + bulk.held / tp / np.where(effort.tables > 0, np.minimum(pp, 2), 1)
        else:
            plain = plain + bulk.held / pp / (1.0 if bulk.cut == Cut.WHOLE else tp)
    return plain, routed


def replicas_of(case: StepCase) -> tuple[Numbers, Numbers]:
    """Ranks that hold the same weights, and the same experts."""
    layout = case.layout
    tp, ep = np.asarray(layout.tp, dtype=float), np.asarray(layout.ep, dtype=float)
    ranks = np.asarray(layout.dp, dtype=float) * np.asarray(layout.cp)
    return ranks, np.where(ep > 1, np.maximum(ranks * tp / np.maximum(ep, tp), 1), ranks)


def _replicas(case: StepCase) -> tuple[Numbers, Numbers]:
    """Of a micro-batch, and once a step; adapters are too few to count."""
    setup, wire = case.setup, case.rates.wire
    training, precision = setup.training, setup.precision
    tp, ep = np.asarray(case.layout.tp, dtype=float), np.asarray(case.layout.ep, dtype=float)
    plain, routed = rank_elems(case)
    ranks, few = replicas_of(case)
    inside, spread = _inside(case, tp), _inside(case, np.where(ep > 1, np.maximum(ep, tp), tp))
    reduced = max(precision.grad, GRAD_BYTES_LEAST) * setup.full
    gather = QUANTISED_BYTES if training.method == "qlora" else precision.gather
    shards = np.minimum(ranks, inside) if training.sharding == "hsdp" else ranks
    width = 2 * gather + reduced
    if not setup.gathered:
        width = (reduced + (gather if training.sharding != "none" else reduced)) * setup.full
    sent = all_gather_s(plain * width, shards, wire=wire, inside=inside)
    if case.effort.moe_layers:
        sent = sent + all_gather_s(routed * width, few, wire=wire, inside=spread)
    if not setup.gathered:
        return np.zeros(()), sent * (width > 0)
    across = all_reduce_s(plain * reduced / shards, ranks / shards, wire=wire, inside=1)
    if training.offload.startswith("all"):
        sent = sent + 2 * gather * (plain / shards + routed / few) / case.rates.pcie_bytes_per_s
    return sent, across * (training.sharding == "hsdp") * setup.full

"""Time of one training step in any layout: compute, recompute, bubble, exposed communication, optimizer.

Every number of the demand, the layout and the rates may be an array; the result has their common shape.
"""

from __future__ import annotations

import numpy as np

from rigright.arch.record import Arch, Cut
from rigright.base.record import dataclass
from rigright.base.units import GIGA
from rigright.cost.links import all_gather_s, all_reduce_s, all_to_all_s, send_s
from rigright.cost.training.learners import adapted, trunk_of
from rigright.cost.training.passes import StepCase, Ways, ways
from rigright.cost.training.rates import TrainingRates
from rigright.cost.training.setup import Setup, stage_edge
from rigright.cost.training.work import effort_of, model_flops_per_tok
from rigright.demand import Layout, Numbers, Training
from rigright.facts.anchors import RunCase

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


def _rank_elems(case: StepCase) -> tuple[Numbers, Numbers]:
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


def _replicas_of(case: StepCase) -> tuple[Numbers, Numbers]:
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
    plain, routed = _rank_elems(case)
    ranks, few = _replicas_of(case)
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


BUBBLES = {"1f1b": 1.0, "gpipe": 1.0, "interleaved": 1.0, "zero-bubble": 1 / 3}
SHARPNESS = 4  # how suddenly the slower of host and device takes over
LEARNT = tuple(
    f"{name}_s"
    for name in (
        "forward",
        "backward",
        "recompute",
        "optimizer",
        "tp",
        "dp",
        "pp",
        "ep",
        "cp",
        "bubble",
        "host",
    )
)  # fmt: skip - parts of a step in which a model learns
LINKS = ("tp", "dp", "pp", "ep", "cp")
STEP_ACCESSES = 2  # each state is read and written
HOST_BYTES_PER_S = 20 * GIGA  # of states that one rank's share of a CPU works through
NVME_BYTES_PER_S = 3 * GIGA  # and of a drive
SECONDS_A_DAY = 86_400
RANKS_OF_BOX = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingTime:
    """Seconds of one optimizer step, by what they go into, and the rates that follow.

    `mfu` counts the model's own FLOPs alone: two a weight and token forward, four backward (six times the
    weights a token meets, embeddings looked up left out), and attention as the causal mask leaves it;
    against the dense peak of the format of multiplications. Adapters count what they need: no gradients
    of frozen weights. `hfu` counts what is recomputed too.
    """

    step_s: Numbers
    forward_s: Numbers
    backward_s: Numbers
    recompute_s: Numbers
    optimizer_s: Numbers
    tp_s: Numbers  # communication that nothing hides, by kind
    dp_s: Numbers
    pp_s: Numbers
    ep_s: Numbers
    cp_s: Numbers
    bubble_s: Numbers  # stages that wait, for the pipeline to fill or for a slower stage
    host_s: Numbers  # waiting for the host: launches, logging, data
    tok_per_step: Numbers  # of all replicas, padding left out
    tok_per_s_per_chip: Numbers
    samples_per_s: Numbers  # of all replicas
    mfu: Numbers
    hfu: Numbers
    scoring_s: Numbers = 0.0  # passes without gradients
    rollout_s: Numbers = 0.0  # completions written, and weights brought to the engine


def own_case(training: Training) -> RunCase:
    """How a training runs, as the user's own runs tell of it."""
    return RunCase(
        weights=training.method, load=float(training.micro_batch), prompt_tok=float(training.seq_tok)
    )


def training_time(arch: Arch, setup: Setup, *, layout: Layout, rates: TrainingRates) -> TrainingTime:
    """One step: as many micro-batches as it gathers, through all stages, and the optimizer."""
    training = setup.training
    effort = effort_of(arch, "" if setup.full else training.targets)
    tok = np.asarray(training.micro_batch, dtype=float) * training.seq_tok / np.asarray(layout.cp)
    case = StepCase(arch=arch, setup=setup, effort=effort, rates=rates, layout=layout, tok=tok)
    through = ways(case)
    flow = _MicroBatch.of(case, through)
    parts = _step(case, through, flow=flow)
    return _record(case, parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _MicroBatch:
    """One micro-batch: seconds of all layers, and around them."""

    layers_s: Numbers  # computing, of every layer
    head_s: Numbers
    again_s: Numbers  # recomputed
    scored_s: Numbers  # of passes without gradients: reference models, log-probabilities before the step
    sent_s: dict[str, Numbers]  # exposed, of every layer
    crossing_s: Numbers  # from stage to stage and back, exposed
    reduce_s: Numbers  # once a step, not yet covered
    host_s: Numbers  # launches of every layer

    @classmethod
    def of(cls, case: StepCase, through: Ways) -> _MicroBatch:
        """Sum the passes; communication hides behind what it has beside it."""
        rates, sent = case.rates, traffic(case)
        extra = case.setup.forwards
        scored_s = extra * (through.forward.layers_s + through.forward.head_s)
        again = through.again_s + extra * through.forward.layers_s
        layers = through.forward.layers_s + through.backward.layers_s + again
        mixing = through.forward.mixing_s + through.backward.mixing_s
        experts = through.forward.matmul_s + through.backward.matmul_s
        hidden = {
            "tp": exposed_s(sent.tp_s, cover_s=experts, bare=rates.tp_bare),
            "cp": exposed_s(sent.cp_s, cover_s=mixing, bare=rates.cp_bare),
            "ep": exposed_s(sent.ep_s, cover_s=experts, bare=rates.ep_bare),
            "dp": exposed_s(sent.gather_s, cover_s=layers / np.asarray(case.layout.pp), bare=rates.dp_bare)
            * np.asarray(case.layout.pp),
        }
        # a frozen layer and each half of its adapters are gathered apart
        units = 1 if case.setup.full else 1 + 2 * adapted(case.arch, case.setup.training.targets)
        each_s = rates.layer_s + rates.gather_s * units * case.gathered
        passes = 2 + (case.setup.habit.recompute == "full") + extra
        return cls(
            layers_s=layers,
            head_s=through.forward.head_s * (1 + extra) + through.backward.head_s,
            again_s=through.again_s,
            scored_s=scored_s,
            sent_s=hidden,
            crossing_s=rates.pp_bare * sent.pp_s,
            reduce_s=sent.reduce_s,
            host_s=passes
            * case.setup.training.host
            * (case.effort.layers * each_s + case.effort.moe_layers * rates.expert_s),
        )


def _step(case: StepCase, through: Ways, *, flow: _MicroBatch) -> dict[str, Numbers]:
    """Seconds of a whole step by part."""
    training, layout, rates = case.setup.training, case.layout, case.rates
    pp = np.asarray(layout.pp, dtype=float)
    micro = np.asarray(pp if training.accumulate is None else training.accumulate, dtype=float)
    # the share of the layers in the fullest stage, and in the last, which makes logits too
    count, stages = len(trunk_of(case.arch).layers), np.asarray(case.layout.pp)
    most = np.ceil(count / stages) / count
    last = (count - stage_edge(count, stages, stage=stages - 1)) / count
    sent = sum(flow.sent_s.values())
    device = flow.layers_s + sent
    slowed = (device**SHARPNESS + flow.host_s**SHARPNESS) ** (1 / SHARPNESS)
    whole = slowed + flow.head_s
    fullest = np.maximum(slowed * most, slowed * last + flow.head_s)
    slowest = whole / pp + rates.unbalanced * (fullest - whole / pp)
    chunks = np.asarray(training.virtual_stages if training.schedule == "interleaved" else 1, dtype=float)
    waits = (whole - slowest) * BUBBLES[training.schedule] / chunks
    share = micro / pp
    compute = {
        "forward": share * (through.forward.layers_s + through.forward.head_s),
        "backward": share * (through.backward.layers_s + through.backward.head_s),
    }
    compute |= {"recompute": share * flow.again_s, "scoring": share * flow.scored_s}
    compute |= {name: share * seconds for name, seconds in flow.sent_s.items()}
    compute["bubble"] = micro * slowest + waits - share * whole
    compute["host"] = share * (slowed - device) + rates.step_s
    compute["pp"] = flow.crossing_s * (micro * chunks + pp - 1)
    cover = compute["backward"] / micro + np.where(micro > 1, compute["forward"] / micro, 0.0)
    once = exposed_s(flow.reduce_s, cover_s=cover, bare=rates.dp_bare)
    compute["dp"] = compute["dp"] + once
    compute["optimizer"] = _optimizer_s(case)
    # the more ranks, the longer all wait for the slowest: told with the bubble
    layout = case.layout
    ranks = _ranks(layout)
    doublings = np.log2(np.maximum(ranks / RANKS_OF_BOX, 1))
    total = sum(compute.values())
    return compute | {"bubble": compute["bubble"] + total * case.rates.spread * doublings}


def _ranks(layout: Layout) -> Numbers:
    return (
        np.asarray(layout.tp, dtype=float)
        * np.asarray(layout.pp)
        * np.asarray(layout.dp)
        * np.asarray(layout.cp)
    )


def _optimizer_s(case: StepCase) -> Numbers:
    """States read and written at the speed of memory; on the host by the CPU, then over the slot."""
    setup = case.setup
    if not setup.full:
        return np.zeros(())
    plain, routed = _rank_elems(case)
    precision, optimizer = setup.precision, setup.optimizer
    kept = optimizer.bytes if optimizer.bytes is not None else optimizer.copies * precision.state
    width = STEP_ACCESSES * (precision.master + kept + precision.param) + 2 * precision.grad
    ranks, few = _replicas_of(case)
    divided = setup.training.sharding != "none"
    here = plain / (ranks if divided else 1) + routed / (few if divided else 1)
    if setup.training.offload == "none":
        return here * width / case.rates.mem_bytes_per_s
    over = here * (precision.grad + precision.param) / case.rates.pcie_bytes_per_s
    return over + here * width / (NVME_BYTES_PER_S if "nvme" in setup.training.offload else HOST_BYTES_PER_S)


def _record(case: StepCase, parts: dict[str, Numbers]) -> TrainingTime:
    """The record."""
    setup, training, layout = case.setup, case.setup.training, case.layout
    step = sum(parts.values())
    micro = np.asarray(layout.pp if training.accumulate is None else training.accumulate)
    samples = np.asarray(training.micro_batch, dtype=float) * np.asarray(layout.dp) * micro
    value = samples * training.seq_tok
    ranks = _ranks(layout)
    flops = model_flops_per_tok(case.effort, training.seq_tok)
    if not setup.full:
        flops = flops * 2 / 3
    done = value * flops / step / ranks / case.rates.peak_flops_per_s
    again = (parts["recompute"] + parts["scoring"]) / (parts["forward"] + parts["backward"])
    given = value * (1 - np.asarray(training.padded))
    names = ("forward", "backward", "recompute", "scoring", "optimizer", "bubble", "host", *LINKS)
    return TrainingTime(
        step_s=step,
        tok_per_step=given,
        tok_per_s_per_chip=given / step / ranks,
        samples_per_s=samples / step,
        mfu=done,
        hfu=done * (1 + again),
        **{f"{name}_s": parts[name] for name in names},
    )


def days(train_tok: Numbers, time: TrainingTime, *, ranks: Numbers) -> Numbers:
    """Days for so many tokens without a pause."""
    return np.asarray(train_tok) / (time.tok_per_s_per_chip * np.asarray(ranks)) / SECONDS_A_DAY

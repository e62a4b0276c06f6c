"""One micro-batch through all layers of one rank: matrix multiplication, mixing, cheap operations."""

from __future__ import annotations

import numpy as np

from rigright.arch.record import Arch, Cut
from rigright.base.record import dataclass
from rigright.cost.shards import attention_share
from rigright.cost.training.rates import TrainingRates
from rigright.cost.training.saved import STATE_MIXERS
from rigright.cost.training.setup import Setup
from rigright.cost.training.work import Bulk, Effort, mixer_flops
from rigright.demand import Layout, Numbers

BACKWARD_MOVES = 1.6  # bytes of cheap operations backward over forward: gradients too are read
SCORE_MOVES, SCORE_MOVES_BACK = 12, 18  # bytes of one score without flash attention
DROPOUT_BYTES = 5  # an element of the stream: read, written, its mask
CAST_BYTES = 6  # of an fp32 weight that autocast rounds for each pass
PLAIN_BYTES = 2
NORM_PASSES = 2  # DoRA: the sum of base and adapters is made and measured in each pass


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCase:
    """What the laws of one step speak of."""

    arch: Arch
    setup: Setup
    effort: Effort
    rates: TrainingRates
    layout: Layout
    tok: Numbers  # of a micro-batch that one rank works on

    @property
    def stream_share(self) -> Numbers:
        """Of what is as wide as the stream, on one rank."""
        tp = np.asarray(self.layout.tp, dtype=float)
        return 1 / tp if self.layout.sequence_parallel else np.ones_like(tp)

    @property
    def gathered(self) -> bool:
        """Whether weights are gathered layer by layer."""
        return self.setup.gathered


@dataclass(frozen=True, slots=True, kw_only=True)
class PassSeconds:
    """Seconds of a pass over all layers, and of what stands after the last."""

    matmul_s: Numbers
    mixing_s: Numbers
    moving_s: Numbers
    head_s: Numbers

    @property
    def layers_s(self) -> Numbers:
        """The layers alone."""
        return self.matmul_s + self.mixing_s + self.moving_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """Forward, backward, and what of the forward pass runs again."""

    forward: PassSeconds
    backward: PassSeconds
    again_s: Numbers


def ways(case: StepCase) -> Ways:
    """Both passes of one micro-batch through every layer, as if one rank held them all."""
    setup = case.setup
    bulks = [_multiply(bulk, case) for bulk in case.effort.bulks]
    layers = [times for bulk, times in zip(case.effort.bulks, bulks, strict=True) if not bulk.head]
    heads = [times for bulk, times in zip(case.effort.bulks, bulks, strict=True) if bulk.head]
    mixing, mixing_back = _mix(case)
    moving = _move(case)
    loss, adapters = _loss_s(case), _adapters_s(case)
    learning = 1.0 if setup.full else 0.0
    zero = np.zeros(())
    forward = PassSeconds(
        matmul_s=sum((product.forward_s for product in layers), start=adapters),
        mixing_s=mixing,
        moving_s=moving,
        head_s=sum((product.forward_s for product in heads), start=zero) + loss / 2,
    )
    backward = PassSeconds(
        matmul_s=sum(
            (product.inward_s + learning * product.learn_s for product in layers), start=2 * adapters
        ),
        mixing_s=mixing_back,
        moving_s=moving * BACKWARD_MOVES,
        head_s=sum((product.inward_s + learning * product.learn_s for product in heads), start=zero)
        + loss / 2,
    )
    # recompute: every layer, the core of attention, or every cheap operation and half the products
    habit = case.setup.habit
    if habit.recompute == "full":
        again_s = forward.layers_s
    elif habit.recompute == "none":
        again_s = np.zeros(())
    elif habit.trainer.selective == "ops":
        again_s = forward.matmul_s / 2 + forward.moving_s
    else:
        again_s = forward.mixing_s
    return Ways(forward=forward, backward=backward, again_s=again_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Product:
    """Seconds of multiplications alike: forward, gradient of the input, gradient of the weight."""

    forward_s: Numbers
    inward_s: Numbers
    learn_s: Numbers


def _multiply(bulk: Bulk, case: StepCase) -> _Product:
    rates, tp = case.rates, np.asarray(case.layout.tp, dtype=float)
    kv_heads = max((mixer.kv_heads for mixer, _ in case.effort.mixers), default=1)
    part = _share(bulk.cut, tp, kv_heads=max(kv_heads, 1))
    rows, half = _rows(bulk, case)
    narrow_out = tp if bulk.cut == Cut.IN else 1.0  # the dimension summed over is cut
    narrow_in = tp if bulk.cut in {Cut.OUT, Cut.VOCAB} else 1.0
    rate = rates.plain_flops_per_s if bulk.head else rates.matmul_flops_per_s
    each = 2 * case.tok * part * (1 + half / rows) / rate
    if bulk.experts:
        each = each * case.setup.training.imbalance
    met = bulk.met(case.setup.training.seq_tok)
    floor = bulk.held * _rank_share(bulk, case) * PLAIN_BYTES / rates.mem_bytes_per_s
    rounding = np.asarray(0.0 if bulk.head else rates.cast_bytes) * case.tok * part / rates.mem_bytes_per_s
    return _Product(
        forward_s=np.maximum(each * (met + rates.half_width * bulk.outputs * narrow_out), floor)
        + rounding * bulk.inputs,
        inward_s=np.maximum(each * (met + rates.half_width * bulk.inputs * narrow_in), floor)
        + rounding * bulk.outputs,
        learn_s=np.maximum(each * met * (1 + rates.half_width / rows), 2 * floor),
    )


def _share(cut: Cut, tp: Numbers, *, kv_heads: int) -> Numbers:
    """Of a rank's work; tokens sent to experts are divided where experts are not."""
    if cut == Cut.WHOLE:
        return np.ones_like(tp)
    return 1 / (np.minimum(tp, kv_heads) if cut == Cut.KV else tp)


def _rank_share(bulk: Bulk, case: StepCase) -> Numbers:
    tp, ep = np.asarray(case.layout.tp, dtype=float), np.asarray(case.layout.ep)
    if bulk.cut == Cut.WHOLE:
        return np.ones_like(tp)
    return 1 / (np.where(ep > 1, np.maximum(ep, tp), tp) if bulk.experts else tp)


def _rows(bulk: Bulk, case: StepCase) -> tuple[Numbers, Numbers]:
    """Rows of one multiplication, and how many of them reach half the rate."""
    if not bulk.experts:
        return case.tok, case.rates.half_tok
    tp, ep = np.asarray(case.layout.tp), np.asarray(case.layout.ep)
    sent = case.tok * bulk.per_tok / bulk.experts
    return sent * np.where(ep > 1, ep / tp, 1.0), case.rates.half_group


def _mix(case: StepCase) -> tuple[Numbers, Numbers]:
    """Attention and the like, each way."""
    rates, setup = case.rates, case.setup
    seq, heads = np.asarray(setup.training.seq_tok, dtype=float), attention_share(case.layout)
    scan, core, scores = np.zeros(()), np.zeros(()), np.zeros(())
    for mixer, times in case.effort.mixers:
        flops = times * mixer_flops(mixer, seq)
        if mixer.kind in STATE_MIXERS:
            scan = scan + flops
        else:
            core = core + flops
            scores = scores + times * mixer.heads * seq
    each = case.tok * heads
    scan_s = each * scan / rates.scan_flops_per_s
    if setup.habit.flash:
        core_s = each * core * (1 + rates.half_seq / seq) / rates.mixing_flops_per_s
        return core_s + scan_s, rates.backward_mixing * core_s + 2 * scan_s
    moved = each * scores / rates.mem_bytes_per_s
    core_s = 2 * each * core / rates.plain_flops_per_s  # the mask is applied after
    forward = core_s + SCORE_MOVES * moved + scan_s
    return forward, 2 * core_s + SCORE_MOVES_BACK * moved + 2 * scan_s


def _move(case: StepCase) -> Numbers:
    """Cheap operations of the layers forward, with what adapters and 4-bit weights add."""
    effort, rates, setup = case.effort, case.rates, case.setup
    tp = np.asarray(case.layout.tp, dtype=float)
    dropped = DROPOUT_BYTES * effort.reduced * effort.hidden if setup.habit.dropout and setup.full else 0
    stream = effort.stream_bytes + dropped + rates.eager * effort.eager_stream_bytes
    wide = effort.wide_bytes + rates.eager * effort.eager_wide_bytes
    a_token = (stream * case.stream_share + wide / tp) * rates.moved
    if not setup.full:
        inputs, outputs, _ = effort.adapted
        a_token = a_token + rates.adapter_bytes * (inputs + outputs) / tp
    return (case.tok * a_token + _standing(case)) / rates.mem_bytes_per_s


def _adapters_s(case: StepCase) -> Numbers:
    """Products with adapters: so narrow that they cost as if they were wider."""
    inputs, outputs, _ = case.effort.adapted
    width = np.asarray(case.setup.training.rank) + case.rates.half_width
    flops = 2 * case.tok * (inputs + outputs) * width / np.asarray(case.layout.tp)
    return flops / case.rates.plain_flops_per_s


def _standing(case: StepCase) -> Numbers:
    """Bytes moved for the weights themselves in each pass, however few the tokens."""
    setup, rates = case.setup, case.rates
    values = [bulk.held * _rank_share(bulk, case) for bulk in case.effort.bulks if not bulk.head]
    weights = sum(values, start=np.zeros(()))
    total = np.zeros(())
    if setup.training.method == "qlora":
        total = total + weights * rates.dequantise_bytes
    if setup.training.method == "dora":
        _, _, covered = case.effort.adapted
        total = total + NORM_PASSES * CAST_BYTES * covered / np.asarray(case.layout.tp)
    if setup.full and setup.precision.cast and setup.precision.param > PLAIN_BYTES:
        total = total + weights * CAST_BYTES
    return total


def _loss_s(case: StepCase) -> Numbers:
    """Logits written, read by softmax, and their gradients."""
    if not case.effort.vocab:
        return np.zeros(())
    logit = case.setup.logit
    size = case.tok * case.effort.vocab * (3 * PLAIN_BYTES + 2 * logit) / np.asarray(case.layout.tp)
    return size / case.rates.mem_bytes_per_s

"""Networks that take whole samples: images to look at or to make, texts to read. One door for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rigright.arch.count import params
from rigright.arch.image_kinds import arch_kind
from rigright.arch.record import Arch
from rigright.base.record import dataclass
from rigright.choice.networks import ENGINE, LOOK, READ, Network, moved_bytes
from rigright.cost.bands import band, mark
from rigright.cost.diffusion import DiffusionRun
from rigright.cost.estimate import Estimate, spread
from rigright.cost.images import WHOLE, ImageRun, Learns
from rigright.cost.known import Ran, ran
from rigright.cost.speed.encoder import SUBJECT, EncoderRates, encode_s, encoder_rates
from rigright.cost.training.learners import learnt_params
from rigright.demand import Numbers, Training
from rigright.facts.chips import Chip
from rigright.predict.painted import (
    BatchTime,
    Learning,
    image_time,
    paint_rates,
    painted_rates,
    painted_time,
    painted_with_band,
    reached,
    samples_with_band,
    stepped_time,
    steps_with_band,
    work_of_arch,
)
from rigright.terms.fitted import fitted
from rigright.terms.known import known_of_one

UNMEASURED = 0.7  # a judgement: scripts that people run do more beside the step
MOVED_BYTES_PER_S = 8e9  # a judgement: weights from pageable main memory over PCIe 4.0 x16
HALF = frozenset({"16bit", "bf16"})  # what computes as 16 bit do


def encoded_rates(
    chips: Sequence[Chip], engine: str, *, precision: str, tables: Mapping[str, Any] | None = None
) -> EncoderRates:
    """What chips reach in an engine, one entry a chip. `tables`: other terms than ours."""
    plain = "fp16" if precision in HALF else precision
    return encoder_rates(chips, engine, precision=plain, tables=fitted(SUBJECT, tables))


def encoded_s(
    arch: Arch, rates: EncoderRates, *, samples: Numbers, tok: Numbers, filled: Numbers = 1.0
) -> Numbers:
    """Seconds of a batch of one card; `tok`: of the longest, `filled`: the share that is no padding."""
    return encode_s(arch, rates, samples=samples, length_tok=tok, filled=filled)


def _encoded_time(arch: Arch, rates: EncoderRates, *, samples: Numbers, tok: Numbers) -> BatchTime:
    """The same by its parts: a part alone is what is left where the others cost nothing."""
    still = {"layer_s": 0.0, "host_layer_s": 0.0}
    endless = {"flops_per_s": np.inf, "attention_flops_per_s": np.inf}
    light = {"act_s": 0.0, "score_s": 0.0}

    def time(**changes: float) -> Numbers:
        return encoded_s(arch, replace(rates, **changes), samples=samples, tok=tok)

    return BatchTime(
        total_s=time(),
        compute_s=time(**light, **still),
        memory_s=time(**endless, **still),
        fixed_s=time(**endless, **light),
    )


def texts_with_band(rate: float, *, arch: Arch, engine: str, chip: Chip, source: str = "") -> Estimate:
    """Texts a second with their band; `source`: who measured them."""
    known = known_of_one(SUBJECT, chip, what=ran(arch, engine=engine, source=source))
    low, high = (1 / edge for edge in reversed(band("latency_ms", known=known)))
    own = rate / float(known.shift.get("latency", 1.0))
    return spread(own, (float(low), float(high)), mark=mark("latency_ms", known=known))


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRates:
    """What chips reach; arrays with one entry a chip."""

    own: Any  # as the law of such a network has them
    form: str = ""  # what weights are kept in
    compiled: bool = False


def network_rates(
    network: Network,
    chips: Sequence[Chip],
    *,
    run: ImageRun,
    form: str = "",
    engine: str = ENGINE,
    trains: bool = False,
) -> NetworkRates:
    """What chips reach with it, in their order; `form`: of the weights, where parts of it are moved."""
    if network.does == READ:
        own: Any = encoded_rates(chips, engine, precision=run.precision)
    elif network.does == LOOK or trains:
        kinds = [arch_kind(network.arch)] * len(chips)
        own = reached(chips, kinds=kinds, runs=[run] * len(chips))
    elif network.noise is None:
        own = paint_rates(network, chips, run=run)
    else:
        own = painted_rates(chips)
    return NetworkRates(own=own, form=form, compiled=run.compiled)


def batch_time(network: Network, rates: NetworkRates, *, batch: Numbers) -> BatchTime:
    """From samples to what is made of them."""
    if network.does == READ:
        return _encoded_time(network.arch, rates.own, samples=batch, tok=network.tok)
    if network.does == LOOK:
        return image_time(work_of_arch(network.arch, tok=network.tok), rates.own, batch=batch)
    drawn, noise = network.painter, network.noise
    if noise is None or drawn is None:
        time = stepped_time(network, rates.own, batch=batch)
    else:
        made = DiffusionRun(
            height=float(drawn.height_px), width=float(drawn.width_px),
            frames=float(drawn.frames), steps=float(network.steps or noise.steps), batch=batch,
            compiled=rates.compiled,
        )  # fmt: skip
        time = painted_time(noise, rates.own, run=made)
    return time.later(moved_bytes(network, rates.form) / MOVED_BYTES_PER_S)


def learns_of(arch: Arch, training: Training) -> Learns:
    """What of a network learns: all of it, or adapters, for which no gradients of its weights are made."""
    if training.method == "full":
        return WHOLE
    share = learnt_params(arch, training) / max(params(arch), 1)
    return Learns(share=share, back=0.5, again=float(training.recompute == "full"))


def train_time(network: Network, rates: NetworkRates, *, batch: Numbers, learning: Learning) -> BatchTime:
    """A training step of so many samples on each card."""
    return image_time(work_of_arch(network.arch), rates.own, batch=batch, learning=learning)


def network_speed(
    network: Network,
    chip: Chip,
    *,
    value: float,
    trains: bool = False,
    engine: str = ENGINE,
    learns: Learns = WHOLE,
) -> Estimate:
    """Samples a second with their band; of adapters no run was measured: it reaches further down."""
    if learns.back < 1:
        estimate = network_speed(network, chip, value=value, trains=trains, engine=engine)
        return replace(estimate, low=estimate.low * UNMEASURED, mark="physics")
    if network.does == READ:
        return texts_with_band(value, arch=network.arch, engine=engine, chip=chip)
    if network.does == LOOK:
        what = Ran(kind=arch_kind(network.arch).kin, model=network.arch.name)
        return samples_with_band(value, place=chip, what=what, trains=trains)
    if network.noise is None or trains:
        return steps_with_band(value, network=network, chip=chip)
    estimate = painted_with_band(1.0 / value, net=network.noise, chip=chip)
    return Estimate(
        value=1.0 / estimate.value, low=1.0 / estimate.high, high=1.0 / estimate.low, mark=estimate.mark
    )

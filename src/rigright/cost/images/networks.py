"""Networks that take whole samples: time and memory of a batch.

Samples are images to classify, images to generate, or texts to embed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rigright.arch import count
from rigright.arch.denoisers import Denoiser, denoiser
from rigright.arch.image_kinds import kind_of
from rigright.arch.record import Arch
from rigright.arch.sources import zoo
from rigright.arch.sources.painters import Painter, painter
from rigright.base.errors import AskError
from rigright.base.record import dataclass
from rigright.base.words import say
from rigright.cost import diffusion
from rigright.cost.bands import band, beyond, estimate, mark
from rigright.cost.estimate import Estimate, spread
from rigright.cost.images.law import ImageTime, forward, train
from rigright.cost.images.rates import SUBJECT, ImageRates, ImageRun, image_rates, place_of
from rigright.cost.images.work import arch_kind, work_of_arch, work_of_tower
from rigright.cost.known import Ran, known_of_one, ran
from rigright.cost.links import Wire
from rigright.cost.memory_kv import is_generator
from rigright.cost.memory_serving import ServingMemory, serving_memory
from rigright.cost.memory_settings import Device
from rigright.cost.memory_step import samples_bytes
from rigright.cost.speed.encoder import SUBJECT as ENCODERS
from rigright.cost.speed.encoder import encode_s, encoder_rates
from rigright.cost.weights import weigh, weights_bytes
from rigright.demand import Layout, Numbers, Serving
from rigright.facts.chips import Chip

LOOK, PAINT, READ = "look", "paint", "read"
ENGINE = "transformers"  # whose terms of memory hold for PyTorch without a server around it
WIDTHS = {  # bytes of a weight of what lies beside a denoiser, which is packed with it
    "fp16": 2.0, "bf16": 2.0, "fp32": 4.0, "fp8": 2.0, "int8": 1.0, "nf4": 0.53,
}  # fmt: skip
NEVER_TRIED = (0.4, 2.5)  # the same of what no run ever tried
TEXT_TOK = 512  # of a text, where nobody says
PAINTED = {"unet": (0.6, 1.5)}  # measured over predicted: twelve published runs, none of which was fitted
TRIED = frozenset({"transformer", "linear"})  # kinds of painters whose runs were fitted
PRECISIONS = {"fp16": "16bit", "bf16": "16bit", "fp32": "fp32", "fp8": "fp8"}  # format -> law of time
PACKED = ("int8", "nf4")  # formats of generators that do not fit as they are, the best first


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """One network, and what a sample of it is."""

    arch: Arch
    does: str  # "look", "paint" or "read"
    painter: Painter | None = None
    image_px: int | None = None
    steps: int | None = None
    tok: int = 1  # of a text

    @property
    def noise(self) -> Denoiser | None:
        """The same by the few numbers that its time follows from, where runs of such painters were fitted."""
        found = None if self.painter is None else denoiser(self.arch.name)
        return found if found is not None and found.kind in TRIED and found.frames == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRates:
    """What chips reach; arrays with one entry a chip."""

    own: Any  # of an image network, or of an encoder
    draw: ImageRates | None = None  # of what makes pixels of latents
    paint: diffusion.DiffusionRates | None = None  # of both together, where runs of such painters were fitted
    compiled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTime:
    """Seconds of a batch of one card; its parts each as if alone."""

    total_s: Numbers
    compute_s: Numbers
    memory_s: Numbers
    fixed_s: Numbers
    links_s: Numbers = 0.0


def network_of(
    arch: Arch, *, image_px: int | None = None, steps: int | None = None, tok: int | None = None
) -> Network:
    """The network with what nobody said filled in; a size of images that are looked at is in the arch."""
    if steps is not None and not is_generator(arch):
        raise AskError(say("{model} has no denoising steps: remove --steps", model=arch.name))
    if arch.task == "embed":
        most = arch.max_context_tok or TEXT_TOK
        return Network(arch=arch, does=READ, tok=min(TEXT_TOK, most) if tok is None else tok)
    if not is_generator(arch):
        return Network(arch=arch, does=LOOK, image_px=image_px)
    if zoo.exact(arch.name) is None:
        raise AskError(
            say("{model}: compute per image is known only for built-in image generators", model=arch.name)
        )
    found = painter(arch.name, image_px=image_px)
    return Network(
        arch=found.denoiser, does=PAINT, painter=found, image_px=found.image_px, steps=steps or found.steps
    )


def precisions(arch: Arch) -> Mapping[str, str]:
    """Its formats, each with its law of time; packed weights are unpacked and computed in 16 bit."""
    return PRECISIONS | dict.fromkeys(PACKED if is_generator(arch) else (), "16bit")


def network_speed(network: Network, chip: Chip, *, value: float, trains: bool = False) -> Estimate:
    """Samples a second with their band; what makes images was held against a few published runs alone."""
    if network.does == READ:
        known = known_of_one(ENCODERS, chip, what=ran(network.arch, engine=ENGINE))
        low, high = (1 / edge for edge in reversed(band(ENCODERS, "latency_ms", known=known)))
        own = value / float(known.shift.get("latency", 1.0))
        return spread(own, (float(low), float(high)), mark=mark(ENCODERS, "latency_ms", known=known))
    kind = arch_kind(network.arch)
    known = known_of_one(SUBJECT, chip, what=Ran(kind=kind.kin))
    if network.does == LOOK:
        return estimate(SUBJECT, "samples, training" if trains else "samples", value=value, known=known)
    if network.noise is not None and not trains:
        what = Ran(kind=network.noise.kind, model=network.noise.word)
        known = known_of_one(diffusion.SUBJECT, chip, what=what)
        one = estimate(diffusion.SUBJECT, "latency_s", value=1.0 / value, known=known)
        return Estimate(value=1.0 / one.value, low=1.0 / one.high, high=1.0 / one.low, mark=one.mark)
    edges = beyond(SUBJECT, "samples", edges=PAINTED.get(kind.id, NEVER_TRIED), known=known)
    return spread(value, edges, mark="fitted" if kind.id in PAINTED else "physics")


def network_rates(network: Network, chips: Sequence[Chip], *, run: ImageRun) -> NetworkRates:
    """What chips reach with it, in their order."""
    if network.does == READ:
        precision = {"16bit": "fp16"}.get(run.precision, run.precision)
        return NetworkRates(own=encoder_rates(chips, ENGINE, precision=precision))
    places = [place_of(chip, run.precision) for chip in chips]
    runs = [run] * len(places)
    own = image_rates(places, kinds=[arch_kind(network.arch)] * len(places), runs=runs)
    if network.painter is None:
        return NetworkRates(own=own)
    draw = image_rates(places, kinds=[kind_of("vae")] * len(places), runs=runs)
    paint = None if network.noise is None else diffusion.diffusion_rates(chips)
    return NetworkRates(own=own, draw=draw, paint=paint, compiled=run.compiled)


def batch_time(network: Network, rates: NetworkRates, *, batch: Numbers) -> BatchTime:
    """From samples to what is made of them."""
    return _TIMES[network.does](network, rates, batch=batch)


def train_time(
    network: Network, rates: NetworkRates, *, batch: Numbers, ranks: Numbers, wire: Wire
) -> BatchTime:
    """A training step of so many samples on each of so many cards."""
    time = train(work_of_arch(network.arch), rates.own, batch=batch, ranks=ranks, wire=wire)
    return replace(_told(time), links_s=time.link_s)


def _look(network: Network, rates: NetworkRates, *, batch: Numbers) -> BatchTime:
    return _told(forward(work_of_arch(network.arch, tok=network.tok), rates.own, batch=batch))


def _paint(network: Network, rates: NetworkRates, *, batch: Numbers) -> BatchTime:
    """Steps of the denoiser, guidance with them, then pixels."""
    drawn: Any = network.painter
    if rates.paint is not None and network.noise is not None:
        side, steps = float(drawn.image_px), float(network.steps or drawn.steps)
        made = diffusion.DiffusionRun(
            height=side, width=side, frames=1, steps=steps, batch=batch, compiled=rates.compiled
        )
        told = diffusion.diffusion_time(network.noise, rates.paint, run=made)
        return BatchTime(
            total_s=told.total_s,
            compute_s=told.compute_s,
            memory_s=told.work_s - told.compute_s,
            fixed_s=told.total_s - told.work_s,
        )
    step = _told(forward(work_of_arch(network.arch), rates.own, batch=batch * drawn.passes))
    drawing: Any = rates.draw
    draw = _told(forward(work_of_tower(drawn.decoder), drawing, batch=batch))
    return BatchTime(
        total_s=step.total_s * network.steps + draw.total_s,
        compute_s=step.compute_s * network.steps + draw.compute_s,
        memory_s=step.memory_s * network.steps + draw.memory_s,
        fixed_s=step.fixed_s * network.steps + draw.fixed_s,
    )


def _read(network: Network, rates: NetworkRates, *, batch: Numbers) -> BatchTime:
    """A part alone is what is left where the others cost nothing."""
    free = {"act_s": 0.0, "score_s": 0.0, "layer_s": 0.0, "host_layer_s": 0.0}
    endless = {"flops_per_s": np.inf, "attention_flops_per_s": np.inf}
    moving = {"layer_s": 0.0, "host_layer_s": 0.0}
    starting = {"act_s": 0.0, "score_s": 0.0}

    def time(**changes: float) -> Numbers:
        own = replace(rates.own, **changes)
        return encode_s(network.arch, own, samples=batch, length_tok=network.tok)

    return BatchTime(
        total_s=time(),
        compute_s=time(**free),
        memory_s=time(**endless, **moving),
        fixed_s=time(**endless, **starting),
    )


def _told(time: ImageTime) -> BatchTime:
    return BatchTime(
        total_s=time.total_s, compute_s=time.compute_s, memory_s=time.memory_s, fixed_s=time.launch_s
    )


_TIMES: Mapping[str, Callable[..., BatchTime]] = {
    LOOK: _look,
    PAINT: _paint,
    READ: _read,
}


def network_memory(network: Network, form: str, *, batch: Numbers, device: Device) -> ServingMemory:
    """Memory of one card with so many samples at once; a generator's other parts lie beside it."""
    drawn = network.painter
    passes = 1 if drawn is None else drawn.passes
    serving = Serving(engine=ENGINE, weights=form, batch=batch * passes, context_tok=network.tok)
    own = serving_memory(
        network.arch, weigh(network.arch, form), serving=serving, layout=Layout(), device=device
    )
    return own if drawn is None else _beside(own, drawn, form=form, device=device)


def loaded_bytes(arch: Arch, form: str) -> float:
    """All weights that a card keeps: of a generator its text encoder and decoder too."""
    own = weights_bytes(arch, form)
    if not is_generator(arch) or zoo.exact(arch.name) is None:
        return own
    return own + beside_bytes(painter(arch.name), form)


def beside_bytes(drawn: Painter, form: str) -> float:
    """What reads the prompt, and what draws."""
    draws = sum(
        count.elems(weight) * weight.copies * times for weight, times in count.weights((drawn.decoder,))
    )
    return (drawn.text_params + draws) * WIDTHS.get(form, WIDTHS["fp16"])


def _beside(own: ServingMemory, drawn: Painter, *, form: str, device: Device) -> ServingMemory:
    """What reads the prompt and what draws stay on the card; images are drawn one by one after the steps."""
    element_bytes = WIDTHS["fp32" if form == "fp32" else "fp16"]
    beside = beside_bytes(drawn, form)
    step = np.maximum(own.step_bytes, samples_bytes(drawn.decoder, 1, element_bytes=element_bytes))
    more = beside + (step - own.step_bytes) * device.reserve
    return replace(
        own,
        weights_bytes=own.weights_bytes + beside,
        step_bytes=step,
        device_bytes=own.device_bytes + more,
        spare_bytes=own.spare_bytes - more,
    )

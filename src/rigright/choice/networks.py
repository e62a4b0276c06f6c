"""Networks that take whole samples: time and memory of a batch.

Samples are images to classify, images to generate, or texts to embed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rigright.arch.denoisers import Denoiser
from rigright.arch.record import Arch
from rigright.arch.sources import zoo
from rigright.arch.sources.painters import Painter, painter
from rigright.base.errors import AskError
from rigright.base.record import dataclass
from rigright.base.words import say
from rigright.cost.layers import is_generator
from rigright.cost.memory.serving import ServingMemory, serving_memory
from rigright.cost.memory.settings import EngineCard
from rigright.cost.memory.step import samples_bytes
from rigright.demand import Layout, Length, Numbers, Serving, Size
from rigright.facts.chips import Chip
from rigright.terms.memory import started, weigh, weights_bytes

LOOK, PAINT, READ = "look", "paint", "read"
ENGINE = "transformers"  # whose terms of memory hold for PyTorch without a server around it
WIDTHS = {  # bytes of a weight of what lies beside a denoiser, which is packed with it
    "fp16": 2.0, "bf16": 2.0, "fp32": 4.0, "fp8": 2.0, "int8": 1.0, "nf4": 0.53,
}  # fmt: skip
TEXT_TOK = 512  # of a text, where nobody says
TRIED = frozenset({"transformer", "linear"})  # kinds of painters whose runs were fitted
PRECISIONS = {"fp16": "16bit", "bf16": "16bit", "fp32": "fp32", "fp8": "fp8"}  # format -> law of time
PACKED = ("int8", "nf4")  # formats of generators that do not fit as they are, the best first


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """One network, and what a sample of it is."""

    arch: Arch
    does: str  # "look", "paint" or "read"
    painter: Painter | None = None
    picture: Size | None = None  # that is looked at
    steps: int | None = None
    tok: int = 1  # of a text
    waits: bool = False  # each part of a generator lies in main memory until its turn

    @property
    def noise(self) -> Denoiser | None:
        """The same by the few numbers that its time follows from, where runs of such painters were fitted."""
        return self.painter.net if self.painter is not None and self.painter.net.kind in TRIED else None

    @property
    def size(self) -> Size | None:
        """Of what is made, or looked at."""
        drawn = self.painter
        return self.picture if drawn is None else Size(width_px=drawn.width_px, height_px=drawn.height_px)

    @property
    def unit(self) -> str:
        """What a sample is."""
        if self.does == READ:
            return "texts"
        return "videos" if self.painter is not None and self.painter.seconds else "images"


def network_of(
    arch: Arch,
    *,
    picture: Size | None = None,
    length: Length | None = None,
    steps: int | None = None,
    tok: int | None = None,
    waits: bool = False,
) -> Network:
    """The network with what nobody said filled in; a size of images that are looked at is in the arch."""
    if steps is not None and not is_generator(arch):
        raise AskError(say("{model} has no denoising steps: remove --steps", model=arch.name))
    if arch.task == "embed":
        most = arch.max_context_tok or TEXT_TOK
        return Network(arch=arch, does=READ, tok=min(TEXT_TOK, most) if tok is None else tok)
    if not is_generator(arch):
        return Network(arch=arch, does=LOOK, picture=picture)
    if zoo.exact(arch.name) is None:
        raise AskError(
            say("{model}: compute per image is known only for built-in image generators", model=arch.name)
        )
    sides = None if picture is None else (picture.width_px, picture.height_px)
    video = length or Length()
    result = painter(arch.name, sides=sides, frames=video.frames, seconds=video.seconds)
    return Network(arch=result.arch, does=PAINT, painter=result, steps=steps or result.net.steps, waits=waits)


def waiting(network: Network, chips: Iterable[Chip] = ()) -> tuple[Network, ...]:
    """The ways that its parts lie: all on the card; and each in main memory, where that is apart."""
    apart = network.painter is not None and not any(chip.unified_memory for chip in chips)
    return (network, replace(network, waits=True)) if apart else (network,)


def precisions(arch: Arch) -> Mapping[str, str]:
    """Its formats, each with its law of time; packed weights are unpacked and computed in 16 bit."""
    return PRECISIONS | dict.fromkeys(PACKED if is_generator(arch) else (), "16bit")


def network_memory(network: Network, form: str, *, batch: Numbers, device: EngineCard) -> ServingMemory:
    """Memory of one card with so many samples at once; a generator's other parts lie beside it."""
    drawn = network.painter
    passes = 1 if drawn is None else drawn.net.passes
    serving = Serving(engine=ENGINE, weights=form, batch=batch * passes, context_tok=network.tok)
    own = serving_memory(
        network.arch, weigh(network.arch, form), start=started(serving), layout=Layout(), device=device
    )
    return own if drawn is None else _beside(own, network, form=form, device=device)


def loaded_bytes(network: Network, form: str) -> float:
    """All weights that a card keeps at once: of a generator what reads the prompt and what draws too."""
    own = weights_bytes(network.arch, form)
    if network.painter is None:
        return own
    parts = part_bytes(network, form)
    return (
        max(own, *parts.values())
        if network.waits
        else own * network.painter.net.networks + sum(parts.values())
    )


def part_bytes(network: Network, form: str) -> Mapping[str, float]:
    """What lies beside the denoiser of a generator: what reads the prompt, and what draws."""
    drawn = network.painter
    if drawn is None:
        return {}
    each = WIDTHS.get(form, WIDTHS["fp16"])
    return {"text": drawn.text_params * each, "draw": drawn.draw_params * each}


def moved_bytes(network: Network, form: str) -> float:
    """What comes from main memory for each batch, where parts wait there."""
    if network.painter is None or not network.waits:
        return 0.0
    own = weights_bytes(network.arch, form) * network.painter.net.networks
    return own + sum(part_bytes(network, form).values())


def _beside(own: ServingMemory, network: Network, *, form: str, device: EngineCard) -> ServingMemory:
    """The other parts of a generator stay on the card, or come in turn; pictures are drawn one by one."""
    element_bytes = WIDTHS["fp32" if form == "fp32" else "fp16"]
    drawn: Any = network.painter
    drawing = samples_bytes(drawn.decoder, drawn.net.drawn_at_once, element_bytes=element_bytes)
    weights = loaded_bytes(network, form)
    step = np.maximum(own.step_bytes, drawing)
    more = weights - own.weights_bytes + (step - own.step_bytes) * device.reserve
    return replace(
        own,
        weights_bytes=weights,
        step_bytes=step,
        device_bytes=own.device_bytes + more,
        spare_bytes=own.spare_bytes - more,
    )

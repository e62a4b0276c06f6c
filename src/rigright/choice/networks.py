"""Networks that take whole samples: time and memory of a batch.

Samples are images to classify, images to generate, or texts to embed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rigright.arch import count
from rigright.arch.denoisers import Denoiser, denoiser
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
from rigright.demand import Layout, Numbers, Serving
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
    image_px: int | None = None
    steps: int | None = None
    tok: int = 1  # of a text

    @property
    def noise(self) -> Denoiser | None:
        """The same by the few numbers that its time follows from, where runs of such painters were fitted."""
        result = None if self.painter is None else denoiser(self.arch.name)
        return result if result is not None and result.kind in TRIED and result.frames == 1 else None


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
    result = painter(arch.name, image_px=image_px)
    return Network(
        arch=result.denoiser,
        does=PAINT,
        painter=result,
        image_px=result.image_px,
        steps=steps or result.steps,
    )


def precisions(arch: Arch) -> Mapping[str, str]:
    """Its formats, each with its law of time; packed weights are unpacked and computed in 16 bit."""
    return PRECISIONS | dict.fromkeys(PACKED if is_generator(arch) else (), "16bit")


def network_memory(network: Network, form: str, *, batch: Numbers, device: EngineCard) -> ServingMemory:
    """Memory of one card with so many samples at once; a generator's other parts lie beside it."""
    drawn = network.painter
    passes = 1 if drawn is None else drawn.passes
    serving = Serving(engine=ENGINE, weights=form, batch=batch * passes, context_tok=network.tok)
    own = serving_memory(
        network.arch, weigh(network.arch, form), start=started(serving), layout=Layout(), device=device
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


def _beside(own: ServingMemory, drawn: Painter, *, form: str, device: EngineCard) -> ServingMemory:
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

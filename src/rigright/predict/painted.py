"""Images and videos made of noise: seconds of a batch, with their band.

`explain`, `plan`, a row of a table of runs and the laboratory ask here. Painters whose runs were fitted go by
the law of diffusion; an open network of another kind by that of images, step by step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rigright.arch.denoisers import Denoiser
from rigright.arch.image_kinds import arch_kind, kind_of
from rigright.base.record import dataclass
from rigright.choice.networks import Network
from rigright.cost import diffusion
from rigright.cost.bands import beyond, estimate
from rigright.cost.diffusion import DiffusionRates, DiffusionRun
from rigright.cost.estimate import Estimate, spread
from rigright.cost.images import SUBJECT, ImageRates, ImageRun, work_of_tower
from rigright.cost.known import Ran
from rigright.demand import Numbers
from rigright.facts.chips import Chip
from rigright.predict.images import BatchTime, image_time, reached, work_of_arch
from rigright.terms.fitted import fitted, wire_of
from rigright.terms.known import known_of_one

NEVER_TRIED = (0.4, 2.5)  # measured over predicted, of what no run ever tried
PAINTED = {"unet": (0.6, 1.5)}  # the same of twelve published runs, none of which was fitted


@dataclass(frozen=True, slots=True, kw_only=True)
class PaintRates:
    """What chips reach; arrays with one entry a chip."""

    step: ImageRates  # of the denoiser
    draw: ImageRates  # of what makes pixels of latents


def paint_rates(network: Network, chips: Sequence[Chip], *, run: ImageRun) -> PaintRates:
    """What chips reach with an open network, in their order."""
    runs = [run] * len(chips)
    step = reached(chips, kinds=[arch_kind(network.arch)] * len(chips), runs=runs)
    return PaintRates(step=step, draw=reached(chips, kinds=[kind_of("vae")] * len(chips), runs=runs))


def stepped_time(network: Network, rates: PaintRates, *, batch: Numbers) -> BatchTime:
    """Steps of an open denoiser, guidance with them, then pixels."""
    drawn: Any = network.painter
    step = image_time(work_of_arch(network.arch), rates.step, batch=batch * drawn.net.passes)
    draw = image_time(work_of_tower(drawn.decoder), rates.draw, batch=batch)
    return BatchTime(
        **{
            name: getattr(step, name) * network.steps + getattr(draw, name)
            for name in ("total_s", "compute_s", "memory_s", "fixed_s")
        }
    )


def painted_rates(chips: Sequence[Chip], *, tables: Mapping[str, Any] | None = None) -> DiffusionRates:
    """What chips reach with painters whose runs were fitted. `tables`: other terms than ours."""
    terms = fitted(diffusion.SUBJECT, tables)
    return diffusion.diffusion_rates(chips, wire=wire_of(chips), tables=terms)


def painted_time(
    net: Denoiser, rates: DiffusionRates, *, run: DiffusionRun, tables: Mapping[str, Any] | None = None
) -> BatchTime:
    """From a prompt to pixels, by the few numbers that the time of such painters follows from."""
    diffusion_time = diffusion.diffusion_time(net, rates, run=run, tables=fitted(diffusion.SUBJECT, tables))
    return BatchTime(
        total_s=diffusion_time.total_s,
        compute_s=diffusion_time.compute_s,
        memory_s=diffusion_time.work_s - diffusion_time.compute_s,
        fixed_s=diffusion_time.total_s - diffusion_time.work_s,
    )


def painted_with_band(batch_s: float, *, net: Denoiser, chip: Chip, what: Ran | None = None) -> Estimate:
    """Seconds of a batch of such painters with their band; `what`: who measured it, and of which network."""
    own = Ran(kind=net.kind, model=net.word) if what is None else replace(what, kind=net.kind)
    known = known_of_one(diffusion.SUBJECT, chip, what=own)
    return estimate("latency_s", value=batch_s, known=known)


def steps_with_band(rate: float, *, network: Network, chip: Chip) -> Estimate:
    """Samples a second of an open network with their band: held against a few published runs alone."""
    kind = arch_kind(network.arch)
    known = known_of_one(SUBJECT, chip, what=Ran(kind=kind.kin))
    edges = beyond("samples", edges=PAINTED.get(kind.id, NEVER_TRIED), known=known)
    return spread(rate, edges, mark="fitted" if kind.id in PAINTED else "physics")

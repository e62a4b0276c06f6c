"""Networks that look at images, learn to, or make them of noise: seconds of a batch, samples a second."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np

from rigright.arch.denoisers import Denoiser
from rigright.arch.image_kinds import ImageKind, arch_kind, kind_of
from rigright.arch.record import Arch
from rigright.base.record import dataclass
from rigright.choice.networks import Network
from rigright.cost import diffusion
from rigright.cost.bands import beyond, estimate
from rigright.cost.diffusion import DiffusionRates, DiffusionRun
from rigright.cost.estimate import Estimate, spread
from rigright.cost.images import (
    SUBJECT,
    WHOLE,
    ImageRates,
    ImageRun,
    ImageWork,
    Learns,
    cpu_place,
    forward,
    image_rates,
    place_of,
    train,
    work_of_sample,
    work_of_tower,
)
from rigright.cost.known import Known, Ran
from rigright.cost.links import Wire
from rigright.demand import Numbers
from rigright.facts.chips import Chip, chips
from rigright.facts.cpus import CpuRate
from rigright.terms.fitted import fitted, wire_of
from rigright.terms.known import bands_of, known_of_one


def work_of_arch(arch: Arch, *, tok: int = 1) -> ImageWork:
    """What a sample goes through; `tok`: of a text, where towers have no length of their own."""
    return work_of_sample(arch, arch_kind(arch), tok=tok)


Place = Chip | CpuRate  # where a network runs


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTime:
    """Seconds of a batch of one card; its parts each as if alone."""

    total_s: Numbers
    compute_s: Numbers
    memory_s: Numbers
    fixed_s: Numbers
    links_s: Numbers = 0.0

    def later(self, more_s: float) -> BatchTime:
        """The same after so many seconds."""
        return replace(self, total_s=self.total_s + more_s, fixed_s=self.fixed_s + more_s) if more_s else self


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """A training step: so many cards sum their gradients over such a wire."""

    ranks: Numbers
    wire: Wire
    trains: Numbers = True  # an entry a case, where some look and some learn
    learns: Learns = WHOLE


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageCase:
    """A network's work, how it is run, and on what."""

    work: ImageWork
    kind: ImageKind
    run: ImageRun
    place: Place
    batch: float  # samples of one chip
    ranks: float
    trains: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageCases:
    """Cases side by side, and what of them no term changes."""

    each: tuple[ImageCase, ...]
    work: ImageWork
    batch: Numbers
    learning: Learning

    @staticmethod
    def of(cases: Sequence[ImageCase]) -> ImageCases:
        """The arrays of cases."""
        works = {
            field.name: np.array([getattr(case.work, field.name) for case in cases], dtype=float)
            for field in fields(ImageWork)
        }
        return ImageCases(
            each=tuple(cases),
            work=ImageWork(**works),
            batch=np.array([case.batch for case in cases], dtype=float),
            learning=Learning(
                ranks=np.array([case.ranks for case in cases], dtype=float),
                wire=wire_of([case.place if isinstance(case.place, Chip) else chips()[0] for case in cases]),
                trains=np.array([case.trains for case in cases]),
            ),
        )

    def samples_per_s(self, tables: Mapping[str, Any] | None = None) -> np.ndarray:
        """What the law says of each case, over all its chips. `tables`: other terms than ours."""
        rates = reached(
            [case.place for case in self.each],
            kinds=[case.kind for case in self.each],
            runs=[case.run for case in self.each],
            tables=tables,
        )
        time = image_time(self.work, rates, batch=self.batch, learning=self.learning)
        return np.asarray(self.batch * self.learning.ranks / time.total_s)


def reached(
    places: Sequence[Place],
    *,
    kinds: Sequence[ImageKind],
    runs: Sequence[ImageRun],
    tables: Mapping[str, Any] | None = None,
) -> ImageRates:
    """What each place reaches with its kind of network, run so. `tables`: other terms than ours."""
    terms = fitted(SUBJECT, tables)
    chip_rates = [
        cpu_place(place, run.precision, tables=terms)
        if isinstance(place, CpuRate)
        else place_of(place, run.precision, tables=terms)
        for place, run in zip(places, runs, strict=True)
    ]
    return image_rates(chip_rates, kinds=kinds, runs=runs, tables=terms)


def image_time(
    work: ImageWork, rates: ImageRates, *, batch: Numbers, learning: Learning | None = None
) -> BatchTime:
    """A pass over so many samples of one card, or a step that learns from them."""
    once = forward(work, rates, batch=batch)
    if learning is None:
        return BatchTime(
            total_s=once.total_s, compute_s=once.compute_s, memory_s=once.memory_s, fixed_s=once.launch_s
        )
    step = train(work, rates, batch=batch, ranks=learning.ranks, wire=learning.wire, learns=learning.learns)
    fields = {
        "total_s": (step.total_s, once.total_s),
        "compute_s": (step.compute_s, once.compute_s),
        "memory_s": (step.memory_s, once.memory_s),
        "fixed_s": (step.launch_s, once.launch_s),
        "links_s": (step.link_s, 0.0),
    }
    if learning.trains is True:
        return BatchTime(**{name: learned for name, (learned, _) in fields.items()})
    return BatchTime(**{name: np.where(learning.trains, *both) for name, both in fields.items()})


def samples_with_band(rate: float, *, place: Place, what: Ran, trains: bool = False) -> Estimate:
    """Samples a second with their band; `what`: the kind of network and its name, and who measured it."""
    figure = "samples, training" if trains else "samples"
    if not isinstance(place, Chip):
        known = Known(source=False, bands=bands_of(SUBJECT).get("bands", {}))
        return estimate(figure, value=rate, known=known)
    known = known_of_one(SUBJECT, place, what=replace(what, model=_benched_as(what.model)))
    return estimate(figure, value=rate, known=known)


@cache
def _benched_as(model: str) -> str:
    """The name under which benchmarks list a model, where they do: "resnet50" of "microsoft/resnet-50"."""
    seen: Sequence[str] = bands_of(SUBJECT).get("seen", {}).get("models", ())
    return next((name for name in seen if _letters(name) == _letters(model)), model)


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.rpartition("/")[2].lower())


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

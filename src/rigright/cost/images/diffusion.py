"""Time of making images from noise: steps of a denoiser, then pixels; reading the text is not counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rigright.arch.image_kinds import ImageKind, kind_of
from rigright.arch.painters import Painter
from rigright.cost.images.law import ImageTime, forward
from rigright.cost.images.rates import ImageRates, ImageRun, image_rates, place_of
from rigright.cost.images.work import arch_kind, work_of_arch, work_of_tower
from rigright.demand import Numbers
from rigright.facts.chips import Chip


@dataclass(frozen=True, slots=True, kw_only=True)
class PaintTime:
    """Seconds of one batch of images."""

    step: ImageTime  # one step of the denoiser, all its passes
    draw: ImageTime  # pixels from latents
    steps: Numbers
    batch: Numbers

    @property
    def total_s(self) -> Numbers:
        """The batch."""
        return self.step.total_s * self.steps + self.draw.total_s

    @property
    def images_per_s(self) -> Numbers:
        """Of one chip."""
        return self.batch / self.total_s


def paint(
    painter: Painter,
    chips: Sequence[Chip],
    *,
    run: ImageRun | None = None,
    batch: Numbers = 1,
    steps: Numbers | None = None,
) -> PaintTime:
    """Time on each of some chips, in their order; a step doubles its samples where guidance does."""
    run = run or ImageRun()
    drawn = kind_of("vae")
    kind = arch_kind(painter.denoiser)
    return PaintTime(
        step=forward(
            work_of_arch(painter.denoiser), _rates(chips, kind, run=run), batch=batch * painter.passes
        ),
        draw=forward(work_of_tower(painter.decoder), _rates(chips, drawn, run=run), batch=batch),
        steps=painter.steps if steps is None else steps,
        batch=batch,
    )


def _rates(chips: Sequence[Chip], kind: ImageKind, *, run: ImageRun) -> ImageRates:
    places = [place_of(chip, run.precision) for chip in chips]
    return image_rates(places, kinds=[kind] * len(places), runs=[run] * len(places))

"""Image and video generators for a size of picture: the network that takes noise away, the one that draws."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from rigright.arch import count
from rigright.arch.denoisers import Denoiser, denoiser
from rigright.arch.read import read_config
from rigright.arch.record import Arch, Tower
from rigright.arch.sources import zoo
from rigright.base.errors import AskError
from rigright.base.record import dataclass
from rigright.base.units import MEGA
from rigright.base.words import say

DRAWS = "stable-diffusion-v1-5/stable-diffusion-v1-5#vae"  # others differ in the latent's channels alone


Sides = tuple[int, int]  # width and height, in pixels


@dataclass(frozen=True, slots=True, kw_only=True)
class Painter:
    """One generator for one size of picture, and how it is usually run."""

    net: Denoiser
    arch: Arch
    decoder: Tower
    width_px: int
    height_px: int
    frames: int

    @property
    def text_params(self) -> float:
        """What reads the prompt."""
        return self.net.text_params_m * MEGA

    @property
    def draw_params(self) -> float:
        """What makes pixels of latents."""
        return self.net.draw_params_m * MEGA or sum(
            count.elems(weight) * weight.copies * times for weight, times in count.weights((self.decoder,))
        )

    @property
    def seconds(self) -> float | None:
        """How long a video of it plays."""
        return self.frames / self.net.fps if self.net.fps else None


@cache
def painter(
    name: str, *, sides: Sides | None = None, frames: int | None = None, seconds: float | None = None
) -> Painter:
    """A generator that ships with the program, for pictures of such sides; None: as it was made."""
    return painter_of(zoo.config(name), name, sides=sides, frames=frames, seconds=seconds)


def painter_of(
    config: Mapping[str, Any],
    name: str,
    *,
    sides: Sides | None = None,
    frames: int | None = None,
    seconds: float | None = None,
) -> Painter:
    """The same of any config of a denoiser."""
    net = denoiser(name)
    if not net.fps and (frames or seconds):
        raise AskError(say("{model} has no frames: remove --frames", model=name))
    wide, high = sides or (net.width_px, net.height)
    if seconds is not None:
        frames = round(seconds * net.fps) + 1  # as these networks cut a video
    count = frames or net.frames
    latent = [max(side // net.latent_px, 1) for side in (high, wide)]
    sized = {**config, "sample_size": latent, "latent_frames": net.deep(count) + net.given}
    return Painter(
        net=net,
        arch=read_config(sized, name),
        decoder=_decoder(high, wide, channels=net.latent_channels),
        width_px=wide,
        height_px=high,
        frames=count,
    )


@cache
def _decoder(high: int, wide: int, *, channels: int) -> Tower:
    """What draws an image out of latents of so many channels."""
    drawn = {**zoo.config(DRAWS), "sample_size": [high, wide], "latent_channels": channels}
    return read_config(drawn, DRAWS).towers[-1]

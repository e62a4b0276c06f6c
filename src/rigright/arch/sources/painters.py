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
from rigright.demand import Length, Picture

DRAWS = "stable-diffusion-v1-5/stable-diffusion-v1-5#vae"  # others differ in the latent's channels alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Painter:
    """One generator for one size of picture, and how it is usually run."""

    net: Denoiser
    arch: Arch
    decoder: Tower
    picture: Picture
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
def painter(name: str, *, picture: Picture | None = None, length: Length | None = None) -> Painter:
    """A generator that ships with the program, for pictures of such a size; None: as it was made."""
    return painter_of(zoo.config(name), name, picture=picture, length=length)


def painter_of(
    config: Mapping[str, Any], name: str, *, picture: Picture | None = None, length: Length | None = None
) -> Painter:
    """The same of any config of a denoiser."""
    net = denoiser(name)
    size = picture or Picture(width_px=net.width_px, height_px=net.height)
    frames = _frames(net, length, name=name)
    sides = [max(side // net.latent_px, 1) for side in (size.height_px, size.width_px)]
    sized = {**config, "sample_size": sides, "latent_frames": net.deep(frames) + net.given}
    return Painter(
        net=net,
        arch=read_config(sized, name),
        decoder=_decoder(size.height_px, size.width_px, channels=net.latent_channels),
        picture=size,
        frames=frames,
    )


def _frames(net: Denoiser, length: Length | None, *, name: str) -> int:
    """Frames of a video, one more than its seconds have, as these networks cut them."""
    if length is None:
        return net.frames
    if not net.fps:
        raise AskError(say("{model} makes images, not videos: remove --frames", model=name))
    return length.frames or round((length.seconds or 0.0) * net.fps) + 1


@cache
def _decoder(high: int, wide: int, *, channels: int) -> Tower:
    """What draws an image out of latents of so many channels."""
    drawn = {**zoo.config(DRAWS), "sample_size": [high, wide], "latent_channels": channels}
    return read_config(drawn, DRAWS).towers[-1]

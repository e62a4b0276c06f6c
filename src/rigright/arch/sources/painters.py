"""Image generators for a size of image: the network that takes noise away, and the one that draws pixels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from rigright.arch.read import read_config
from rigright.arch.record import Arch, Tower
from rigright.arch.sources import zoo
from rigright.base.record import dataclass
from rigright.base.tables import DATA, number, read_rows, text, whole
from rigright.base.units import MEGA

PIXELS = 8  # of an image, a side, for one place of its latent
DRAWS = "stable-diffusion-v1-5/stable-diffusion-v1-5#vae"  # others differ in the latent's channels alone
STEPS, PASSES, CHANNELS = 30, 2, 4  # of generators nobody listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Painter:
    """One generator for one size of image, and how it is usually run."""

    denoiser: Arch
    decoder: Tower
    steps: int
    passes: int  # of the denoiser a step: two with guidance
    image_px: int  # of a side
    text_params: float = 0.0  # of what reads the prompt, beside both


@cache
def painter(name: str, *, image_px: int | None = None) -> Painter:
    """A generator that ships with the program, for images of so many pixels a side; None: as it was made."""
    return painter_of(zoo.config(name), name, image_px=image_px)


def painter_of(config: Mapping[str, Any], name: str, *, image_px: int | None = None) -> Painter:
    """The same of any config of a denoiser."""
    lower = name.lower()
    other = Usual(word="", steps=STEPS, passes=PASSES, latent_channels=CHANNELS)
    usual = next((row for row in _rows() if row.word in lower), other)
    side = image_px or usual.image_px
    denoiser = read_config({**config, "sample_size": max(side // PIXELS, 1)}, name)
    return Painter(
        denoiser=denoiser,
        decoder=_decoder(side, usual.latent_channels),
        steps=usual.steps,
        passes=usual.passes,
        image_px=side,
        text_params=usual.text_params_m * MEGA,
    )


@cache
def _decoder(side: int, channels: int) -> Tower:
    """What draws an image out of latents of so many channels."""
    drawn = {**zoo.config(DRAWS), "sample_size": side, "latent_channels": channels}
    return read_config(drawn, DRAWS).towers[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """How generators with a word in their name are run."""

    word: str
    steps: int
    passes: int
    latent_channels: int
    text_params_m: float = 0.0
    image_px: int = 1024  # of a side, as it was made for


@cache
def _rows() -> tuple[Usual, ...]:
    counts = dict.fromkeys(("steps", "passes", "latent_channels", "image_px"), whole)
    readers = {"word": text, "text_params_m": number, **counts}
    rows = read_rows(DATA / "arch" / "painters.csv", readers, required=tuple(readers))
    return tuple(Usual(**row) for row in rows)

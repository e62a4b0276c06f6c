"""Image generators for a size of image: the network that takes noise away, and the one that draws pixels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from rigright.arch.read import read_config
from rigright.arch.record import Arch, Tower
from rigright.arch.sources import zoo
from rigright.base.tables import DATA, read_rows, text, whole

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


def painter(name: str, *, image_px: int = 1024) -> Painter:
    """A generator that ships with the program, for images of so many pixels a side."""
    return painter_of(zoo.config(name), name, image_px=image_px)


def painter_of(config: Mapping[str, Any], name: str, *, image_px: int = 1024) -> Painter:
    """The same of any config of a denoiser."""
    usual = _usual(name)
    drawn = {**zoo.config(DRAWS), "sample_size": image_px, "latent_channels": usual.latent_channels}
    decoder = read_config(drawn, DRAWS).towers[-1]
    denoiser = read_config({**config, "sample_size": max(image_px // PIXELS, 1)}, name)
    return Painter(denoiser=denoiser, decoder=decoder, steps=usual.steps, passes=usual.passes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """How generators with a word in their name are run."""

    word: str
    steps: int
    passes: int
    latent_channels: int


def _usual(name: str) -> Usual:
    lower = name.lower()
    other = Usual(word="", steps=STEPS, passes=PASSES, latent_channels=CHANNELS)
    return next((row for row in _rows() if row.word in lower), other)


@cache
def _rows() -> tuple[Usual, ...]:
    readers = {"word": text, "steps": whole, "passes": whole, "latent_channels": whole}
    found = read_rows(DATA / "arch" / "painters.csv", readers, required=tuple(readers))
    return tuple(Usual(**row) for row in found)

"""Networks that make images and videos of noise: the few numbers that their time follows from."""

from __future__ import annotations

import re
from functools import cache
from math import sqrt

from rigright.base.loader import records
from rigright.base.record import dataclass
from rigright.base.units import GIGA

GUESSED = "guessed"  # kind of a network that no table knows
USUAL_B = 2.0  # parameters, in 10^9, of a network whose name does not tell them
SQUARES = 12.0  # parameters of a layer that each token goes through, in squares of its width
LAYERS_A_WIDTH = 1 / 64  # of transformers: the deeper, the wider
_SIZE = re.compile(r"(\d+(?:\.\d+)?)b(?![a-z])")
_WAN = re.compile(r"wan-?2\.\d[-\w]*?-(a?14b|1\.3b)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Denoiser:
    """One network, and how it is usually run."""

    word: str  # of its name, in lower case
    layers: int
    width: int
    params_a_width2: float  # of a layer, that each token goes through, in squares of the width
    looks: int  # attentions of every token to every token
    pixel_px: int  # side of the square of pixels that is a token
    pixel_frames: int  # frames that share one
    latent_px: int  # side of the square that the decoder draws from one place
    latent_channels: int
    text_tok: int  # of the prompt, in one sequence with the picture
    given: int  # pictures that it is given, in the same sequence: what edits
    passes: int  # of a step: two with guidance
    steps: int
    height: int
    width_px: int
    frames: int
    fps: int  # of a video; 0: it makes images
    networks: int  # of such a size that take turns: one for the noisy steps, one for the others
    text_params_m: float  # of what reads the prompt, beside it
    draw_params_m: float  # of the autoencoder; 0: as those of Stable Diffusion
    draw: str  # decoder: "flat" (one image), "deep" (32 x 32 a place), "video"
    kind: str
    start: bool = False  # it works from a picture that is given
    hub: str = ""  # where Diffusers loads it from: a name, or + and what is behind its own; -: nowhere whole

    @property
    def drawn_at_once(self) -> int:
        """Frames that the decoder has in hand: it goes through a video a piece at a time."""
        return min(self.frames, self.pixel_frames)

    def deep(self, frames: float) -> int:
        """Latent frames of so many."""
        return 1 if frames <= 1 else int(frames - 1) // self.pixel_frames + 1

    def tokens(self, *, height: float, width: float, frames: float) -> float:
        """Tokens of one picture or video, and of those that are given."""
        area = max(height // self.pixel_px, 1) * max(width // self.pixel_px, 1)
        return area * (self.deep(frames) + self.given)


def denoiser(name: str) -> Denoiser:
    """By a word of its name; else by the parameters the name tells."""
    lower = _WAN.sub(_wan, name.lower())
    known = next((row for row in _rows() if row.word in lower), None)
    if known is not None:
        return known
    sizes = [float(value) for value in _SIZE.findall(lower)]
    params = (max(sizes) if sizes else USUAL_B) * GIGA
    width = (params / SQUARES / LAYERS_A_WIDTH) ** (1 / 3)
    layers = max(round(params / SQUARES / width**2), 1)
    video = any(word in lower for word in ("video", "t2v", "i2v", "v2v"))
    return Denoiser(
        word="", layers=layers, width=round(sqrt(params / SQUARES / layers)), params_a_width2=SQUARES,
        looks=layers, pixel_px=16, pixel_frames=4, latent_px=8, latent_channels=16 if video else 4,
        text_tok=256, given=0, passes=2, steps=50 if video else 30,
        height=480 if video else 1024, width_px=832 if video else 1024, frames=81 if video else 1,
        fps=16 if video else 0, networks=1, text_params_m=0.0, draw_params_m=0.0,
        draw="video" if video else "flat", kind=GUESSED,
    )  # fmt: skip


def _wan(name: re.Match[str]) -> str:
    """The name of a Wan without its version: both of a size are alike, but for a second network."""
    given = "i2v-" if "i2v" in name[0] else ""
    return f"wan-{given}{name[1]}"


@cache
def _rows() -> tuple[Denoiser, ...]:
    return records("arch/denoisers.csv", Denoiser)

"""Networks that make images and videos of noise, by the few numbers that their time follows from."""

from __future__ import annotations

import re
from functools import cache
from math import sqrt

from rigright.base.record import dataclass
from rigright.base.tables import DATA, number, read_rows, text, whole
from rigright.base.units import GIGA

GUESSED = "guessed"  # kind of a network that no table knows
USUAL_B = 2.0  # parameters, in 10^9, of a network whose name does not tell them
SQUARES = 12.0  # parameters of a layer that each token goes through, in squares of its width
LAYERS_A_WIDTH = 1 / 64  # of transformers: the deeper, the wider
_SIZE = re.compile(r"(\d+(?:\.\d+)?)b(?![a-z])")


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
    text_tok: int  # of the prompt, in one sequence with the picture
    passes: int  # of a step: two with guidance
    steps: int
    height: int
    width_px: int
    frames: int
    draw: str  # decoder: "flat" (one image), "deep" (32 x 32 a place), "video"
    kind: str

    def tokens(self, *, height: float, width: float, frames: float) -> float:
        """Tokens of one picture or video."""
        deep = 1 if frames <= 1 else (frames - 1) // self.pixel_frames + 1
        return max(height // self.pixel_px, 1) * max(width // self.pixel_px, 1) * max(deep, 1)


def denoiser(name: str) -> Denoiser:
    """By a word of its name; else by the parameters the name tells."""
    lower = re.sub(
        r"wan-?2\.\d[-\w]*?-(a?14b|1\.3b)", lambda match: f"wan-{match[1].removeprefix('a')}", name.lower()
    )
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
        looks=layers, pixel_px=16, pixel_frames=4, latent_px=8, text_tok=256, passes=2,
        steps=50 if video else 28,
        height=480 if video else 1024, width_px=832 if video else 1024, frames=81 if video else 1,
        draw="video" if video else "flat", kind=GUESSED,
    )  # fmt: skip


@cache
def _rows() -> tuple[Denoiser, ...]:
    counts = (
        *("layers", "width", "looks", "pixel_px", "pixel_frames", "latent_px", "text_tok", "passes", "steps"),
        *("height", "width_px", "frames"),
    )
    readers = {
        **dict.fromkeys(("word", "draw", "kind"), text),
        "params_a_width2": number,
        **dict.fromkeys(counts, whole),
    }
    return tuple(
        Denoiser(**row)
        for row in read_rows(DATA / "arch" / "denoisers.csv", readers, required=tuple(readers))
    )

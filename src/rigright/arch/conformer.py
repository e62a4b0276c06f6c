"""Audio towers of Gemma's kind: two convolutions over the spectrogram, then conformer layers."""

from __future__ import annotations

from rigright.arch.blocks import matrix, norm
from rigright.arch.record import Cut, Ffn, Layer, Mix, Mixer, Tower, Weight
from rigright.arch.stack import at, conv, linear, vector
from rigright.base.record import dataclass

FRAMES = 3000  # spectrogram frames of 30 seconds, the sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Conformer:
    """One such tower."""

    hidden: int
    heads: int
    layers: int
    kernel: int
    channels: tuple[int, int]  # of the two convolutions
    bands: int  # of the spectrum, after the convolutions
    features: int = 128  # of a frame, before them
    window_tok: int = 24  # how far attention looks


def ear_tower(ear: Conformer, *, after: tuple[Weight, ...] = ()) -> Tower:
    """The tower, with what follows its layers."""
    first, second = ear.channels
    tok = FRAMES // 4
    # half a feed-forward, attention, a gated convolution, the other half
    hidden = ear.hidden
    head = hidden // ear.heads
    square = matrix("attn.q", hidden, inputs=hidden, cut=Cut.OUT)
    half = (
        *matrix("ffn.up", 4 * hidden, inputs=hidden, cut=Cut.OUT),
        *matrix("ffn.down", hidden, inputs=4 * hidden, cut=Cut.IN),
    )
    gated = (
        *matrix("mixer.in", 2 * hidden, inputs=hidden, cut=Cut.WHOLE),
        *conv("mixer.conv", (hidden, 1, ear.kernel), bias=False),
        *matrix("mixer.out", hidden, inputs=hidden, cut=Cut.WHOLE),
    )
    norms = norm(hidden) * (2 + 2 + 2 + 2 + 1)
    return Tower(
        name="audio",
        hidden=ear.hidden,
        layers=(
            Layer(
                weights=at((*half, *half, *square * 5, *gated, *norms, *vector(head)), tok),
                mixer=Mixer(
                    kind=Mix.BOTH,
                    heads=ear.heads,
                    kv_heads=ear.heads,
                    key_dim=head,
                    value_dim=head,
                    window_tok=ear.window_tok,
                ),
                ffn=Ffn(width=4 * hidden, gated=False),
            ),
        )
        * ear.layers,
        outer=(
            *conv("conv", (first, 1, 3, 3), bias=False, sites=FRAMES // 2 * ear.features // 2),
            *norm(first),
            *conv("conv", (second, first, 3, 3), bias=False, sites=tok * ear.features // 4),
            *norm(second),
            *linear("patch", (ear.hidden, second * ear.bands), bias=False, sites=tok),
            *after,
        ),
        sample_tok=tok,
    )

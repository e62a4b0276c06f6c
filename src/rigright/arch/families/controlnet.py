"""ControlNet: the way down and the middle of a UNet, fed with an image that says where things stand."""

from __future__ import annotations

from itertools import pairwise

from rigright.arch.config import Config
from rigright.arch.conv import Flow, begin, conv, gelu
from rigright.arch.defaults import full
from rigright.arch.diffusion import seal
from rigright.arch.families.unet import Blocks, conditions, down, middle
from rigright.arch.record import Arch, Tower, Weight
from rigright.arch.vision import sides

MATCHES = ("controlnet", "ControlNetModel")
_SHRUNK = 8  # the image is eight times as high and wide as the latent


def read(config: Config, name: str) -> Arch:
    """Read a ControlNet config."""
    config = full(config, "ControlNetModel")
    widths = config.sizes("block_out_channels")
    high, wide = sides(config.raw.get("sample_size"), 64)
    plan = Blocks(config=config, time=4 * widths[0], widths=widths)
    seen, _ = seal(_image(config, widths[0], high=high * _SHRUNK, wide=wide * _SHRUNK))
    start = conv(begin(config.size("in_channels"), high, wide=wide), widths[0], kernel=3, bias=True)
    layers, flow, skips = down(plan, start)
    centre, _ = middle(plan, flow)
    handed = tuple(
        weight
        for width in (*skips, widths[-1])
        for weight in (
            Weight(role="conv", shape=(width, width, 1, 1)),
            Weight(role="conv.bias", shape=(width,)),
        )
    )
    tower = Tower(
        name="unet",
        hidden=widths[-1],
        layers=(seen, *layers, *centre),
        outer=(*conditions(config, plan.time, first=widths[0]), *handed),
    )
    return Arch(name=name, family="controlnet", task="image", towers=(tower,), dtype="fp16")


def _image(config: Config, width: int, *, high: int, wide: int) -> Flow:
    """The image brought down to the latent's size, step by step."""
    widths = config.sizes("conditioning_embedding_out_channels")
    flow = gelu(
        conv(begin(config.size("conditioning_channels"), high, wide=wide), widths[0], kernel=3, bias=True)
    )
    for here, there in pairwise(widths):
        flow = gelu(conv(flow, here, kernel=3, bias=True))
        flow = gelu(conv(flow, there, kernel=3, stride=2, bias=True))
    return conv(flow, width, kernel=3, bias=True)

"""The autoencoder between images and latents: Stable Diffusion's, SDXL's, FLUX's."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.conv import Flow, begin, conv, depth, gelu, norm
from rigright.arch.defaults import full
from rigright.arch.diffusion import Look, doubled, halved, residual, seal, single_look
from rigright.arch.record import Arch, Layer, Tower
from rigright.arch.vision import sides

MATCHES = ("vae", "diffusers-autoencoderkl", "AutoencoderKL")
_SAMPLE = 512  # image side where the config names none


def read(config: Config, name: str) -> Arch:
    """Read an autoencoder's config."""
    config = full(config, "AutoencoderKL")
    widths = config.sizes("block_out_channels")
    high, wide = sides(config.raw.get("sample_size"), _SAMPLE)
    latent = config.size("latent_channels")
    down, flow = _encoder(config, begin(config.size("in_channels"), high, wide=wide), widths=widths)
    small = begin(latent, flow.shape[1], wide=flow.shape[2])
    back = _decoder(config, small, widths=widths)
    towers = (
        Tower(name="encoder", hidden=widths[-1], layers=tuple(down)),
        Tower(name="vae", hidden=widths[-1], layers=tuple(back)),
    )
    return Arch(name=name, family="vae", task="image", towers=towers, dtype="fp32")


def _steps(config: Config) -> int:
    return depth(config, "layers_per_block", value=config.whole("layers_per_block"))


def _encoder(config: Config, image: Flow, *, widths: list[int]) -> tuple[list[Layer], Flow]:
    """From the image down to the mean and variance of its latent."""
    stem, flow = seal(conv(image, widths[0], kernel=3, bias=True))
    layers = [stem]
    for index, width in enumerate(widths):
        for _ in range(_steps(config)):
            layer, flow = seal(residual(flow, width))
            layers.append(layer)
        if index + 1 < len(widths):
            layer, flow = seal(halved(flow))
            layers.append(layer)
    middle, flow = _middle(config, flow)
    latent = 2 * config.size("latent_channels")
    end = conv(gelu(norm(flow)), latent, kernel=3, bias=True)
    if config.flag("use_quant_conv", default=True):
        end = conv(end, latent, kernel=1, bias=True)
    last, flow = seal(end)
    return [*layers, *middle, last], flow


def _decoder(config: Config, latent: Flow, *, widths: list[int]) -> list[Layer]:
    """From a latent up to the image."""
    start = latent
    if config.flag("use_post_quant_conv", default=True):
        start = conv(start, latent.shape[0], kernel=1, bias=True)
    stem, flow = seal(conv(start, widths[-1], kernel=3, bias=True))
    middle, flow = _middle(config, flow)
    layers = [stem, *middle]
    for index, width in enumerate(reversed(widths)):
        for _ in range(_steps(config) + 1):
            layer, flow = seal(residual(flow, width))
            layers.append(layer)
        if index + 1 < len(widths):
            layer, flow = seal(doubled(flow))
            layers.append(layer)
    last, _ = seal(conv(gelu(norm(flow)), config.size("out_channels"), kernel=3, bias=True))
    return [*layers, last]


def _middle(config: Config, flow: Flow) -> tuple[list[Layer], Flow]:
    """Two residual blocks with one attention of a single head between them."""
    width = flow.shape[0]
    after = residual(flow, width)
    look = Look(heads=1, head_dim=width) if config.flag("mid_block_add_attention", default=True) else None
    first, flow = seal(single_look(after, look) if look else after, look, feeds=False)
    second, flow = seal(residual(flow, width))
    return [first, second], flow

"""Denoisers of convolutions, and the autoencoders of latents."""

from __future__ import annotations

from itertools import pairwise

from rigright.arch.config import Config
from rigright.arch.conv import Flow, begin, conv, depth, gelu, norm
from rigright.arch.defaults import full
from rigright.arch.diffusion import (
    Look,
    block,
    doubled,
    embedded,
    enter,
    halved,
    joined,
    leave,
    residual,
    seal,
    single_look,
)
from rigright.arch.record import Arch, Layer, Tower, Weight
from rigright.arch.stack import linear
from rigright.arch.vision import sides
from rigright.base.errors import DataError
from rigright.base.record import dataclass
from rigright.base.words import say

TEXT_TOK = 77


_PLAIN = frozenset({"UNet2DModel", "diffusers-unet2d"})  # without attention to a text


_UNET_SAMPLE = 64  # latent side where the config names none


_KNOWN = {
    "DownBlock2D": "",
    "UpBlock2D": "",
    "CrossAttnDownBlock2D": "text",
    "CrossAttnUpBlock2D": "text",
    "AttnDownBlock2D": "self",
    "AttnUpBlock2D": "self",
    "UNetMidBlock2DCrossAttn": "text",
    "UNetMidBlock2D": "self",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """What the blocks share."""

    config: Config
    time: int  # width of the time's embedding
    widths: list[int]

    def each(self, key: str) -> list[int]:
        """A setting a block: one number for all, or a list."""
        value = self.config.raw.get(key)
        if isinstance(value, list | tuple):
            first = [item[0] if isinstance(item, list | tuple) else item for item in value]
            return self.config.over(**{key: first}).sizes(key)
        return [self.config.whole(key)] * len(self.widths)

    def counts(self, key: str) -> list[int]:
        """How many of something a block has."""
        return [depth(self.config, key, value=value) for value in self.each(key)]

    def look(self, index: int, kind: str, *, blocks: int | None = None) -> Look | None:
        """The attention of one block, if it has any."""
        if not kind:
            return None
        width = self.widths[index]
        number = self.each(
            "num_attention_heads"
            if self.config.raw.get("num_attention_heads") is not None
            else "attention_head_dim"
        )[index]
        if kind == "self":
            return Look(heads=max(width // number, 1), head_dim=number)
        return Look(
            heads=number,
            head_dim=width // number,
            text_width=self.each("cross_attention_dim")[index],
            text_tok=TEXT_TOK,
            blocks=self.counts("transformer_layers_per_block")[index] if blocks is None else blocks,
            flat=self.config.flag("use_linear_projection", default=False),
            only_cross=bool(_per_block(self.config, "only_cross_attention", count=len(self.widths))[index]),
        )


def read_unet(config: Config, name: str) -> Arch:
    """The UNet of Stable Diffusion 1, 2 and XL: down, middle and up, with attention to the text."""
    plain = bool(_PLAIN.intersection(map(str, (config.raw.get("_class_name"), config.raw.get("model_type")))))
    config = full(config, "UNet2DModel" if plain else "UNet2DConditionModel")
    widths = config.sizes("block_out_channels")
    high, wide = sides(config.raw.get("sample_size"), _UNET_SAMPLE)
    plan = Blocks(config=config, time=config.maybe("time_embedding_dim") or 4 * widths[0], widths=widths)
    kernel = config.size("conv_in_kernel", default=3)
    start = conv(begin(config.size("in_channels"), high, wide=wide), widths[0], kernel=kernel, bias=True)
    layers, flow, skips = down(plan, start)
    centre, flow = middle(plan, flow)
    back, flow = _up(plan, flow, skips=skips)
    end = conv(gelu(norm(flow)), config.size("out_channels"), kernel=3, bias=True)
    last, _ = seal(end)
    tower = Tower(
        name="unet",
        hidden=widths[-1],
        layers=(*layers, *centre, *back, last),
        outer=conditions(config, plan.time, first=widths[0]),
    )
    return Arch(name=name, family="unet", task="image", towers=(tower,), dtype="fp16")


def _kind(config: Config, key: str, *, index: int) -> str:
    values = config.items(key)
    word = str(values[index]) if index < len(values) else "?"
    if word not in _KNOWN:
        raise DataError(say('{where}: "{key}" cannot be {value}', where=config.where, key=key, value=word))
    return _KNOWN[word]


def _per_block(config: Config, key: str, *, count: int) -> list[object]:
    value = config.raw.get(key)
    return list(value) if isinstance(value, list | tuple) else [value] * count


def _step(plan: Blocks, flow: Flow, *, width: int, look: Look | None, kind: str) -> tuple[list[Layer], Flow]:
    """A residual block, and the attention behind it."""
    after = residual(flow, width, time_width=plan.time)
    if look is None:
        layer, flow = seal(after)
        return [layer], flow
    if kind == "self":
        layer, flow = seal(single_look(after, look), look, feeds=False)
        return [layer], flow
    entry, flow = seal(enter(after, look))
    layers = [entry]
    for _ in range(look.blocks):
        layer, flow = seal(block(flow, look), look)
        layers.append(layer)
    exits, flow = seal(leave(flow, look, width=width))
    return [*layers, exits], flow


def down(plan: Blocks, flow: Flow) -> tuple[list[Layer], Flow, list[int]]:
    """Downwards: steps, then half the size, each map remembered for the way up."""
    stem, flow = seal(flow)
    layers, skips = [stem], [flow.shape[0]]
    counts = plan.counts("layers_per_block")
    for index, width in enumerate(plan.widths):
        kind = _kind(plan.config, "down_block_types", index=index)
        for _ in range(counts[index]):
            steps, flow = _step(plan, flow, width=width, look=plan.look(index, kind), kind=kind)
            layers += steps
            skips.append(width)
        if index + 1 < len(plan.widths):
            layer, flow = seal(halved(flow))
            layers.append(layer)
            skips.append(width)
    return layers, flow, skips


def middle(plan: Blocks, flow: Flow) -> tuple[list[Layer], Flow]:
    """A step with attention and one without, where the network is smallest."""
    value = plan.config.raw.get("mid_block_type")
    if value is None:
        return [], flow
    kind = _KNOWN.get(str(value), "text")
    if kind == "self" and not plan.config.flag("add_attention", default=True):
        kind = ""
    width = plan.widths[-1]
    steps, flow = _step(plan, flow, width=width, look=plan.look(len(plan.widths) - 1, kind), kind=kind)
    last, flow = seal(residual(flow, width, time_width=plan.time))
    return [*steps, last], flow


def _up(plan: Blocks, flow: Flow, *, skips: list[int]) -> tuple[list[Layer], Flow]:
    """The way up: the maps of the way down beside one's own, steps, then twice the size."""
    layers: list[Layer] = []
    counts, last = plan.counts("layers_per_block"), len(plan.widths) - 1
    for index in range(last + 1):
        source = last - index
        kind = _kind(plan.config, "up_block_types", index=index)
        look = plan.look(
            source, kind, blocks=_reversed(plan, index, source=source) if kind == "text" else None
        )
        for _ in range(counts[source] + 1):
            steps, flow = _step(
                plan, joined(flow, skips.pop()), width=plan.widths[source], look=look, kind=kind
            )
            layers += steps
        if index < last:
            layer, flow = seal(doubled(flow))
            layers.append(layer)
    return layers, flow


def _reversed(plan: Blocks, index: int, *, source: int) -> int:
    """Attention blocks on the way up: told apart, or those of the way down in reverse."""
    key = "reverse_transformer_layers_per_block"
    if plan.config.raw.get(key) is not None:
        return plan.counts(key)[index]
    return plan.counts("transformer_layers_per_block")[source]


def conditions(config: Config, time: int, *, first: int) -> tuple[Weight, ...]:
    """Embeddings of the time, and of what else steers the image."""
    weights = embedded(time, first)
    if config.raw.get("time_cond_proj_dim") is not None:
        weights += linear("project", (first, config.size("time_cond_proj_dim")), bias=False)
    if config.raw.get("class_embed_type") is None and config.raw.get("num_class_embeds") is not None:
        weights += (Weight(role="position", shape=(config.size("num_class_embeds"), time)),)
    if config.raw.get("class_embed_type") == "projection":
        weights += embedded(time, config.size("projection_class_embeddings_input_dim"))
    if config.raw.get("addition_embed_type") == "text_time":
        weights += embedded(time, config.size("projection_class_embeddings_input_dim"))
    if config.raw.get("encoder_hid_dim_type") == "text_proj" or (
        config.raw.get("encoder_hid_dim") is not None and config.raw.get("encoder_hid_dim_type") is None
    ):
        width = (
            config.sizes("cross_attention_dim")[0]
            if isinstance(config.raw.get("cross_attention_dim"), list | tuple)
            else config.size("cross_attention_dim")
        )
        weights += linear("project", (width, config.size("encoder_hid_dim")), sites=TEXT_TOK)
    return weights


_SHRUNK = 8  # the image is eight times as high and wide as the latent


def read_controlnet(config: Config, name: str) -> Arch:
    """ControlNet: the way down and the middle of a UNet, fed with an image that says where things stand."""
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


_VAE_SAMPLE = 512  # image side where the config names none


def read_vae(config: Config, name: str) -> Arch:
    """The autoencoder between images and latents: Stable Diffusion's, SDXL's, FLUX's."""
    config = full(config, "AutoencoderKL")
    widths = config.sizes("block_out_channels")
    high, wide = sides(config.raw.get("sample_size"), _VAE_SAMPLE)
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

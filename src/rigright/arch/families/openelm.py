"""OpenELM: each layer with its own number of heads and its own width."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.config import Config
from rigright.arch.decoder import LAYERS, Style, attend, feed, layer, read_sizes, text_arch
from rigright.arch.plan import repeat
from rigright.arch.record import Arch

MATCHES = ("openelm", "OpenELMForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    layers = config.layers(*LAYERS)
    heads = config.sizes("num_query_heads")
    kv_heads = config.sizes("num_kv_heads")
    step = config.size("ffn_dim_divisor", default=256)
    normed = config.flag("normalize_qk_projections", default=True)
    style = Style(family="openelm", qk_norm="head" if normed else "none")
    size = read_sizes(
        config,
        layers=layers,
        heads=heads[0],
        kv_heads=kv_heads[0],
        width=step,
        tied=config.flag("share_input_output_layers", default=True),
    )
    widths = [
        _divisible(Config({"item": item}, config.where).number("item") * size.hidden, step)
        for item in config.items("ffn_multipliers")
    ]
    sizes = [
        replace(size, heads=own, kv_heads=kv, width=width)
        for own, kv, width in zip(heads[:layers], kv_heads[:layers], widths[:layers], strict=True)
    ]
    built = repeat(sizes, lambda each: layer(each.hidden, style, attend(each, style), feed(each, style)))
    return text_arch(config, name, style=style, size=size, layers=built)


def _divisible(width: float, step: int) -> int:
    """The nearest multiple of the step, never a tenth below."""
    nearest = max(step, int(width + step / 2) // step * step)
    return nearest + step if nearest < 0.9 * width else nearest

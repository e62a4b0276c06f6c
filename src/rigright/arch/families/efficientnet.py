"""EfficientNet: deep convolutions with gates a channel, scaled in width, depth and image."""

from __future__ import annotations

import math

from rigright.arch.config import Config
from rigright.arch.conv import Flow, add, begin, close, conv, depth, fork, gelu, head, norm, squeeze
from rigright.arch.defaults import full
from rigright.arch.heads import labels, task
from rigright.arch.record import Arch, Layer, Tower
from rigright.arch.vision import sides

MATCHES = ("efficientnet", "EfficientNetForImageClassification", "EfficientNetModel")
_STEM, _TOP = 32, 1280  # channels before scaling


def read(config: Config, name: str) -> Arch:
    """Read an EfficientNet config."""
    config = full(config, "efficientnet")
    high, wide = sides(config.raw.get("image_size"), 224)
    image = begin(config.size("num_channels"), high, wide=wide)
    first, flow = close(gelu(norm(conv(image, _scaled(config, _STEM), kernel=3, stride=2))))
    layers = [first]
    for index in range(len(config.sizes("in_channels"))):
        stage, flow = _stage(config, flow, index=index)
        layers += stage
    last, flow = close(gelu(norm(conv(flow, _scaled(config, _TOP), kernel=1))))
    asked = task(config, "ForImageClassification")
    classes = head(flow, labels(config)) if asked == "ForImageClassification" else ()
    tower = Tower(name="vision", hidden=flow.shape[0], layers=(*layers, last), outer=classes)
    return Arch(name=name, family="efficientnet", task="vision", towers=(tower,), dtype="fp32")


def _scaled(config: Config, channels: int) -> int:
    """Channels times the width coefficient, in whole steps, never more than a tenth below."""
    step = config.size("depth_divisor")
    wanted = channels * config.number("width_coefficient")
    rounded = max(step, int(wanted + step / 2) // step * step)
    return rounded + step if rounded < 0.9 * wanted else rounded


def _stage(config: Config, flow: Flow, *, index: int) -> tuple[list[Layer], Flow]:
    """The blocks of one stage; only the first changes size and width."""
    wanted = math.ceil(config.number("depth_coefficient") * config.sizes("num_block_repeats")[index])
    repeats = depth(config, "num_block_repeats", value=wanted)
    layers = []
    for place in range(repeats):
        first = place == 0
        inputs, outputs = flow.shape[0], _scaled(config, config.sizes("out_channels")[index])
        stride = config.sizes("strides")[index] if first else 1
        ratio = config.sizes("expand_ratios")[index]
        wide = gelu(norm(conv(flow, inputs * ratio, kernel=1))) if ratio != 1 else flow
        deep = conv(
            wide,
            wide.shape[0],
            kernel=config.sizes("kernel_sizes")[index],
            stride=stride,
            groups=wide.shape[0],
        )
        narrow = max(1, int(inputs * config.number("squeeze_expansion_ratio")))
        after = norm(conv(squeeze(gelu(norm(deep)), narrow), outputs, kernel=1))
        layer, flow = close(add(after, fork(flow)) if stride == 1 and not first else after)
        layers.append(layer)
    return layers, flow

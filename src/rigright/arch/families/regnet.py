"""RegNet: ResNet's layers with grouped convolutions, and in its Y form a gate a channel."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.conv import Flow, add, begin, close, conv, depths, fork, head, norm, relu, squeeze
from rigright.arch.defaults import full
from rigright.arch.heads import labels, task
from rigright.arch.record import Arch, Layer, Tower
from rigright.arch.vision import sides

MATCHES = ("regnet", "RegNetForImageClassification", "RegNetModel")


def read(config: Config, name: str) -> Arch:
    """Read a RegNet config."""
    config = full(config, "regnet")
    high, wide = sides(config.raw.get("image_size"), 224)
    image = begin(config.size("num_channels"), high, wide=wide)
    first, flow = close(relu(norm(conv(image, config.size("embedding_size"), kernel=3, stride=2))))
    layers = [first]
    stages = config.aligned(hidden_sizes=config.sizes("hidden_sizes"), depths=depths(config, "depths"))
    for index, (width, depth) in enumerate(stages):
        halves = index > 0 or config.flag("downsample_in_first_stage", default=True)
        for place in range(depth):
            layer, flow = _layer(config, flow, width=width, stride=2 if halves and place == 0 else 1)
            layers.append(layer)
    asked = task(config, "ForImageClassification")
    classes = head(flow, labels(config)) if asked == "ForImageClassification" else ()
    tower = Tower(name="vision", hidden=flow.shape[0], layers=tuple(layers), outer=classes)
    return Arch(name=name, family="regnet", task="vision", towers=(tower,), dtype="fp32")


def _layer(config: Config, flow: Flow, *, width: int, stride: int) -> tuple[Layer, Flow]:
    inputs = flow.shape[0]
    groups = max(1, width // config.size("groups_width"))
    first = relu(norm(conv(flow, width, kernel=1)))
    middle = relu(norm(conv(first, width, kernel=3, stride=stride, groups=groups)))
    if config.word("layer_type", default="y") == "y":
        middle = squeeze(middle, round(inputs / 4))
    branch = norm(conv(middle, width, kernel=1))
    projects = inputs != width or stride != 1
    short = norm(conv(fork(flow), width, kernel=1, stride=stride)) if projects else fork(flow)
    return close(relu(add(branch, short)))

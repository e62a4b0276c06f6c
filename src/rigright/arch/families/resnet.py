"""ResNet: convolutions with batch norms around shortcuts, plain or with a narrow middle."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.conv import Flow, add, begin, close, conv, depths, fork, head, norm, pool, relu
from rigright.arch.defaults import full
from rigright.arch.heads import labels, task
from rigright.arch.record import Arch, Tower
from rigright.arch.vision import sides

MATCHES = ("resnet", "ResNetForImageClassification", "ResNetModel")
_NARROW = 4  # how much narrower the middle of a bottleneck is


def read(config: Config, name: str) -> Arch:
    """Read a ResNet config."""
    config = full(config, "resnet")
    high, wide = sides(config.raw.get("image_size"), 224)
    image = begin(config.size("num_channels"), high, wide=wide)
    stem = pool(_step(image, config.size("embedding_size"), kernel=7, stride=2), 3, stride=2, padding=1)
    first, flow = close(stem)
    layers = [first]
    for index, (width, depth) in enumerate(
        config.aligned(hidden_sizes=config.sizes("hidden_sizes"), depths=depths(config, "depths"))
    ):
        halves = index > 0 or config.flag("downsample_in_first_stage", default=False)
        for place in range(depth):
            # A branch of two or three convolutions, added to the map or to a projection of it
            stride = 2 if halves and place == 0 else 1
            projects = stride != 1 or flow.shape[0] != width
            if config.word("layer_type", default="bottleneck") == "bottleneck":
                early = config.flag("downsample_in_bottleneck", default=False)
                narrow = width // _NARROW
                reduced = _step(flow, narrow, kernel=1, stride=stride if early else 1)
                middle = _step(reduced, narrow, kernel=3, stride=1 if early else stride)
                branch = norm(conv(middle, width, kernel=1))
            else:
                branch = norm(conv(_step(flow, width, kernel=3, stride=stride), width, kernel=3))
            short = norm(conv(fork(flow), width, kernel=1, stride=stride)) if projects else fork(flow)
            layer, flow = close(relu(add(branch, short)))
            layers.append(layer)
    asked = task(config, "ForImageClassification")
    classes = head(flow, labels(config)) if asked == "ForImageClassification" else ()
    tower = Tower(name="vision", hidden=flow.shape[0], layers=tuple(layers), outer=classes)
    return Arch(name=name, family="resnet", task="vision", towers=(tower,), dtype="fp32")


def _step(flow: Flow, outputs: int, *, kernel: int, stride: int = 1) -> Flow:
    return relu(norm(conv(flow, outputs, kernel=kernel, stride=stride)))

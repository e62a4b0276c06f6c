"""MobileNetV2: narrow maps widened, convolved a channel at a time, and narrowed again."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.conv import Flow, add, begin, close, conv, fork, head, norm, relu
from rigright.arch.defaults import full
from rigright.arch.heads import labels, task
from rigright.arch.record import Arch, Layer, Tower
from rigright.arch.vision import sides

MATCHES = ("mobilenet_v2", "MobileNetV2ForImageClassification", "MobileNetV2Model")
_STEM, _TOP = 32, 1280
_CHANNELS = (16, 24, 24, 32, 32, 32, 64, 64, 64, 64, 96, 96, 96, 160, 160, 160, 320)
_STRIDES = (2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1)


def read(config: Config, name: str) -> Arch:
    """Read a MobileNetV2 config."""
    config = full(config, "mobilenet_v2")
    high, wide = sides(config.raw.get("image_size"), 224)
    image = begin(config.size("num_channels"), high, wide=wide)
    narrow = _scaled(config, _STEM)
    deep = _step(image, narrow, kernel=3, stride=2)
    if not config.flag("first_layer_is_expansion", default=True):
        deep = _step(deep, narrow, kernel=1)
    first, flow = close(
        norm(conv(_step(deep, narrow, kernel=3, groups=narrow), _scaled(config, _CHANNELS[0]), kernel=1))
    )
    layers, reached = [first], 2
    for outputs, told in zip(_CHANNELS[1:], _STRIDES, strict=True):
        stride = 1 if reached == config.size("output_stride") else told
        reached *= stride
        layer, flow = _block(config, flow, outputs=_scaled(config, outputs), stride=stride)
        layers.append(layer)
    full_top = config.flag("finegrained_output", default=True) and config.number("depth_multiplier") < 1
    last, flow = close(_step(flow, _TOP if full_top else _scaled(config, _TOP), kernel=1))
    asked = task(config, "ForImageClassification")
    classes = head(flow, labels(config)) if asked == "ForImageClassification" else ()
    tower = Tower(name="vision", hidden=flow.shape[0], layers=(*layers, last), outer=classes)
    return Arch(name=name, family="mobilenet_v2", task="vision", towers=(tower,), dtype="fp32")


def _scaled(config: Config, channels: float) -> int:
    """Channels times the multiplier, in whole steps, never more than a tenth below."""
    return _whole(config, round(channels * config.number("depth_multiplier")))


def _whole(config: Config, wanted: int) -> int:
    step = config.size("depth_divisible_by")
    rounded = max(config.size("min_depth"), int(wanted + step / 2) // step * step)
    return rounded + step if rounded < 0.9 * wanted else rounded


def _step(flow: Flow, outputs: int, *, kernel: int, stride: int = 1, groups: int = 1) -> Flow:
    return relu(norm(conv(flow, outputs, kernel=kernel, stride=stride, groups=groups)))


def _block(config: Config, flow: Flow, *, outputs: int, stride: int) -> tuple[Layer, Flow]:
    inputs = flow.shape[0]
    width = _whole(config, round(inputs * config.number("expand_ratio")))
    deep = _step(_step(flow, width, kernel=1), width, kernel=3, stride=stride, groups=width)
    after = norm(conv(deep, outputs, kernel=1))
    return close(add(after, fork(flow)) if stride == 1 and inputs == outputs else after)

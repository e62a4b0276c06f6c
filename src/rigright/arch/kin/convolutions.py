"""Image classifiers of convolutions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rigright.arch.config import Config
from rigright.arch.conv import (
    Flow,
    add,
    begin,
    close,
    conv,
    depth,
    depths,
    fed,
    fork,
    gelu,
    head,
    keep,
    norm,
    patch,
    place,
    pool,
    relu,
    scale,
    squeeze,
    write,
)
from rigright.arch.families import kind_of
from rigright.arch.heads import labels, task
from rigright.arch.record import Arch, Layer, Tower, Weight
from rigright.arch.stack import vector
from rigright.arch.vision import sides
from rigright.base.record import replace

_NARROW = 4  # how much narrower the middle of a bottleneck is


def _classifier(
    config: Config,
    name: str,
    *,
    family: str,
    layers: Sequence[Layer],
    flow: Flow,
    before: tuple[Weight, ...] = (),
) -> Arch:
    """A network of convolutions with its head, where it has one; `before`: what comes between."""
    asked = task(config, "ForImageClassification")
    classes = head(flow, labels(config)) if asked == "ForImageClassification" else ()
    tower = Tower(name="vision", hidden=flow.shape[0], layers=tuple(layers), outer=(*before, *classes))
    return Arch(name=name, family=family, task="vision", towers=(tower,), dtype="fp32")


def read_resnet(config: Config, name: str) -> Arch:
    """ResNet: convolutions with batch norms around shortcuts, plain or with a narrow middle."""
    high, wide = sides(config.raw.get("image_size"), 224)
    image = begin(config.size("num_channels"), high, wide=wide)
    stem = pool(
        _resnet_step(image, config.size("embedding_size"), kernel=7, stride=2), 3, stride=2, padding=1
    )
    first, flow = close(stem)
    layers = [first]
    for index, (width, deep) in enumerate(
        config.aligned(hidden_sizes=config.sizes("hidden_sizes"), depths=depths(config, "depths"))
    ):
        halves = index > 0 or config.flag("downsample_in_first_stage", default=False)
        for turn in range(deep):
            # A branch of two or three convolutions, added to the map or to a projection of it
            stride = 2 if halves and turn == 0 else 1
            projects = stride != 1 or flow.shape[0] != width
            if config.word("layer_type", default="bottleneck") == "bottleneck":
                early = config.flag("downsample_in_bottleneck", default=False)
                narrow = width // _NARROW
                reduced = _resnet_step(flow, narrow, kernel=1, stride=stride if early else 1)
                middle = _resnet_step(reduced, narrow, kernel=3, stride=1 if early else stride)
                branch = norm(conv(middle, width, kernel=1))
            else:
                branch = norm(conv(_resnet_step(flow, width, kernel=3, stride=stride), width, kernel=3))
            short = norm(conv(fork(flow), width, kernel=1, stride=stride)) if projects else fork(flow)
            layer, flow = close(relu(add(branch, short)))
            layers.append(layer)
    return _classifier(config, name, family="resnet", layers=layers, flow=flow)


def _resnet_step(flow: Flow, outputs: int, *, kernel: int, stride: int = 1) -> Flow:
    return relu(norm(conv(flow, outputs, kernel=kernel, stride=stride)))


def read_regnet(config: Config, name: str) -> Arch:
    """RegNet: ResNet's layers with grouped convolutions, and in its Y form a gate a channel."""
    high, wide = sides(config.raw.get("image_size"), 224)
    image = begin(config.size("num_channels"), high, wide=wide)
    first, flow = close(relu(norm(conv(image, config.size("embedding_size"), kernel=3, stride=2))))
    layers = [first]
    stages = config.aligned(hidden_sizes=config.sizes("hidden_sizes"), depths=depths(config, "depths"))
    for index, (width, deep) in enumerate(stages):
        halves = index > 0 or config.flag("downsample_in_first_stage", default=True)
        for turn in range(deep):
            layer, flow = _regnet_layer(config, flow, width=width, stride=2 if halves and turn == 0 else 1)
            layers.append(layer)
    return _classifier(config, name, family="regnet", layers=layers, flow=flow)


def _regnet_layer(config: Config, flow: Flow, *, width: int, stride: int) -> tuple[Layer, Flow]:
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


_MOBILENET_V2_STEM, _MOBILENET_V2_TOP = 32, 1280


_CHANNELS = (16, 24, 24, 32, 32, 32, 64, 64, 64, 64, 96, 96, 96, 160, 160, 160, 320)


_STRIDES = (2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1)


def read_mobilenet_v2(config: Config, name: str) -> Arch:
    """MobileNetV2: narrow maps widened, convolved a channel at a time, and narrowed again."""
    high, wide = sides(config.raw.get("image_size"), 224)
    image = begin(config.size("num_channels"), high, wide=wide)
    narrow = _mobilenet_v2_scaled(config, _MOBILENET_V2_STEM)
    deep = _mobilenet_v2_step(image, narrow, kernel=3, stride=2)
    if not config.flag("first_layer_is_expansion", default=True):
        deep = _mobilenet_v2_step(deep, narrow, kernel=1)
    first, flow = close(
        norm(
            conv(
                _mobilenet_v2_step(deep, narrow, kernel=3, groups=narrow),
                _mobilenet_v2_scaled(config, _CHANNELS[0]),
                kernel=1,
            )
        )
    )
    layers, reached = [first], 2
    for outputs, number in zip(_CHANNELS[1:], _STRIDES, strict=True):
        stride = 1 if reached == config.size("output_stride") else number
        reached *= stride
        layer, flow = _block(config, flow, outputs=_mobilenet_v2_scaled(config, outputs), stride=stride)
        layers.append(layer)
    full_top = config.flag("finegrained_output", default=True) and config.number("depth_multiplier") < 1
    last, flow = close(
        _mobilenet_v2_step(
            flow, _MOBILENET_V2_TOP if full_top else _mobilenet_v2_scaled(config, _MOBILENET_V2_TOP), kernel=1
        )
    )
    return _classifier(config, name, family="mobilenet_v2", layers=[*layers, last], flow=flow)


def _mobilenet_v2_scaled(config: Config, channels: float) -> int:
    """Channels times the multiplier, in whole steps, never more than a tenth below."""
    return _whole(config, round(channels * config.number("depth_multiplier")))


def _whole(config: Config, wanted: int) -> int:
    step = config.size("depth_divisible_by")
    rounded = max(config.size("min_depth"), int(wanted + step / 2) // step * step)
    return rounded + step if rounded < 0.9 * wanted else rounded


def _mobilenet_v2_step(flow: Flow, outputs: int, *, kernel: int, stride: int = 1, groups: int = 1) -> Flow:
    return relu(norm(conv(flow, outputs, kernel=kernel, stride=stride, groups=groups)))


def _block(config: Config, flow: Flow, *, outputs: int, stride: int) -> tuple[Layer, Flow]:
    inputs = flow.shape[0]
    width = _whole(config, round(inputs * config.number("expand_ratio")))
    deep = _mobilenet_v2_step(
        _mobilenet_v2_step(flow, width, kernel=1), width, kernel=3, stride=stride, groups=width
    )
    after = norm(conv(deep, outputs, kernel=1))
    return close(add(after, fork(flow)) if stride == 1 and inputs == outputs else after)


_EFFICIENTNET_STEM, _EFFICIENTNET_TOP = 32, 1280  # channels before scaling


def read_efficientnet(config: Config, name: str) -> Arch:
    """EfficientNet: deep convolutions with gates a channel, scaled in width, depth and image."""
    high, wide = sides(config.raw.get("image_size"), 224)
    image = begin(config.size("num_channels"), high, wide=wide)
    first, flow = close(
        gelu(norm(conv(image, _efficientnet_scaled(config, _EFFICIENTNET_STEM), kernel=3, stride=2)))
    )
    layers = [first]
    for index in range(len(config.sizes("in_channels"))):
        stage, flow = _stage(config, flow, index=index)
        layers += stage
    last, flow = close(gelu(norm(conv(flow, _efficientnet_scaled(config, _EFFICIENTNET_TOP), kernel=1))))
    return _classifier(config, name, family="efficientnet", layers=[*layers, last], flow=flow)


def _efficientnet_scaled(config: Config, channels: int) -> int:
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
    for turn in range(repeats):
        first = turn == 0
        inputs, outputs = flow.shape[0], _efficientnet_scaled(config, config.sizes("out_channels")[index])
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


_KINDS = ("convnext", "convnextv2", "dinov3_convnext")


def read_convnext(config: Config, name: str) -> Arch:
    """ConvNeXt, first and second form, and DINOv3's: deep convolutions, a wide feed-forward at each place."""
    kind = kind_of(config, "convnext")
    high, wide = sides(config.raw.get("image_size"), 224)
    flow = begin(config.size("num_channels"), high, wide=wide)
    layers: list[Layer] = []
    widths = config.sizes("hidden_sizes", default=[96, 192, 384, 768])
    for index, (width, count) in enumerate(
        config.aligned(hidden_sizes=widths, depths=depths(config, "depths", default=[3, 3, 9, 3]))
    ):
        stem, flow = close(
            norm(patch(flow, width, size=config.size("patch_size", default=4)))
            if index == 0
            else patch(norm(flow), width, size=2, role="conv")
        )
        layers.append(stem)
        for _ in range(count):
            layer, flow = _convnext_layer(config, flow, kind=kind)
            layers.append(layer)
    last = (Weight(role="norm", shape=flow.shape[:1]), Weight(role="norm.bias", shape=flow.shape[:1]))
    return _classifier(config, name, family=kind, layers=layers, flow=flow, before=last)


def _convnext_layer(config: Config, flow: Flow, *, kind: str) -> tuple[Layer, Flow]:
    """A convolution a channel, a norm, four times as wide and back, added to the map."""
    width = flow.shape[0]
    deep = norm(conv(flow, width, kernel=7, groups=width, bias=True))
    wide = gelu(place(deep, 4 * width, role="ffn.up"))
    if kind == "convnextv2":
        # global response norm: each channel against the mean of all;
        # its square, share and product are kept
        factors = vector(1, 1, 1, wide.shape[0]) * 2
        shared = keep(write(keep(wide)))
        wide = replace(write(shared, weights=factors), maps=(*shared.maps, *(shared.maps[-1:] * 2)))
    narrow = place(wide, width, role="ffn.down")
    if kind != "convnextv2" and config.number("layer_scale_init_value", default=1e-6) > 0:
        narrow = scale(narrow)
    layer, after = close(add(narrow, fork(flow)))
    return fed(layer, 4 * width, gated=False), after

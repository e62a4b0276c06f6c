"""ConvNeXt, first and second form, and DINOv3's: deep convolutions, a wide feed-forward at each position."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.config import Config
from rigright.arch.conv import (
    Flow,
    add,
    begin,
    close,
    conv,
    depths,
    fed,
    fork,
    gelu,
    head,
    keep,
    norm,
    patch,
    place,
    scale,
    write,
)
from rigright.arch.defaults import full
from rigright.arch.heads import labels, task
from rigright.arch.record import Arch, Layer, Tower, Weight
from rigright.arch.stack import vector
from rigright.arch.vision import sides

MATCHES = (
    "convnext",
    "convnextv2",
    "dinov3_convnext",
    "ConvNextForImageClassification",
    "ConvNextV2ForImageClassification",
    "ConvNextModel",
)
_KINDS = ("convnext", "convnextv2", "dinov3_convnext")


def read(config: Config, name: str) -> Arch:
    """Read a ConvNeXt config."""
    told = config.word("model_type", default="convnext")
    kind = told if told in _KINDS else "convnext"
    config = full(config, kind)
    high, wide = sides(config.raw.get("image_size"), 224)
    flow = begin(config.size("num_channels"), high, wide=wide)
    layers: list[Layer] = []
    widths = config.sizes("hidden_sizes", default=[96, 192, 384, 768])
    for index, (width, depth) in enumerate(
        config.aligned(hidden_sizes=widths, depths=depths(config, "depths", default=[3, 3, 9, 3]))
    ):
        stem, flow = close(
            norm(patch(flow, width, size=config.size("patch_size", default=4)))
            if index == 0
            else patch(norm(flow), width, size=2, role="conv")
        )
        layers.append(stem)
        for _ in range(depth):
            layer, flow = _layer(config, flow, kind=kind)
            layers.append(layer)
    last = (Weight(role="norm", shape=flow.shape[:1]), Weight(role="norm.bias", shape=flow.shape[:1]))
    asked = task(config, "ForImageClassification")
    classes = head(flow, labels(config)) if asked == "ForImageClassification" else ()
    tower = Tower(name="vision", hidden=flow.shape[0], layers=tuple(layers), outer=(*last, *classes))
    return Arch(name=name, family=kind, task="vision", towers=(tower,), dtype="fp32")


def _layer(config: Config, flow: Flow, *, kind: str) -> tuple[Layer, Flow]:
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

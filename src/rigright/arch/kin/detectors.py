"""Detectors of convolutions: YOLOv5 (its sixth form), YOLOv8 and YOLO11, from an image to boxes at 3 scales.

A trunk halves the map five times; a neck joins its three deepest maps on the way up and down again.
Widths and depths are those of the largest form times two multiples.
"""

from __future__ import annotations

import math

from rigright.arch.config import Config
from rigright.arch.conv import Flow, add, begin, close, conv, depth, fork, gelu, keep, norm, pool, write
from rigright.arch.families import kind_of
from rigright.arch.record import Arch, Layer, Mix, Mixer, Tower, Weight
from rigright.arch.vision import sides
from rigright.base.record import dataclass, replace

_STEP = 8  # channels come in whole steps of it
_BINS = 16  # that a side of a box is a distribution over
_ANCHORS, _BOX = 3, 5  # of the fifth version: shapes a place; four sides and whether there is one
_HEAD_DIM = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stage:
    """One stage of the trunk: a convolution that halves the map, and a block."""

    width: int
    out: int
    repeats: int
    ratio: float = 0.5  # of the block's inner width
    deep: bool = False  # blocks within the block


@dataclass(frozen=True, slots=True, kw_only=True)
class _Version:
    stem: int  # kernel of the first convolution
    stages: tuple[_Stage, ...]
    neck: int  # repeats of a block of the neck
    shortcut: bool  # in the neck
    narrows: bool = False  # a convolution before a map goes up
    looks: bool = False  # attention after the trunk, and light heads of classes


_PLAIN = ((128, 3), (256, 6), (512, 6), (1024, 3))
_VERSIONS = {
    "yolov5": _Version(
        stem=6,
        stages=tuple(
            _Stage(width=width, out=width, repeats=9 if width == 512 else count) for width, count in _PLAIN
        ),
        neck=3,
        shortcut=False,
        narrows=True,
    ),
    "yolov8": _Version(
        stem=3,
        stages=tuple(_Stage(width=width, out=width, repeats=count) for width, count in _PLAIN),
        neck=3,
        shortcut=False,
    ),
    "yolo11": _Version(
        stem=3,
        stages=(
            _Stage(width=128, out=256, repeats=2, ratio=0.25),
            _Stage(width=256, out=512, repeats=2, ratio=0.25),
            _Stage(width=512, out=512, repeats=2, deep=True),
            _Stage(width=1024, out=1024, repeats=2, deep=True),
        ),
        neck=2,
        shortcut=True,
        looks=True,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Net:
    """A network under way: its layers so far."""

    config: Config
    kind: str
    layers: list[Layer]

    def close(self, flow: Flow, *, mixer: Mixer | None = None) -> Flow:
        layer, after = close(flow, mixer=mixer)
        self.layers.append(layer)
        return after

    def wide(self, channels: int) -> int:
        """Channels of this size of the network."""
        most = min(channels, self.config.size("max_channels", default=1024))
        return max(math.ceil(most * self.config.number("width_multiple") / _STEP) * _STEP, _STEP)

    def deep(self, repeats: int) -> int:
        """Repeats of this size of the network."""
        value = max(round(repeats * self.config.number("depth_multiple")), 1)
        return depth(self.config, "depth_multiple", value=value)

    def halve(self, flow: Flow, channels: int, *, kernel: int = 3) -> Flow:
        return self.close(_step(flow, self.wide(channels), kernel=kernel, stride=2))

    def block(self, flow: Flow, stage: _Stage, *, shortcut: bool) -> Flow:
        """The version's block of several convolutions, with all maps between joined at its end."""
        out, count = self.wide(stage.out), self.deep(stage.repeats)
        if self.kind == "yolov5":
            return self.close(_split(flow, out, count=count, shortcut=shortcut, kernel=1))
        inner = int(out * stage.ratio)
        every = self.config.flag("deep_blocks", default=False)
        halves = keep(_step(flow, 2 * inner, kernel=1))
        after = _at(halves, inner, is_kept=True)
        for _ in range(count):
            if self.kind == "yolov8":
                after = _neck(after, inner, shortcut=shortcut, kernel=3)
            elif stage.deep or every:
                after = _split(after, inner, count=2, shortcut=shortcut, kernel=3)
            else:
                after = _neck(after, inner // 2, shortcut=shortcut, kernel=3)
        return self.close(_step(_joined(after, (2 + count) * inner), out, kernel=1))


def _step(flow: Flow, outputs: int, *, kernel: int, stride: int = 1, groups: int = 1) -> Flow:
    """A convolution, its norm, and SiLU."""
    return gelu(norm(conv(flow, outputs, kernel=kernel, stride=stride, groups=groups)))


def _at(flow: Flow, channels: int, *, is_kept: bool) -> Flow:
    """The flow goes on from another map of this size."""
    return replace(flow, shape=(channels, *flow.shape[1:]), is_kept=is_kept)


def _joined(flow: Flow, channels: int) -> Flow:
    """Maps side by side, copied to one of so many channels."""
    return write(flow, (channels, *flow.shape[1:]))


def _neck(flow: Flow, inner: int, *, shortcut: bool, kernel: int) -> Flow:
    """Two convolutions, added to what they began from."""
    outputs = flow.shape[0]
    after = _step(_step(flow, inner, kernel=kernel), outputs, kernel=3)
    return add(after, fork(flow)) if shortcut else after


def _split(flow: Flow, outputs: int, *, count: int, shortcut: bool, kernel: int) -> Flow:
    """One half through bottlenecks, the other past them."""
    inner, inputs = outputs // 2, flow.shape[0]
    after = _step(flow, inner, kernel=1)
    for _ in range(count):
        after = _neck(after, inner, shortcut=shortcut, kernel=kernel)
    past = _step(_at(after, inputs, is_kept=True), inner, kernel=1)
    return _step(_joined(past, 2 * inner), outputs, kernel=1)


def _pooled(flow: Flow, outputs: int) -> Flow:
    """Three poolings in a row, joined with what they began from."""
    inner = flow.shape[0] // 2
    after = _step(flow, inner, kernel=1)
    for _ in range(3):
        after = pool(after, 5, stride=1, padding=2)
    return _step(_joined(after, 4 * inner), outputs, kernel=1)


def _looked(net: _Net, flow: Flow) -> Flow:
    """Half of the channels through attention over all places and a feed-forward."""
    outputs, inner = flow.shape[0], flow.shape[0] // 2
    after = net.close(_at(keep(_step(flow, 2 * inner, kernel=1)), inner, is_kept=True))
    heads = max(inner // _HEAD_DIM, 1)
    value_dim = inner // heads
    key_dim = value_dim // 2
    mixer = Mixer(kind=Mix.BOTH, heads=heads, kv_heads=heads, key_dim=key_dim, value_dim=value_dim)
    for _ in range(net.deep(2)):
        before, spots = after, after.shape[1] * after.shape[2]
        sizes = {"attn.q": key_dim * heads, "attn.k": key_dim * heads, "attn.v": inner}
        asked = tuple(
            Weight(role=role, shape=(size, inner, 1, 1), sites=spots) for role, size in sizes.items()
        )
        seen = keep(norm(write(keep(after), (sum(sizes.values()), *after.shape[1:]), weights=asked)))
        placed = norm(conv(_at(seen, inner, is_kept=True), inner, kernel=3, groups=inner))
        mixed = norm(conv(write(placed), inner, kernel=1))
        looked = add(mixed, fork(before))
        wide = norm(conv(_step(looked, 2 * inner, kernel=1), inner, kernel=1))
        after = net.close(add(wide, fork(looked)), mixer=mixer)
    return net.close(_step(_joined(after, 2 * inner), outputs, kernel=1))


def _detect(net: _Net, flow: Flow, *, first: int, classes: int, light: bool) -> None:
    """The heads of one scale: sides of boxes, then classes."""
    if net.kind == "yolov5":
        net.close(conv(flow, _ANCHORS * (classes + _BOX), kernel=1, bias=True))
        return
    inputs = flow.shape[0]
    box, names = max(_BINS, first // 4, 4 * _BINS), max(first, min(classes, 100))
    boxes = _step(_step(flow, box, kernel=3), box, kernel=3)
    net.close(conv(boxes, 4 * _BINS, kernel=1, bias=True))
    branch = fork(flow)
    if light:
        deep = _step(_step(branch, inputs, kernel=3, groups=inputs), names, kernel=1)
        deep = _step(_step(deep, names, kernel=3, groups=names), names, kernel=1)
    else:
        deep = _step(_step(branch, names, kernel=3), names, kernel=3)
    net.close(conv(deep, classes, kernel=1, bias=True))


def read_yolo(config: Config, name: str) -> Arch:
    """YOLO's detectors of one network, as the makers of YOLOv5 publish them."""
    kind = kind_of(config, "yolo")
    version = _VERSIONS.get(kind, _VERSIONS["yolov8"])
    net = _Net(config=config, kind=kind, layers=[])
    high, wide = sides(config.raw.get("image_size"), 640)
    flow = net.halve(begin(3, high, wide=wide), 64, kernel=version.stem)
    trunk = []
    for stage in version.stages:
        flow = net.block(net.halve(flow, stage.width), stage, shortcut=True)
        trunk.append(flow)
    flow = net.close(_pooled(flow, net.wide(1024)))
    if version.looks:
        flow = _looked(net, flow)
    # up: the deep map twice as large beside the trunk's, and again
    rungs = []
    for width, beside in ((512, trunk[2]), (256, trunk[1])):
        if version.narrows:
            flow = net.close(_step(flow, net.wide(width), kernel=1))
        rungs.append(flow)
        large = write(flow, (flow.shape[0], *beside.shape[1:]))
        flow = net.block(
            _joined(large, large.shape[0] + beside.shape[0]),
            _Stage(width=width, out=width, repeats=version.neck),
            shortcut=version.shortcut,
        )
    # and down, each beside what went up from there
    scales = [flow]
    for width, rung in ((512, rungs[1]), (1024, rungs[0])):
        flow = net.halve(flow, width // 2)
        flow = net.block(
            _joined(flow, flow.shape[0] + rung.shape[0]),
            _Stage(width=width, out=width, repeats=version.neck, deep=width == 1024),
            shortcut=version.shortcut,
        )
        scales.append(flow)
    classes = config.size("num_labels", default=80)
    for scale in (*map(fork, scales[:-1]), flow):  # what went down has been kept
        _detect(net, scale, first=scales[0].shape[0], classes=classes, light=version.looks)
    places = 4 * sum(scale.shape[1] * scale.shape[2] for scale in scales)
    bins = () if kind == "yolov5" else (Weight(role="conv", shape=(1, _BINS, 1, 1), sites=places),)
    tower = Tower(name="vision", hidden=flow.shape[0], layers=tuple(net.layers), outer=bins)
    return Arch(name=name, family="yolo", task="vision", towers=(tower,), dtype="fp16")

"""Convolutional networks as a flow: a feature map, the weights it went through, what was written and kept.

Each op takes a `Flow` and gives the next. An op that needs its input for the backward pass (a convolution,
a norm, GELU or SiLU) keeps it; ReLU keeps its output; a sum keeps nothing. A map is kept once.
"""

from __future__ import annotations

import math

from rigright.arch.config import Config
from rigright.arch.record import Ffn, Layer, Mixer, Weight
from rigright.base.errors import DataError
from rigright.base.record import dataclass, replace
from rigright.base.words import say

MOST = 1000  # layers of one stage; the deepest networks have a few hundred
Map = tuple[int, int, int]  # channels, height, width


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Where a network stands."""

    shape: Map
    is_kept: bool = False  # the map is already counted as kept
    weights: tuple[Weight, ...] = ()
    maps: tuple[int, ...] = ()
    kept: int = 0


def depths(config: Config, key: str, *, default: list[int] | None = None) -> list[int]:
    """Layers of each stage, no more than a model can have."""
    numbers = config.sizes(key) if default is None else config.sizes(key, default=default)
    return [depth(config, key, value=value) for value in numbers]


def depth(config: Config, key: str, *, value: float) -> int:
    """Layers of one stage, worked out from one key or several, no more than a stage can have."""
    if not 0 <= value <= MOST:
        raise DataError(say('{where}: "{key}" cannot be {value}', where=config.where, key=key, value=value))
    return int(value)


def begin(channels: int, high: int, *, wide: int) -> Flow:
    """The image, before any layer."""
    return Flow(shape=(channels, high, wide))


def fork(flow: Flow) -> Flow:
    """A branch from the same map; whatever the branch keeps of it, the other one has kept."""
    return Flow(shape=flow.shape, is_kept=True)


def close(flow: Flow, *, mixer: Mixer | None = None, cross: Mixer | None = None) -> tuple[Layer, Flow]:
    """What the flow went through as one layer, and the flow that goes on behind it."""
    layer = Layer(
        weights=flow.weights,
        mixer=mixer,
        cross=cross,
        ffn=None,
        map_elems=flow.maps,
        kept_elems=flow.kept,
    )
    return layer, Flow(shape=flow.shape, is_kept=flow.is_kept)


def elems(flow: Flow) -> int:
    """Elements of the map."""
    return math.prod(flow.shape)


def sites(flow: Flow) -> int:
    """Positions of the map."""
    return flow.shape[1] * flow.shape[2]


def keep(flow: Flow) -> Flow:
    """The map is needed again in the backward pass."""
    if flow.is_kept:
        return flow
    return Flow(
        shape=flow.shape, is_kept=True, weights=flow.weights, maps=flow.maps, kept=flow.kept + elems(flow)
    )


def write(flow: Flow, shape: Map | None = None, *, weights: tuple[Weight, ...] = ()) -> Flow:
    """An op writes a new map."""
    shape = shape or flow.shape
    return Flow(
        shape=shape,
        weights=(*flow.weights, *weights),
        maps=(*flow.maps, math.prod(shape)),
        kept=flow.kept,
    )


def conv(
    flow: Flow, outputs: int, *, kernel: int, stride: int = 1, groups: int = 1, bias: bool = False
) -> Flow:
    """A convolution whose map keeps its size at stride one."""
    channels, high, wide = flow.shape
    pad = 2 * ((kernel - 1) // 2)
    shape = (outputs, (high + pad - kernel) // stride + 1, (wide + pad - kernel) // stride + 1)
    return write(
        keep(flow),
        shape,
        weights=_kernels(shape, (channels // groups, kernel, kernel), role="conv", bias=bias),
    )


def patch(flow: Flow, outputs: int, *, size: int, role: str = "patch") -> Flow:
    """The map cut into squares, each projected."""
    channels, high, wide = flow.shape
    shape = (outputs, high // size, wide // size)
    return write(keep(flow), shape, weights=_kernels(shape, (channels, size, size), role=role, bias=True))


def place(flow: Flow, outputs: int, *, bias: bool = True, role: str = "project") -> Flow:
    """A linear layer at every place."""
    shape = (outputs, *flow.shape[1:])
    return write(keep(flow), shape, weights=_kernels(shape, flow.shape[:1], role=role, bias=bias))


def _kernels(shape: Map, inputs: tuple[int, ...], *, role: str, bias: bool) -> tuple[Weight, ...]:
    spots = shape[1] * shape[2]
    weight = Weight(role=role, shape=(shape[0], *inputs), sites=spots)
    return (weight, Weight(role=f"{role}.bias", shape=shape[:1], sites=spots)) if bias else (weight,)


def norm(flow: Flow, *, bias: bool = True) -> Flow:
    """Batch, group or layer norm."""
    channels = flow.shape[0]
    weights = (Weight(role="norm", shape=(channels,)), Weight(role="norm.bias", shape=(channels,)))
    return write(keep(flow), weights=weights if bias else weights[:1])


def relu(flow: Flow) -> Flow:
    """An activation that needs its output alone."""
    return keep(write(flow))


def gelu(flow: Flow) -> Flow:
    """An activation that needs its input: GELU, SiLU, hard swish."""
    return write(keep(flow))


def scale(flow: Flow, *, kept: bool = True) -> Flow:
    """A learned factor a channel."""
    return write(keep(flow) if kept else flow, weights=(Weight(role="norm", shape=flow.shape[:1]),))


def pool(flow: Flow, kernel: int, *, stride: int, padding: int) -> Flow:
    """Max pooling; it keeps its input and the place of each maximum, 64 bits each."""
    channels, high, wide = flow.shape
    shape = (
        channels,
        (high + 2 * padding - kernel) // stride + 1,
        (wide + 2 * padding - kernel) // stride + 1,
    )
    after = write(keep(flow), shape)
    return replace(after, kept=after.kept + 2 * elems(after))


def mean(flow: Flow) -> Flow:
    """The mean over all positions."""
    return write(flow, (flow.shape[0], 1, 1))


def add(flow: Flow, branch: Flow) -> Flow:
    """The sum of two branches of one shape."""
    joined = replace(
        flow,
        weights=(*flow.weights, *branch.weights),
        maps=(*flow.maps, *branch.maps),
        kept=flow.kept + branch.kept,
    )
    return write(joined)


def squeeze(flow: Flow, width: int, *, gate_keeps: bool = True) -> Flow:
    """Squeeze and excite: a gate a channel from the map's mean, through a narrow layer."""
    channels = flow.shape[0]
    narrow = conv(gelu(conv(mean(fork(flow)), width, kernel=1, bias=True)), channels, kernel=1, bias=True)
    gate = keep(write(narrow))
    kept = keep(flow) if gate_keeps else flow
    joined = replace(
        kept,
        weights=(*kept.weights, *gate.weights),
        maps=(*kept.maps, *gate.maps),
        kept=kept.kept + gate.kept,
    )
    return write(joined)


def head(flow: Flow, classes: int) -> tuple[Weight, ...]:
    """A classifier on the pooled map."""
    return (
        Weight(role="head", shape=(classes, flow.shape[0])),
        Weight(role="head.bias", shape=(classes,)),
    )


def fed(layer: Layer, width: int, *, gated: bool) -> Layer:
    """The layer, known to hold a feed-forward."""
    return replace(layer, ffn=Ffn(width=width, gated=gated))

"""State-space and convolutional mixers: Mamba, Mamba-2, short convolutions, gated linear recurrence."""

from __future__ import annotations

from rigright.arch.blocks import Block, matrix, norm
from rigright.arch.record import Cut, Mix, Mixer, Weight
from rigright.base.record import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba:
    """The dimensions of a Mamba mixer; `heads` 0 is the first Mamba, else Mamba-2."""

    hidden: int
    inner: int
    state: int
    conv: int
    heads: int = 0
    groups: int = 1
    dt_rank: int = 0
    bias: bool = False
    out_bias: bool | None = None  # None: as `bias`
    conv_bias: bool = True
    inner_norms: bool = False  # Mamba: norms on dt, B and C; Mamba-2: one on the gated output


def vector(role: str, *shape: int) -> tuple[Weight, ...]:
    """A learned vector or table cut with the heads."""
    return (Weight(role=role, shape=shape, cut=Cut.OUT),)


def conv1d(channels: int, kernel: int, *, bias: bool) -> tuple[Weight, ...]:
    """A causal depthwise convolution."""
    weights = vector("mixer.conv", channels, 1, kernel)
    return (*weights, *vector("mixer.conv.bias", channels)) if bias else weights


def mamba(dims: Mamba) -> Block:
    """A mixer of the first Mamba."""
    low, state = dims.dt_rank, dims.state
    weights = (
        *matrix("mixer.in", 2 * dims.inner, inputs=dims.hidden, cut=Cut.OUT, bias=dims.bias),
        *conv1d(dims.inner, dims.conv, bias=dims.conv_bias),
        *matrix("mixer.x", low + 2 * state, inputs=dims.inner, cut=Cut.IN),
        *matrix("mixer.dt", dims.inner, inputs=low, cut=Cut.OUT, bias=True),
        *vector("mixer.decay", dims.inner, state),
        *vector("mixer.skip", dims.inner),
        *((*norm(low), *norm(state), *norm(state)) if dims.inner_norms else ()),
        *matrix("mixer.out", dims.hidden, inputs=dims.inner, cut=Cut.IN, bias=dims.bias),
    )
    mixer = Mixer(
        kind=Mix.SSM,
        heads=dims.inner,
        key_dim=state,
        value_dim=1,
        state32_elems=dims.inner * state,
        state16_elems=dims.inner * dims.conv,
    )
    return Block(weights, mixer=mixer)


def mamba2(dims: Mamba) -> Block:
    """A mixer of Mamba-2: heads share one decay each, groups share B and C."""
    channels = dims.inner + 2 * dims.groups * dims.state
    out = dims.out_bias
    weights = (
        *matrix(
            "mixer.in", dims.inner + channels + dims.heads, inputs=dims.hidden, cut=Cut.OUT, bias=dims.bias
        ),
        *conv1d(channels, dims.conv, bias=dims.conv_bias),
        *vector("mixer.dt.bias", dims.heads),
        *vector("mixer.decay", dims.heads),
        *vector("mixer.skip", dims.heads),
        *(norm(dims.inner) if dims.inner_norms else ()),
        *matrix(
            "mixer.out", dims.hidden, inputs=dims.inner, cut=Cut.IN, bias=dims.bias if out is None else out
        ),
    )
    mixer = Mixer(
        kind=Mix.SSM,
        heads=dims.heads,
        kv_heads=dims.groups,
        key_dim=dims.state,
        value_dim=dims.inner // dims.heads,
        state32_elems=dims.inner * dims.state,
        state16_elems=channels * dims.conv,
    )
    return Block(weights, mixer=mixer)


def short_conv(hidden: int, kernel: int, *, bias: bool = False) -> Block:
    """A gated short convolution: in, convolve, out."""
    weights = (
        *matrix("mixer.in", 3 * hidden, inputs=hidden, cut=Cut.OUT, bias=bias),
        *conv1d(hidden, kernel, bias=bias),
        *matrix("mixer.out", hidden, inputs=hidden, cut=Cut.IN, bias=bias),
    )
    return Block(weights, mixer=Mixer(kind=Mix.CONV, value_dim=hidden, state16_elems=hidden * kernel))


def rg_lru(hidden: int, width: int, *, heads: int, kernel: int) -> Block:
    """Griffin's recurrent block: two branches, a convolution, a gated diagonal recurrence."""
    gate = width // heads
    weights = (
        *matrix("mixer.gate", width, inputs=hidden, cut=Cut.OUT, bias=True),
        *matrix("mixer.in", width, inputs=hidden, cut=Cut.OUT, bias=True),
        *conv1d(width, kernel, bias=True),
        *vector("mixer.decay", width),
        *vector("mixer.input_gate", heads, gate, gate),
        *vector("mixer.input_gate.bias", width),
        *vector("mixer.recurrent_gate", heads, gate, gate),
        *vector("mixer.recurrent_gate.bias", width),
        *matrix("mixer.out", hidden, inputs=width, cut=Cut.IN, bias=True),
    )
    mixer = Mixer(
        kind=Mix.SSM,
        heads=heads,
        key_dim=1,
        value_dim=gate,
        state32_elems=width,
        state16_elems=width * (kernel - 1),
    )
    return Block(weights, mixer=mixer)

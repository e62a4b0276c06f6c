"""Linear attention: gated delta nets, Kimi's delta attention, lightning attention."""

from __future__ import annotations

from rigright.arch.blocks import Block, matrix, norm
from rigright.arch.config import Config
from rigright.arch.record import Cut, Mix, Mixer, Weight
from rigright.arch.ssm import conv1d, vector
from rigright.base.record import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """The dimensions of a delta-rule mixer."""

    hidden: int
    key_heads: int
    value_heads: int
    key_dim: int  # per head
    value_dim: int  # per head
    conv: int


def read_delta(config: Config) -> Delta:
    """The dimensions as Qwen names them."""
    return Delta(
        hidden=config.size("hidden_size"),
        key_heads=config.size("linear_num_key_heads"),
        value_heads=config.size("linear_num_value_heads"),
        key_dim=config.size("linear_key_head_dim"),
        value_dim=config.size("linear_value_head_dim"),
        conv=config.size("linear_conv_kernel_dim"),
    )


def gated_delta(dims: Delta) -> Block:
    """Gated DeltaNet: q, k, v and gate z, one decay and one write strength a head."""
    keys, values = dims.key_heads * dims.key_dim, dims.value_heads * dims.value_dim
    weights = (
        *matrix("mixer.in", 2 * keys + values, inputs=dims.hidden, cut=Cut.OUT),
        *matrix("mixer.gate", values, inputs=dims.hidden, cut=Cut.OUT),
        *matrix("mixer.beta", dims.value_heads, inputs=dims.hidden, cut=Cut.OUT),
        *matrix("mixer.dt", dims.value_heads, inputs=dims.hidden, cut=Cut.OUT, bias=True),
        *conv1d(2 * keys + values, dims.conv, bias=False),
        *vector("mixer.decay", dims.value_heads),
        *norm(dims.value_dim),
        *matrix("mixer.out", dims.hidden, inputs=values, cut=Cut.IN),
    )
    return Block(weights, mixer=_delta_mixer(dims))


def kimi_delta(dims: Delta, *, low_rank: bool = True, full_gate: bool = False) -> Block:
    """Kimi Delta Attention: a decay for every channel; its gates of low rank, or full."""
    rows = dims.value_heads * dims.value_dim
    weights = (
        *(matrix("mixer.in", rows, inputs=dims.hidden, cut=Cut.OUT) * 3),
        *conv1d(3 * rows, dims.conv, bias=False),
        *_gate("mixer.dt", dims, low_rank=low_rank),
        *vector("mixer.dt.bias", rows),
        *vector("mixer.decay", dims.value_heads),
        *matrix("mixer.beta", dims.value_heads, inputs=dims.hidden, cut=Cut.OUT),
        *_gate("mixer.gate", dims, low_rank=low_rank and not full_gate),
        *norm(dims.value_dim),
        *matrix("mixer.out", dims.hidden, inputs=rows, cut=Cut.IN),
    )
    return Block(weights, mixer=_delta_mixer(dims))


def _gate(role: str, dims: Delta, *, low_rank: bool) -> tuple[Weight, ...]:
    rows = dims.value_heads * dims.value_dim
    if not low_rank:
        return matrix(role, rows, inputs=dims.hidden, cut=Cut.OUT)
    low = dims.value_dim
    return (
        *matrix(f"{role}_a", low, inputs=dims.hidden, cut=Cut.WHOLE),
        *matrix(f"{role}_b", rows, inputs=low, cut=Cut.OUT),
    )


def _delta_mixer(dims: Delta) -> Mixer:
    keys, values = dims.key_heads * dims.key_dim, dims.value_heads * dims.value_dim
    return Mixer(
        kind=Mix.LINEAR,
        heads=dims.value_heads,
        kv_heads=dims.key_heads,
        key_dim=dims.key_dim,
        value_dim=dims.value_dim,
        state32_elems=dims.value_heads * dims.key_dim * dims.value_dim,
        state16_elems=(2 * keys + values) * dims.conv,
    )


def lightning(hidden: int, heads: int, *, head_dim: int) -> Block:
    """Lightning attention: a fixed decay a head, an output gate, a norm over all heads."""
    width = heads * head_dim
    weights = (
        *matrix("mixer.in", 3 * width, inputs=hidden, cut=Cut.OUT),
        *matrix("mixer.gate", width, inputs=hidden, cut=Cut.OUT),
        *norm(width),
        *matrix("mixer.out", hidden, inputs=width, cut=Cut.IN),
    )
    mixer = Mixer(
        kind=Mix.LINEAR,
        heads=heads,
        kv_heads=heads,
        key_dim=head_dim,
        value_dim=head_dim,
        state16_elems=heads * head_dim * head_dim,
    )
    return Block(weights, mixer=mixer)

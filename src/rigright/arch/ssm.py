"""Mixers with a state of constant size: Mamba, short convolutions, gated recurrences, linear attention."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rigright.arch.blocks import Block, matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import Sizes
from rigright.arch.record import Cut, Mix, Mixer, Weight
from rigright.base.record import dataclass, replace


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


def read_mamba(config: Config) -> Mamba:
    """The first Mamba's dimensions, alone or beside attention."""
    hidden, rank = config.size("hidden_size"), ("mamba_dt_rank", "time_step_rank")
    alone = config.raw.get("mamba_expand") is None
    usual = config.size("mamba_expand", "expand", default=2) * hidden
    told = next((config.raw[key] for key in rank if config.raw.get(key) is not None), "auto")
    return Mamba(
        hidden=hidden,
        inner=config.size("intermediate_size", "d_inner", default=usual) if alone else usual,
        state=config.size("mamba_d_state", "state_size"),
        conv=config.size("mamba_d_conv", "conv_kernel"),
        dt_rank=-(-hidden // 16) if told == "auto" else config.size(*rank),
        bias=config.flag("mamba_proj_bias", "use_bias", default=False),
        conv_bias=config.flag("mamba_conv_bias", "use_conv_bias", default=True),
    )


def read_mamba2(config: Config) -> Mamba:
    """Mamba-2's dimensions, under the keys of whichever family."""
    hidden = config.size("hidden_size")
    heads = config.size("mamba_n_heads", "n_mamba_heads", "mamba_num_heads", "num_heads")
    width, inner = config.maybe("mamba_head_dim"), config.maybe("mamba_d_ssm")
    if inner is None:
        inner = heads * width if width else config.size("mamba_expand", "expand") * hidden
    return Mamba(
        hidden=hidden,
        inner=inner,
        state=config.size("mamba_d_state", "ssm_state_size", "state_size"),
        conv=config.size("mamba_d_conv", "conv_kernel"),
        heads=heads,
        groups=config.size("mamba_n_groups", "mamba_ngroups", "n_groups"),
        bias=config.flag("use_bias", "mamba_proj_bias", "add_bias_linear", default=False),
        out_bias=config.flag("projectors_bias", default=False) if config.has("projectors_bias") else None,
        conv_bias=config.flag("mamba_conv_bias", "use_conv_bias", default=True),
        inner_norms=config.flag("mamba_rms_norm", default=True),
    )


def _read_kimi_delta(config: Config) -> Delta:
    """The dimensions of delta attention, in the publisher's own part or beside the rest."""
    own = config.part("linear_attn_config")
    heads = own.maybe("num_heads") or config.size("linear_num_heads", "num_attention_heads")
    width = own.maybe("head_dim") or config.size("linear_head_dim", "head_dim")
    kernel = own.maybe("short_conv_kernel_size")
    return Delta(
        hidden=config.size("hidden_size"),
        key_heads=heads,
        value_heads=heads,
        key_dim=width,
        value_dim=width,
        conv=kernel or config.size("linear_conv_kernel_dim", "short_conv_kernel_size"),
    )


def _kimi(config: Config, _: Sizes) -> Block:
    full_gate = config.part("linear_attn_config").flag("use_full_rank_gate", default=False)
    return kimi_delta(_read_kimi_delta(config), full_gate=full_gate)


def _short_conv(config: Config, size: Sizes) -> Block:
    biased = config.flag("conv_bias", default=False)
    return short_conv(size.hidden, config.size("conv_L_cache"), bias=biased)


def _rg_lru(config: Config, size: Sizes) -> Block:
    width = config.maybe("lru_width") or size.hidden
    return rg_lru(size.hidden, width, heads=size.heads, kernel=config.size("conv1d_width"))


# a mixer's name in the table of families -> what builds it
MIXERS: Mapping[str, Callable[[Config, Sizes], Block]] = {
    "gated_delta": lambda config, _: gated_delta(read_delta(config)),
    "kimi_delta": _kimi,
    "full_delta": lambda config, _: kimi_delta(_read_kimi_delta(config), low_rank=False),
    "lightning": lambda _, size: lightning(size.hidden, size.heads, head_dim=size.head_dim),
    "mamba": lambda config, _: mamba(read_mamba(config)),
    "normed_mamba": lambda config, _: mamba(replace(read_mamba(config), inner_norms=True)),
    "mamba2": lambda config, _: mamba2(read_mamba2(config)),
    "short_conv": _short_conv,
    "rg_lru": _rg_lru,
}

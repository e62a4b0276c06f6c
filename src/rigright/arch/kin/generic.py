"""A decoder nobody has named: its parts as its keys tell them, the rest as most models have it."""

from __future__ import annotations

from rigright.arch import latent
from rigright.arch.config import Config
from rigright.arch.decoder import (
    CONTEXT,
    HEADS,
    KV_HEADS,
    LAYERS,
    Style,
    every,
    read_sizes,
    windows,
    with_mtp,
)
from rigright.arch.experts import EXPERTS, SHARED_WIDTH, Mixture, read_decoder
from rigright.arch.record import Arch
from rigright.base.record import replace
from rigright.base.words import Sentence, say

_QKV_BIASES = (
    "attention_bias",
    "qkv_bias",
    "use_qkv_bias",
    "add_qkv_bias",
    "bias",
    "use_bias",
    "add_bias_linear",
)


_OUT_BIASES = ("attention_out_bias", "attention_bias", "bias", "use_bias", "add_bias_linear")


_FFN_BIASES = ("mlp_bias", "bias", "use_bias", "add_bias_linear")


_QK_NORMS = ("use_qk_norm", "qk_norm", "qk_layernorm", "use_qk_layernorm")


_PARALLEL = ("parallel_attn", "use_parallel_residual", "parallel_residual")


_ROTARY = (
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "rotary_dim",
    "rotary_pct",
    "rotary_emb_base",
    "alibi",
)


_ACTIVATIONS = ("hidden_act", "activation_function", "hidden_activation", "activation", "mlp_hidden_act")


_LAYER_NORMS = ("layer_norm_eps", "layer_norm_epsilon", "layernorm_epsilon")


_RMS_NORMS = ("rms_norm_eps", "rms_norm_epsilon", "norm_eps")


_PERIODS = ("sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers")


def read_generic(config: Config, name: str) -> Arch:
    """A decoder nobody has named: its parts as its keys tell them, the rest as most models have it."""
    style = guess(config)
    if any(config.raw.get(key) is not None for key in KV_HEADS):
        kv_heads = config.size(*KV_HEADS)
    else:
        kv_heads = 1 if config.raw.get("multi_query") is True else config.size(*HEADS)
    size = read_sizes(config, kv_heads=kv_heads)
    experts = any(_count(config, key) > 1 for key in EXPERTS)
    compressed = _count(config, "kv_lora_rank") > 0
    if not experts and not compressed:
        arch = read_decoder(config, name, style=style, sizes=(size,))
    else:
        attends = (latent.mla(latent.read_latent(config)),) * size.layers if compressed else ()
        given = config if experts else config.over(num_experts=0, num_experts_per_tok=0)
        gate = any(_count(config, key) for key in SHARED_WIDTH)
        arch = read_decoder(
            given, name, style=style, mixture=Mixture(shared_gate=gate), attends=attends, sizes=(size,)
        )
    arch = with_mtp(config, arch)
    return replace(arch, warnings=(*arch.warnings, _style_note(style)))


def guess(config: Config) -> Style:
    """The style of a decoder, as far as keys tell it."""
    layer_norm = any(map(config.has, _LAYER_NORMS)) and not any(map(config.has, _RMS_NORMS))
    # siLU and the GLUs gate; GELU does beside RMSNorm; squared ReLU does not
    act = next((str(config.raw[key]).lower() for key in _ACTIVATIONS if config.raw.get(key)), "")
    if "glu" in act or "silu" in act or "swish" in act:
        gated = True
    else:
        gated = not layer_norm and not act.startswith("relu")
    if config.raw.get("use_sliding_window") is False:
        spans: tuple[int | None, ...] = ()
    else:
        period = next((config.size(key) for key in _PERIODS if _count(config, key) > 1), None)
        first = _count(config, "max_window_layers") if period is None else 0
        given = config.over(num_hidden_layers=config.layers(*LAYERS))
        spans = windows(given, every(period) if period else lambda index: index >= first)
    return Style(
        family="generic",
        qkv_bias=_flag(config, _QKV_BIASES),
        out_bias=_flag(config, _OUT_BIASES),
        ffn_bias=_flag(config, _FFN_BIASES),
        gated=gated,
        norm="layer" if layer_norm else "rms",
        norms=1 if _flag(config, _PARALLEL) else 2,
        qk_norm="head" if _flag(config, _QK_NORMS) else "none",
        positions=_positions(config),
        windows=spans,
    )


def _flag(config: Config, keys: tuple[str, ...]) -> bool:
    return next((config.flag(key, default=False) for key in keys if config.raw.get(key) is not None), False)


def _count(config: Config, key: str) -> int:
    value = config.raw.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _positions(config: Config) -> int:
    """Rows of a learned table: only where positions are counted and nothing rotates."""
    if any(map(config.has, _ROTARY)) or not config.has("n_positions"):
        return 0
    return config.size(*CONTEXT)


def _style_note(style: Style) -> Sentence:
    return say(
        "assumed: {norm}, {ffn}, {biases}; compare the parameter count with the published one",
        norm=say("LayerNorm") if style.norm == "layer" else say("RMSNorm"),
        ffn=say("a gated feed-forward") if style.gated else say("a feed-forward without a gate"),
        biases=say("biases on q, k and v") if style.qkv_bias else say("no biases on q, k and v"),
    )

"""Qwen3-MoE and its kin: norms on q and k, many small experts, some with sliding windows."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, always, windows
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.plan import kind_of
from rigright.arch.record import Arch

MATCHES = (
    "qwen3_moe",
    "Qwen3MoeForCausalLM",
    "qwen3_vl_moe_text",
    "qwen3_omni_moe_text",
    "qwen3_omni_moe_talker_text",
    "mellum",
    "MellumForCausalLM",
)


def read(config: Config, name: str) -> Arch:
    """Read a Qwen3-MoE config."""
    kind = kind_of(config, MATCHES)
    config = full(config, kind)
    biased = config.flag("attention_bias", default=False)
    slides = config.flag("use_sliding_window", default=False) or bool(config.raw.get("layer_types"))
    style = Style(
        family=kind,
        qkv_bias=biased,
        out_bias=biased,
        qk_norm="head",
        windows=windows(config, always) if slides else (),
    )
    return read_mixture(config, name, style=style, mixture=Mixture(shared=False))

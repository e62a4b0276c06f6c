"""Ling and Ring (Bailing MoE): fused q, k, v, norms on q and k in the second edition, shared experts."""

from __future__ import annotations

from rigright.arch.assumed import near_published
from rigright.arch.config import Config
from rigright.arch.decoder import Style
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.mtp import with_mtp
from rigright.arch.record import Arch

MATCHES = (
    "bailing_moe",
    "BailingMoeForCausalLM",
    "bailing_moe_v2",
    "BailingMoeV2ForCausalLM",
    "BailingMoeV2_5ForCausalLM",
)


def read(config: Config, name: str) -> Arch:
    """Read a Ling config."""
    biased = config.flag("use_bias", default=False)
    normed = config.flag("use_qk_norm", default=False)
    style = Style(
        family="bailing_moe",
        qkv_bias=biased or config.flag("use_qkv_bias", default=False),
        out_bias=biased,
        qk_norm="head" if normed else "none",
    )
    arch = with_mtp(config, read_mixture(config, name, style=style, mixture=Mixture()), copies=False)
    return near_published(arch)

"""MiMo: Qwen2 with a layer more that predicts the token after next."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, late_windows, read_decoder
from rigright.arch.mtp import with_mtp
from rigright.arch.record import Arch

MATCHES = ("mimo", "MiMoForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=True)
    arch = read_decoder(
        config, name, style=Style(family="mimo", qkv_bias=biased, windows=late_windows(config))
    )
    return with_mtp(config, arch, copies=False)

"""DeepSeek-V2: latent attention, dense layers first, shared experts."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.latent import read_latent_moe
from rigright.arch.record import Arch

MATCHES = ("deepseek_v2", "DeepseekV2ForCausalLM", "deepseek_vl_v2_text")


def read(config: Config, name: str) -> Arch:
    """Read a DeepSeek-V2 config."""
    return read_latent_moe(full(config, "deepseek_v2"), name, family="deepseek_v2")

"""VaultGemma: Gemma 2 with norms before each part only."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, every, read_decoder, windows
from rigright.arch.record import Arch

MATCHES = ("vaultgemma", "VaultGemmaForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=False)
    style = Style(family="vaultgemma", qkv_bias=biased, out_bias=biased, windows=windows(config, every(2)))
    return read_decoder(config, name, style=style)

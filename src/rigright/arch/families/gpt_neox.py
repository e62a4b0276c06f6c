"""GPT-NeoX, Pythia, Dolly, RedPajama."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("gpt_neox", "GPTNeoXForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=True)
    style = Style(
        family="gpt_neox", qkv_bias=biased, out_bias=biased, ffn_bias=True, gated=False, norm="layer"
    )
    return read_decoder(config, name, style=style)

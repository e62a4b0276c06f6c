"""GPT-J: attention and feed-forward side by side, a bias on the head."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("gptj", "GPTJForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    style = Style(family="gptj", ffn_bias=True, gated=False, norms=1, norm="layer", head_bias=True)
    return read_decoder(config, name, style=style)

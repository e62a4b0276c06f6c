"""GPT-NeoX Japanese: GPT-NeoX without biases but one, in the last layer."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch, Weight

MATCHES = ("gpt_neox_japanese", "GPTNeoXJapaneseForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a GPT-NeoX Japanese config."""
    hidden = config.size("hidden_size")
    style = Style(
        family="gpt_neox_japanese",
        gated=False,
        norm="layer",
        outer=(Weight(role="attn.o.bias", shape=(hidden,)),),
    )
    width = hidden * config.size("intermediate_multiple_size", default=4)
    return read_decoder(config, name, style=style, width=width)

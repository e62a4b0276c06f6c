"""TeleChat: Llama with biases on the way out of each part."""

from __future__ import annotations

from rigright.arch import blocks
from rigright.arch.config import Config
from rigright.arch.decoder import HIDDEN, Style, read_decoder
from rigright.arch.record import Arch, Weight

MATCHES = ("telechat", "TelechatForCausalLM", "TELECHAT", "telechat2")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    hidden = config.size(*HIDDEN)
    after = blocks.norm(hidden) if config.flag("embed_layernorm", default=False) else ()
    style = Style(
        family="telechat",
        out_bias=True,
        extra=(Weight(role="ffn.down.bias", shape=(hidden,)),),
        outer=after,
    )
    return read_decoder(config, name, style=style)

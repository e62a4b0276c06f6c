"""GPT-Neo: GPT-2 without biases on q, k and v; every second layer looks only near."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import CONTEXT, Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("gpt_neo", "GPTNeoForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a GPT-Neo config; its near layers keep the whole cache all the same."""
    style = Style(
        family="gpt_neo",
        out_bias=True,
        ffn_bias=True,
        gated=False,
        norm="layer",
        positions=config.size(*CONTEXT, default=2048),
    )
    return read_decoder(config, name, style=style)

"""BioGPT: an OPT for medicine."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import CONTEXT, Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("biogpt", "BioGptForCausalLM")


SPARE_ROWS = 2


def read(config: Config, name: str) -> Arch:
    """Read a BioGPT config."""
    style = Style(
        family="biogpt",
        qkv_bias=True,
        out_bias=True,
        ffn_bias=True,
        gated=False,
        norm="layer",
        positions=config.size(*CONTEXT) + SPARE_ROWS,
    )
    return read_decoder(config, name, style=style)

"""Nemotron and Minitron: no gate, LayerNorm."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("nemotron", "NemotronForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Nemotron config."""
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family="nemotron",
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=False),
        gated=False,
        norm="layer",
    )
    return read_decoder(config, name, style=style)

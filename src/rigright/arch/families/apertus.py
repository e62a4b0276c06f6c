"""Apertus: no gate, a norm on each head of q and k, an activation with two weights."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch, Weight

MATCHES = ("apertus", "ApertusForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read an Apertus config."""
    biased = config.flag("attention_bias", default=False)
    learns = config.word("hidden_act", default="xielu") == "xielu"
    style = Style(
        family="apertus",
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=False),
        gated=False,
        qk_norm="head",
        extra=(Weight(role="other", shape=(1,)),) * 2 if learns else (),
    )
    return read_decoder(config, name, style=style)

"""Granite with windows: attention sinks, three layers with a window to one without."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import HEADS, Style, read_decoder, windows
from rigright.arch.record import Arch, Weight

MATCHES = ("granite_swa", "GraniteSWAForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family="granite_swa",
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=False),
        windows=windows(config, lambda index: bool(index % 4)),
        extra=(Weight(role="attn.sink", shape=(config.size(*HEADS),)),),
    )
    return read_decoder(config, name, style=style)

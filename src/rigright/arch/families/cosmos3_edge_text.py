"""The language part of Cosmos 3 Edge: Llama's layers with a feed-forward that has no gate."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("cosmos3_edge_text", "Cosmos3EdgeTextModel")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family="cosmos3_edge_text",
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=False),
        gated=False,
    )
    return read_decoder(config, name, style=style)

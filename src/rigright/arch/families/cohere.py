"""Command R and Aya: attention and feed-forward side by side behind one norm."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("cohere", "CohereForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family="cohere",
        qkv_bias=biased,
        out_bias=biased,
        norms=1,
        qk_norm="all" if config.flag("use_qk_norm", default=False) else "none",
    )
    return read_decoder(config, name, style=style)

"""A decoder nobody has named: read by whatever its keys say."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ()


def read(config: Config, name: str) -> Arch:
    """Read by keys alone."""
    biased = config.flag("attention_bias", default=False)
    return read_decoder(config, name, Style(family="generic", qkv_bias=biased, out_bias=biased))

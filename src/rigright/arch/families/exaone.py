"""EXAONE 3 and 3.5: Llama under other keys."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("exaone", "ExaoneForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    return read_decoder(config, name, style=Style(family="exaone"))

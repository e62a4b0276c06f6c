"""CodeGen: GPT-J with fused q, k and v."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("codegen", "CodeGenForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    style = Style(family="codegen", ffn_bias=True, gated=False, norms=1, norm="layer", head_bias=True)
    return read_decoder(config, name, style=style)

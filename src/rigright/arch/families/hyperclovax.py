"""HyperCLOVA X: Llama, norms after each part too where asked."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("hyperclovax", "HyperCLOVAXForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family="hyperclovax",
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=False),
        norms=4 if config.flag("use_post_norm", default=True) else 2,
    )
    return read_decoder(config, name, style=style)

"""Mamba-2: layers of one state-space mixer each, heads and groups."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, layer, text_arch
from rigright.arch.defaults import full
from rigright.arch.families.mamba import bare_sizes
from rigright.arch.record import Arch
from rigright.arch.ssm import Mamba, mamba2

MATCHES = ("mamba2", "Mamba2ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Mamba-2 config."""
    config = full(config, "mamba2")
    hidden = config.size("hidden_size")
    dims = Mamba(
        hidden=hidden,
        inner=config.size("expand") * hidden,
        state=config.size("state_size"),
        conv=config.size("conv_kernel"),
        heads=config.size("num_heads"),
        groups=config.size("n_groups"),
        bias=config.flag("use_bias", default=False),
        conv_bias=config.flag("use_conv_bias", default=True),
        inner_norms=True,
    )
    style = Style(family="mamba2", norms=1)
    size = bare_sizes(config, tied=config.flag("tie_word_embeddings", default=False))
    same = layer(hidden, style, mamba2(dims))
    return text_arch(config, name, style=style, size=size, layers=(same,) * size.layers)

"""SmolLM3: Llama; windows only if asked."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder, windows
from rigright.arch.record import Arch

MATCHES = ("smollm3", "SmolLM3ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a SmolLM3 config."""
    biased = config.flag("attention_bias", default=False)
    spacing = config.size("no_rope_layer_interval", default=4)
    slides = config.flag("use_sliding_window", default=False)
    style = Style(
        family="smollm3",
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=False),
        windows=windows(config, lambda index: (index + 1) % spacing == 0) if slides else (),
    )
    return read_decoder(config, name, style=style)

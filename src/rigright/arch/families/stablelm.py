"""StableLM: LayerNorm, perhaps biases on q, k and v, perhaps parts side by side."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder, read_sizes
from rigright.arch.record import Arch, Weight

MATCHES = ("stablelm", "StableLmForCausalLM", "stablelm_epoch", "StableLMEpochForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a StableLM config."""
    size = read_sizes(config)
    normed = config.flag("qk_layernorm", default=False)
    widths = (size.head_dim,) * (size.heads + size.kv_heads) if normed else ()
    style = Style(
        family="stablelm",
        qkv_bias=config.flag("use_qkv_bias", default=False),
        norm="layer",
        norms=1 if config.flag("use_parallel_residual", default=False) else 2,
        extra=tuple(Weight(role="norm", shape=(width,)) for width in widths),
    )
    return read_decoder(config, name, style=style)

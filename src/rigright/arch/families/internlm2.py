"""InternLM 2, 2.5 and 3: Llama with grouped heads and fused q, k and v."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("internlm2", "InternLM2ForCausalLM", "internlm3", "InternLM3ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("bias", "attention_bias", default=False)
    style = Style(
        family="internlm2",
        qkv_bias=biased or config.flag("qkv_bias", default=False),
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=False),
    )
    return read_decoder(config, name, style=style)

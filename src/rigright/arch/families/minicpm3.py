"""MiniCPM3 and Youtu: latent attention over dense feed-forwards."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, feed, layer, read_sizes, text_arch
from rigright.arch.defaults import full
from rigright.arch.latent import mla, read_latent
from rigright.arch.plan import kind_of
from rigright.arch.record import Arch

MATCHES = ("minicpm3", "MiniCPM3ForCausalLM", "youtu", "YoutuForCausalLM", "youtu_llm")


def read(config: Config, name: str) -> Arch:
    """Read a MiniCPM3 or Youtu config."""
    config = full(config, "minicpm3" if config.raw.get("model_type") == "minicpm3" else "youtu")
    style = Style(family=kind_of(config, MATCHES), ffn_bias=config.flag("mlp_bias", default=False))
    if config.raw.get("v_head_dim") is None:
        config = config.over(v_head_dim=config.size("hidden_size") // config.size("num_attention_heads"))
    latent = read_latent(config)
    size = read_sizes(config, head_dim=latent.nope_dim + latent.rope_dim)
    same = layer(size.hidden, style, mla(latent), feed(size, style))
    return text_arch(config, name, style=style, size=size, layers=(same,) * size.layers)

"""GLM-4.5 to 4.7: biases on q, k, v, norms on q and k where asked, dense layers first, shared experts."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_sizes
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.mtp import with_mtp
from rigright.arch.plan import kind_of
from rigright.arch.record import Arch

MATCHES = ("glm4_moe", "Glm4MoeForCausalLM", "glm4v_moe_text")


def read(config: Config, name: str) -> Arch:
    """Read a GLM-4-MoE config."""
    kind = kind_of(config, MATCHES)
    config = full(config, kind)
    style = Style(
        family=kind,
        qkv_bias=config.flag("attention_bias", default=False),
        qk_norm="head" if config.flag("use_qk_norm", default=False) else "none",
    )
    width = config.size("hidden_size") // config.size("num_attention_heads")
    size = read_sizes(config, head_dim=config.maybe("head_dim") or width)
    return with_mtp(
        config, read_mixture(config, name, style=style, mixture=Mixture(dense_first=1), size=size)
    )

"""GLM-4.5 to 4.7: biases on q, k, v, norms on q and k where asked, dense layers first, shared experts."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_sizes
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.mtp import with_mtp
from rigright.arch.record import Arch

MATCHES = ("glm4_moe", "Glm4MoeForCausalLM", "glm4v_moe_text")


def read(config: Config, name: str) -> Arch:
    """Read a GLM-4-MoE config."""
    kind = str(config.raw.get("model_type"))
    said, config = config, full(config, kind if kind in MATCHES else "glm4_moe")
    style = Style(
        family="glm4_moe",
        qkv_bias=config.flag("attention_bias", default=False),
        qk_norm="head" if config.flag("use_qk_norm", default=False) else "none",
    )
    size = read_sizes(config)
    return with_mtp(said, read_mixture(config, name, style, Mixture(dense_first=1), size=size))

"""dots.llm1, HunYuan-v3 and EXAONE-MoE: norms on q and k, dense layers first, shared experts."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, every, windows
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.plan import kind_of
from rigright.arch.record import Arch

MATCHES = (
    "dots1",
    "Dots1ForCausalLM",
    "hy_v3",
    "HYV3ForCausalLM",
    "exaone_moe",
    "ExaoneMoeForCausalLM",
)
_DENSE_FIRST = {"hy_v3": 1, "exaone_moe": 1}


def read(config: Config, name: str) -> Arch:
    """Read a config of one of these."""
    kind = kind_of(config, MATCHES)
    config = full(config, kind)
    biased = config.flag("attention_bias", default=False)
    if kind == "exaone_moe":
        spans = windows(config, every(config.size("sliding_window_pattern", default=4)))
    else:
        last = config.whole("max_window_layers", default=config.layers("num_hidden_layers"))
        spans = windows(config, lambda index: index >= last)
    style = Style(
        family=kind,
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=False),
        qk_norm="head",
        windows=spans,
    )
    mixture = Mixture(dense_first=_DENSE_FIRST.get(kind, 0), shared_bias=style.ffn_bias)
    return read_mixture(config, name, style=style, mixture=mixture)

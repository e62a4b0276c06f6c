"""Step-3.5 and 3.7 Flash, text part: gated attention, windows in three of four layers, one shared expert."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import SLIDING, layer_types
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture
from rigright.arch.families.laguna import read_gated
from rigright.arch.record import Arch

MATCHES = ("step3p5", "Step3p5ForCausalLM", "step3p7_text", "step3p7_flash")


def read(config: Config, name: str) -> Arch:
    """Read a Step-3.5 or 3.7 text config."""
    config = full(config, "step3p7_text")
    heads = config.size("num_attention_heads")
    other = config.part("attention_other_setting")
    sliding = config.maybe("num_sliding_attention_heads") or other.size("num_attention_heads", default=heads)
    kinds = layer_types(config, config.layers("num_hidden_layers"), default=lambda _: "full_attention")
    numbers = tuple(sliding if kind in SLIDING else heads for kind in kinds)
    return read_gated(
        config, name, family="step3p7", mixture=Mixture(gate="head", dense_first=3), heads=numbers
    )

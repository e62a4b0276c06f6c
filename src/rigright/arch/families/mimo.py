"""MiMo: Qwen2 with a layer more that predicts the token after next."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch import blocks
from rigright.arch.config import Config
from rigright.arch.decoder import Style, late_windows, read_decoder
from rigright.arch.record import Arch, Cut, Tower

MATCHES = ("mimo", "MiMoForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=True)
    arch = read_decoder(config, name, Style(family="mimo", qkv_bias=biased, windows=late_windows(config)))
    more = config.layers("num_nextn_predict_layers", default=0)
    return replace(arch, spare=_ahead(arch, more)) if more else arch


def _ahead(arch: Arch, layers: int) -> tuple[Tower, ...]:
    """Layers that join the token's vector with the hidden state, each norm of its own."""
    hidden = arch.trunk.hidden
    joined = (*blocks.matrix("project", hidden, 2 * hidden, Cut.WHOLE), *blocks.norm(hidden) * 3)
    last = arch.trunk.layers[-1]
    return (Tower(name="mtp", hidden=hidden, layers=(last,) * layers, outer=joined * layers),)

"""MiniMax-M2: norms over all of q and of k, 256 small experts."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.record import Arch

MATCHES = ("minimax_m2", "MiniMaxM2ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a MiniMax-M2 config."""
    config = full(config, "minimax_m2")
    per_head = config.word("qk_norm_type", default="per_layer") == "per_head"
    normed = config.flag("use_qk_norm", default=True)
    style = Style(family="minimax_m2", qk_norm="none" if not normed else "head" if per_head else "all")
    return read_mixture(config, name, style=style, mixture=Mixture(shared=False))

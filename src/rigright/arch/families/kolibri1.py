"""Kolibri and Flint: norms on q and k, a shared expert of its own width, sliding windows."""

from __future__ import annotations

from collections.abc import Callable

from rigright.arch.config import Config
from rigright.arch.decoder import Style, every, windows
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.plan import kind_of
from rigright.arch.record import Arch

MATCHES = ("kolibri1", "Kolibri1ForCausalLM", "flint", "FlintForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Kolibri or Flint config."""
    is_flint = config.raw.get("model_type") == "flint"
    config = full(config, "flint" if is_flint else "kolibri1")
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family=kind_of(config, MATCHES),
        qkv_bias=biased,
        out_bias=biased,
        qk_norm="head",
        norms=2 if is_flint else 4,
        windows=windows(config, _flint_slides(config) if is_flint else every(5)),
    )
    if is_flint and config.null("mlp_only_layers"):
        config = config.over(mlp_only_layers=[0, 1])
    return read_mixture(config, name, style=style, mixture=Mixture(sinks=is_flint))


def _flint_slides(config: Config) -> Callable[[int], bool]:
    """All but the first two, every fourth and the last."""
    last = config.layers("num_hidden_layers") - 1
    return lambda index: index >= 2 and index % 4 != 1 and index != last

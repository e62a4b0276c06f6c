"""Granite MoE, with and without a shared expert, with and without sliding windows."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, windows
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.plan import kind_of
from rigright.arch.record import Arch

MATCHES = (
    "granitemoe",
    "GraniteMoeForCausalLM",
    "granitemoeshared",
    "GraniteMoeSharedForCausalLM",
    "granitemoe_swa",
    "GraniteMoeSWAForCausalLM",
)


def read(config: Config, name: str) -> Arch:
    """Read a Granite MoE config."""
    kind = kind_of(config, MATCHES)
    config = full(config, kind)
    biased = config.flag("attention_bias", default=False)
    slides = kind == "granitemoe_swa"
    style = Style(
        family=kind,
        qkv_bias=biased,
        out_bias=biased,
        windows=windows(config, lambda index: index % 4 != 0) if slides else (),
    )
    return read_mixture(config, name, style=style, mixture=Mixture(sinks=slides, shared=kind != "granitemoe"))

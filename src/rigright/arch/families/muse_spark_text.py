"""Muse Spark and Glimmer, language parts: gated attention, windows, experts in a narrower width."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.decoder import Style, every, read_sizes, windows
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, attentions, read_mixture
from rigright.arch.plan import kind_of
from rigright.arch.record import Arch
from rigright.arch.ssm import vector

MATCHES = ("muse_spark_text", "MuseSparkForCausalLM", "muse_glimmer_text", "MuseGlimmerForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Muse text config."""
    has_experts = config.raw.get("model_type") != "muse_glimmer_text"
    config = full(config, "muse_spark_text" if has_experts else "muse_glimmer_text")
    size = read_sizes(config)
    biased = config.flag("attention_bias", default=False)
    gates = vector("other.gate", size.hidden) * 2
    style = Style(
        family=kind_of(config, MATCHES),
        qkv_bias=biased,
        out_bias=biased,
        norms=3 if has_experts else 4,
        windows=windows(config, every(4, offset=2) if has_experts else every(4)),
        extra=gates if has_experts else (),
    )
    latent = config.maybe("moe_hidden_size") or 0
    mixture = Mixture(gate="wide", latent=latent, latent_norm=True, shared=False)
    attends = attentions(size, style, mixture=mixture)
    if not has_experts:
        config = config.over(mlp_layer_types=["dense"] * size.layers)
    arch = read_mixture(config, name, style=style, mixture=mixture, attends=attends, size=size)
    second = norm(latent) if has_experts else ()  # the experts' own norm, after them
    layers = tuple(
        replace(layer, weights=(*layer.weights, *second)) if layer.ffn and layer.ffn.experts else layer
        for layer in arch.trunk.layers
    )
    return replace(arch, towers=(replace(arch.trunk, layers=layers),))

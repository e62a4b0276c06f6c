"""DeepSeek-V3, R1, Kimi-K2, Moonlight, GLM-4.7-Flash, A.X-K1, Mistral 4: latent attention, many experts."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.latent import read_latent_moe
from rigright.arch.mtp import with_mtp
from rigright.arch.plan import kind_of
from rigright.arch.record import Arch, Layer

MATCHES = (
    "deepseek_v3",
    "DeepseekV3ForCausalLM",
    "kimi_k2",
    "KimiK2ForCausalLM",
    "moonlight",
    "glm4_moe_lite",
    "Glm4MoeLiteForCausalLM",
    "axk1",
    "AXK1ForCausalLM",
    "mistral4",
    "Mistral4ForCausalLM",
)
_KINDS = {"glm4_moe_lite": 1, "axk1": 1, "mistral4": 0}  # kind -> dense layers first, where not said


def read(config: Config, name: str) -> Arch:
    """Read a DeepSeek-V3 config."""
    kind = kind_of(config, MATCHES)
    config = full(config, kind if kind in _KINDS else "deepseek_v3")
    arch = read_latent_moe(config, name, family=kind, dense_first=_KINDS.get(kind, 0))
    if kind == "axk1":
        tower = replace(arch.trunk, layers=tuple(_normed(layer, arch) for layer in arch.trunk.layers))
        arch = replace(arch, towers=(tower,))
    return with_mtp(config, arch)


def _normed(layer: Layer, arch: Arch) -> Layer:
    """A norm after the experts."""
    if layer.ffn is None or not layer.ffn.experts:
        return layer
    return replace(layer, weights=(*layer.weights, *norm(arch.trunk.hidden)))

"""Qwen3-Next and the text part of Qwen3.5: gated delta nets, gated attention every fourth layer."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, attend, layer, layer_types, read_sizes, text_arch
from rigright.arch.defaults import full
from rigright.arch.experts import EXPERTS, Mixture, extras, feeding, routing
from rigright.arch.linear import gated_delta, read_delta
from rigright.arch.mtp import with_mtp
from rigright.arch.plan import kind_of, repeat, sparse_layers
from rigright.arch.record import Arch, Layer

MATCHES = (
    "qwen3_next",
    "Qwen3NextForCausalLM",
    "qwen3_5_text",
    "Qwen3_5ForCausalLM",
    "qwen3_5_moe_text",
    "Qwen3_5MoeForCausalLM",
)
LINEAR = "linear_attention"


def read(config: Config, name: str) -> Arch:
    """Read a Qwen3-Next or Qwen3.5 text config."""
    kind = kind_of(config, MATCHES)
    config = full(config, kind)
    biased = config.flag("attention_bias", default=False)
    style = Style(family=kind, qkv_bias=biased, out_bias=biased, qk_norm="head")
    has_experts = any(config.raw.get(key) for key in EXPERTS)
    size = read_sizes(config, **({} if config.raw.get("intermediate_size") else {"width": 1}))
    period = config.size("full_attention_interval", default=4)
    kinds = layer_types(
        config, size.layers, default=lambda index: LINEAR if (index + 1) % period else "full_attention"
    )
    sparse = sparse_layers(config, size.layers) if has_experts else [False] * size.layers
    mixture = Mixture(shared_gate=True)
    mixers = {
        True: gated_delta(read_delta(config)),
        False: extras(attend(size, style), size.hidden, gate="wide", gate_bias=biased),
    }

    def build(key: tuple[bool, bool]) -> Layer:
        is_linear, is_sparse = key
        feed = feeding(size, style, mixture=mixture, ffn=routing(config) if is_sparse else None)
        return layer(size.hidden, style, mixers[is_linear], feed)

    keys = zip((kind == LINEAR for kind in kinds), sparse, strict=True)
    arch = text_arch(config, name, style=style, size=size, layers=repeat(keys, build))
    return with_mtp(config, arch, layer=build((False, sparse[-1])), copies=False)

"""HunYuan MoE (A13B): norms on q and k, a shared expert as wide as a routed one."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.config import Config
from rigright.arch.decoder import Style, attend, layer, read_sizes, text_arch
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, at, feeding
from rigright.arch.experts import routing as routed
from rigright.arch.plan import repeat
from rigright.arch.record import Arch, Ffn, Layer

MATCHES = ("hunyuan_v1_moe", "HunYuanMoEV1ForCausalLM", "hunyuan_moe")


def read(config: Config, name: str) -> Arch:
    """Read a HunYuan MoE config."""
    config = full(config, "hunyuan_v1_moe")
    biased = config.flag("attention_bias", default=False)
    style = Style(family="hunyuan_v1_moe", qkv_bias=biased, out_bias=biased, qk_norm="head")
    size = read_sizes(config)
    attention = attend(size, style)

    def build(ffn: Ffn) -> Layer:
        return layer(size.hidden, style, attention, feeding(size, style, mixture=Mixture(), ffn=ffn))

    ffns = [_routing(config, index) for index in range(size.layers)]
    return text_arch(config, name, style=style, size=size, layers=repeat(ffns, build))


def _routing(config: Config, index: int) -> Ffn:
    ffn = routed(config, index, shared=False)
    number = at(config, index, "num_shared_expert", default=1)
    return replace(ffn, shared_width=max(number, 1) * ffn.width)

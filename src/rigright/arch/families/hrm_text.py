"""HRM-Text: two stacks of layers run in nested cycles; every run keeps a cache of its own."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.config import Config
from rigright.arch.decoder import Style, attend, feed, layer, read_sizes, text_arch
from rigright.arch.defaults import full
from rigright.arch.experts import extras
from rigright.arch.record import Arch, Layer
from rigright.arch.ssm import vector

MATCHES = ("hrm_text", "HrmTextForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read an HRM-Text config."""
    config = full(config, "hrm_text")
    biased = config.flag("attention_bias", default=False)
    hidden = config.size("hidden_size")
    style = Style(
        family="hrm_text",
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=False),
        norms=0,
        last_norm=False,
        outer=vector("other", hidden),
    )
    size = read_sizes(config)
    slow, fast = config.size("H_cycles"), config.size("L_cycles")
    stack = config.maybe("num_layers_per_stack") or size.layers
    whole = extras(attend(size, style), hidden, gate="wide", gate_bias=biased)
    each = layer(hidden, style, whole, feed(size, style))
    again = replace(each, weights=())  # a later run of the same weights
    runs = slow * (fast + 1) * stack
    first = (_run(each, slow * fast),) * stack + (_run(each, slow),) * stack
    return text_arch(config, name, style=style, size=size, layers=first + (again,) * (runs - 2 * stack))


def _run(each: Layer, times: int) -> Layer:
    return replace(each, weights=tuple(replace(weight, sites=times) for weight in each.weights))

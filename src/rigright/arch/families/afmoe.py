"""Trinity (AFMoE) and Beam: gated attention, four norms a layer, norms on q and k, sliding windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rigright.arch.config import Config
from rigright.arch.decoder import Style, every, read_sizes, windows
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, attentions, read_mixture
from rigright.arch.plan import kind_of
from rigright.arch.record import Arch
from rigright.arch.ssm import vector

MATCHES = ("afmoe", "AfmoeForCausalLM", "beam", "BeamForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read an AFMoE or Beam config."""
    is_beam = config.raw.get("model_type") == "beam"
    config = full(config, "beam" if is_beam else "afmoe")
    biased = config.flag("attention_bias", default=False)
    period = config.size("global_attn_every_n_layers", default=4)
    style = Style(
        family=kind_of(config, MATCHES),
        qkv_bias=biased,
        out_bias=biased,
        qk_norm="head",
        norms=4,
        windows=windows(config, _beam_slides(config) if is_beam else every(period)),
    )
    mixture = Mixture(
        gate="wide", correction=not is_beam, dense_first=3 if is_beam else 0, shared=not is_beam
    )
    size = read_sizes(config)
    attends = attentions(size, style, mixture=mixture)
    if is_beam:
        bias = vector("attn.gate.bias", size.heads)
        attends = tuple(replace(block, weights=(*block.weights, *bias)) for block in attends)
    return read_mixture(config, name, style=style, mixture=mixture, attends=attends, size=size)


def _beam_slides(config: Config) -> Callable[[int], bool]:
    """All but every sixth layer and the last."""
    last = config.layers("num_hidden_layers") - 1
    return lambda index: bool((index + 1) % 6) and index != last

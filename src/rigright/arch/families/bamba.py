"""Bamba, Granite 4 and Falcon-H1: Mamba-2 beside attention, in turns or in the same layer."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import Block
from rigright.arch.config import Config
from rigright.arch.decoder import Style, attend, feed, layer, layer_types, read_sizes, text_arch
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, moe, routing
from rigright.arch.plan import kind_of, repeat
from rigright.arch.record import Arch, Layer
from rigright.arch.ssm import Mamba, mamba2

MATCHES = (
    "bamba",
    "BambaForCausalLM",
    "granitemoehybrid",
    "GraniteMoeHybridForCausalLM",
    "falcon_h1",
    "FalconH1ForCausalLM",
)
ATTENTION = frozenset({"attention", "full_attention"})


def read(config: Config, name: str) -> Arch:
    """Read a config of one of these."""
    kind = kind_of(config, MATCHES)
    config = full(config, kind)
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family=kind,
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=False),
    )
    size = read_sizes(config)
    parallel = kind == "falcon_h1"
    whole, state = attend(size, style), mamba2(dims(config, normed=not parallel))
    feeds = _granite(config, size.hidden) if kind == "granitemoehybrid" else (feed(size, style),)
    mixers = {True: whole, False: beside(whole, state) if parallel else state}

    def build(attends: bool) -> Layer:  # noqa: FBT001 (a key of `repeat`)
        return layer(size.hidden, style, mixers[attends], *feeds)

    chosen = set(config.sizes("attn_layer_indices", default=()))
    kinds = layer_types(
        config, size.layers, default=lambda index: "attention" if index in chosen else "mamba"
    )
    return text_arch(
        config, name, style=style, size=size, layers=repeat([kind in ATTENTION for kind in kinds], build)
    )


def dims(config: Config, *, normed: bool = True) -> Mamba:
    """Mamba-2's dimensions under the keys these configs use."""
    hidden = config.size("hidden_size")
    inner = config.maybe("mamba_d_ssm") or config.size("mamba_expand") * hidden
    return Mamba(
        hidden=hidden,
        inner=inner,
        state=config.size("mamba_d_state"),
        conv=config.size("mamba_d_conv"),
        heads=config.size("mamba_n_heads"),
        groups=config.size("mamba_n_groups"),
        bias=config.flag("mamba_proj_bias", default=False),
        out_bias=config.flag("projectors_bias", default=False) if config.has("projectors_bias") else None,
        conv_bias=config.flag("mamba_conv_bias", default=True),
        inner_norms=normed or config.flag("mamba_rms_norm", default=False),
    )


def beside(attention: Block, state: Block) -> Block:
    """Attention and a state-space mixer side by side in one layer: it keeps a cache and a state."""
    if attention.mixer is None or state.mixer is None:
        return attention
    mixer = replace(
        attention.mixer,
        state32_elems=state.mixer.state32_elems,
        state16_elems=state.mixer.state16_elems,
    )
    return Block((*attention.weights, *state.weights), mixer=mixer)


def _granite(config: Config, hidden: int) -> tuple[Block, ...]:
    """Experts with a shared expert; the shared one alone where there are no experts."""
    if config.whole("num_local_experts", default=0):
        return (moe(hidden, routing(config), mixture=Mixture()),)
    width = config.size("shared_intermediate_size")
    return (feed(read_sizes(config, width=width), Style(family="granitemoehybrid")),)

"""Nemotron-H and Nemotron 3: layers that are one thing each: Mamba-2, attention, experts or dense."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch import blocks
from rigright.arch.blocks import Block, matrix
from rigright.arch.config import Config
from rigright.arch.decoder import Style, attend, layer, read_sizes, text_arch
from rigright.arch.defaults import full
from rigright.arch.mtp import COUNT, joint
from rigright.arch.plan import repeat
from rigright.arch.record import Arch, Cut, Ffn, Layer, Tower
from rigright.arch.ssm import Mamba, mamba2
from rigright.base.errors import DataError
from rigright.base.words import say

MATCHES = ("nemotron_h", "NemotronHForCausalLM", "nemotron_h_text")
_KINDS = {
    "M": "mamba",
    "linear_attention": "mamba",
    "mamba": "mamba",
    "*": "attention",
    "full_attention": "attention",
    "attention": "attention",
    "E": "moe",
    "moe": "moe",
    "-": "mlp",
    "mlp": "mlp",
}


def read(config: Config, name: str) -> Arch:
    """Read a Nemotron-H config."""
    config = full(config, "nemotron_h")
    kinds = _kinds(config, "hybrid_override_pattern", "layers_block_type", "layer_types")
    style = Style(family="nemotron_h", norms=1)
    size = read_sizes(config, layers=len(kinds), tied=False)

    def build(kind: str) -> Layer:
        part = attend(size, style) if kind == "attention" else _part(config, kind)
        return layer(size.hidden, style, part)

    arch = text_arch(config, name, style=style, size=size, layers=repeat(kinds, build))
    count = config.layers(*COUNT, default=0)
    if not count:
        return arch
    body = repeat(_kinds(config, "mtp_hybrid_override_pattern", "mtp_layers_block_type"), build)
    spare = Tower(name="mtp", hidden=size.hidden, layers=body * count, outer=joint(size.hidden) * count)
    return replace(arch, spare=(spare,))


def _kinds(config: Config, *keys: str) -> list[str]:
    """Each layer's kind, from a pattern ("M-M*E") or a list."""
    told = next((config.raw[key] for key in keys if config.raw.get(key) is not None), ["M", "E", "*", "-"])
    marks = [mark for mark in told if mark != "|"] if isinstance(told, str | list) else []
    try:
        return [_KINDS[str(mark)] for mark in marks]
    except KeyError as strange:
        raise DataError(
            say("{where}: no layer of type {kind}", where=config.where, kind=str(strange))
        ) from None


def _part(config: Config, kind: str) -> Block:
    hidden = config.size("hidden_size")
    if kind == "mamba":
        heads = config.size("mamba_num_heads")
        return mamba2(
            Mamba(
                hidden=hidden,
                inner=heads * config.size("mamba_head_dim"),
                state=config.size("ssm_state_size"),
                conv=config.size("mamba_d_conv", "conv_kernel"),
                heads=heads,
                groups=config.size("mamba_n_groups", "n_groups"),
                bias=config.flag("use_bias", default=False),
                conv_bias=config.flag("use_conv_bias", default=True),
                inner_norms=True,
            )
        )
    if kind == "moe":
        return _moe(config, hidden)
    biased = config.flag("mlp_bias", default=False)
    return blocks.dense(hidden, config.size("intermediate_size"), gated=False, bias=biased)


def _moe(config: Config, hidden: int) -> Block:
    """Experts, of a smaller width than the model's where they are latent, and shared experts of the whole."""
    latent = config.maybe("moe_latent_size")
    ffn = Ffn(
        width=config.size("moe_intermediate_size"),
        gated=False,
        experts=config.size("n_routed_experts"),
        per_tok=config.size("num_experts_per_tok"),
    )
    routed = blocks.experts(latent or hidden, ffn)
    shared = config.whole("moe_shared_expert_intermediate_size")
    biased = config.flag("mlp_bias", default=False)
    weights = (
        *matrix("router", ffn.experts, inputs=hidden, cut=Cut.WHOLE),
        *(weight for weight in routed.weights if weight.role != "router"),
        *(matrix("project", latent, inputs=hidden, cut=Cut.WHOLE, bias=biased) if latent else ()),
        *(matrix("project", hidden, inputs=latent, cut=Cut.WHOLE, bias=biased) if latent else ()),
        *matrix("shared.up", shared, inputs=hidden, cut=Cut.OUT, bias=biased),
        *matrix("shared.down", hidden, inputs=shared, cut=Cut.IN, bias=biased),
    )
    return Block(weights, ffn=replace(ffn, shared_width=shared))

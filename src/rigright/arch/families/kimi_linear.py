"""Kimi Linear and K3, Ling hybrids: Kimi delta attention, latent attention every few layers, many experts."""

from __future__ import annotations

from rigright.arch.assumed import near_published
from rigright.arch.blocks import matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import Style, layer_types, read_sizes
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, extras, read_mixture
from rigright.arch.latent import mla, read_latent
from rigright.arch.linear import Delta, kimi_delta
from rigright.arch.mtp import with_mtp
from rigright.arch.plan import kind_of
from rigright.arch.record import Arch, Cut, Weight

MATCHES = ("kimi_linear", "KimiLinearForCausalLM", "bailing_hybrid", "BailingHybridForCausalLM")
LINEAR = "linear_attention"


def read(config: Config, name: str) -> Arch:
    """Read a Kimi Linear config."""
    bailing = config.raw.get("model_type") == "bailing_hybrid"
    config = full(config, "bailing_hybrid" if bailing else "kimi_linear")
    latent = read_latent(config)
    gated = config.flag("mla_use_output_gate", default=False)
    whole = extras(mla(latent), latent.hidden, gate="head" if bailing else "wide" if gated else "none")
    full_gate = config.part("linear_attn_config").flag("use_full_rank_gate", default=False)
    delta = kimi_delta(delta_sizes(config), low_rank=not bailing, full_gate=full_gate)
    size = read_sizes(config, head_dim=latent.nope_dim + latent.rope_dim, tied=False)
    attends = tuple(
        (delta if kind == LINEAR else whole) for kind in kinds(config, size.layers, bailing=bailing)
    )
    mixture = Mixture(
        dense_first=1,
        latent=config.maybe("routed_expert_hidden_size") or 0,
        latent_norm=config.flag("latent_moe_use_norm", default=False),
    )
    weighed = _weigh(size.hidden) if config.raw.get("attn_res_block_size") else ()
    style = Style(family=kind_of(config, MATCHES), extra=weighed * 2, outer=weighed)
    arch = read_mixture(config, name, style=style, mixture=mixture, attends=attends, size=size)
    arch = with_mtp(config, arch, copies=False)
    return near_published(arch) if weighed else arch


def _weigh(hidden: int) -> tuple[Weight, ...]:
    """Attention residuals: what weighs the states of earlier blocks before a layer takes one up."""
    return (*norm(hidden), *matrix("other.connect", 1, inputs=hidden, cut=Cut.WHOLE))


def kinds(config: Config, layers: int, *, bailing: bool = False) -> list[str]:
    """Each layer's kind: listed, or counted from 1 in the publisher's own part, or by the period."""
    own = config.part("linear_attn_config")
    full_layers = {index - 1 for index in own.sizes("full_attn_layers", default=())}
    period = config.size("layer_group_size", default=6)

    def default(index: int) -> str:
        if full_layers:
            is_full = index in full_layers
        else:
            is_full = (index + 1) % period == 0 if bailing else bool(index) and index % 4 == 0
        return "full_attention" if is_full else LINEAR

    return layer_types(config, layers, default=default)


def delta_sizes(config: Config) -> Delta:
    """The dimensions of delta attention, in the publisher's own part or beside the rest."""
    own = config.part("linear_attn_config")
    heads = own.maybe("num_heads") or config.size("linear_num_heads", "num_attention_heads")
    width = own.maybe("head_dim") or config.size("linear_head_dim", "head_dim")
    kernel = own.maybe("short_conv_kernel_size")
    return Delta(
        hidden=config.size("hidden_size"),
        key_heads=heads,
        value_heads=heads,
        key_dim=width,
        value_dim=width,
        conv=kernel or config.size("linear_conv_kernel_dim", "short_conv_kernel_size"),
    )

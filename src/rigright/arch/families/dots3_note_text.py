"""dots.3, language part: indexed latent attention, and windows of it with dimensions of their own."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import Block, norm
from rigright.arch.config import Config
from rigright.arch.decoder import SLIDING, Style, layer_types, read_sizes
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, extras, read_mixture
from rigright.arch.latent import Latent, indexed, mla, read_index, read_latent
from rigright.arch.record import Arch

MATCHES = ("dots3_note_text", "dots3_note", "Dots3NoteForCausalLM")
_SLIDING_DEFAULTS = {
    "num_attention_heads": 64,
    "q_lora_rank": 1024,
    "kv_lora_rank": 1024,
    "head_dim": 256,
    "qk_nope_head_dim": 192,
    "v_head_dim": 128,
}


def read(config: Config, name: str) -> Arch:
    """Read a dots.3 text config."""
    config = full(config, "dots3_note_text")
    latent = read_latent(config)
    size = read_sizes(config, head_dim=latent.nope_dim + latent.rope_dim)
    dsa = config.flag("use_dsa", default=True)
    slides = config.flag("use_sliding_window", default=True)

    def default(index: int) -> str:
        return "full_attention" if not slides or index < 2 or index % 4 == 1 else "sliding_attention"

    whole = _finished(latent)
    made = {
        True: _finished(_sliding(config)),
        False: indexed(whole, latent, index=read_index(config)) if dsa else whole,
    }
    attends = tuple(made[kind in SLIDING] for kind in layer_types(config, size.layers, default=default))
    each = config.size("moe_shared_expert_intermediate_size", "shared_experts_intermediate_size")
    config = config.over(shared_expert_intermediate_size=each * config.whole("n_shared_experts", default=1))
    style = Style(family="dots3_note")
    return read_mixture(config, name, style=style, mixture=Mixture(dense_first=1), attends=attends, size=size)


def _finished(latent: Latent) -> Block:
    """With a gate a head, and a norm on the key's part that turns."""
    block = extras(mla(latent), latent.hidden, gate="head")
    return replace(block, weights=(*block.weights, *norm(latent.rope_dim)))


def _sliding(config: Config) -> Latent:
    listed = config.part("per_layer_config")
    rows = [listed.part(key) for key in listed if isinstance(listed.raw[key], dict) and listed.raw[key]]
    row = rows[0] if rows else Config({}, config.where)

    def told(key: str) -> int:
        return row.maybe(key) or config.size(f"swa_{key}", default=_SLIDING_DEFAULTS[key])

    nope = told("qk_nope_head_dim")
    turning = config.maybe("swa_qk_rope_head_dim") or row.maybe("qk_rope_head_dim") or told("head_dim") - nope
    return Latent(
        hidden=config.size("hidden_size"),
        heads=told("num_attention_heads"),
        q_rank=told("q_lora_rank"),
        kv_rank=told("kv_lora_rank"),
        nope_dim=nope,
        rope_dim=turning,
        value_dim=told("v_head_dim"),
        bias=config.flag("attention_bias", default=False),
        window_tok=config.maybe("sliding_window") or config.size("sliding_window_size", default=512),
    )

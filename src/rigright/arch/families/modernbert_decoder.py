"""ModernBERT as a decoder (Ettin): a norm after the token table instead of the first layer's."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch import blocks
from rigright.arch.config import Config
from rigright.arch.decoder import Sizes, Style, layer_types, read_sizes, text_arch
from rigright.arch.record import Arch, Cut, Layer

MATCHES = ("modernbert-decoder", "ModernBertDecoderForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    size = read_sizes(config)
    shift = config.flag("norm_bias", default=False)
    near = config.size("local_attention", default=128) // 2
    period = config.size("global_attn_every_n_layers", default=3)
    kinds = layer_types(
        config, size.layers, default=lambda index: "sliding_attention" if index % period else "full_attention"
    )
    layers = [
        _layer(config, size, window_tok=near if kind == "sliding_attention" else None) for kind in kinds
    ]
    norm = blocks.norm(size.hidden, bias=shift)
    layers[0] = replace(layers[0], weights=layers[0].weights[len(norm) :])
    bridge = blocks.matrix(
        "project",
        size.hidden,
        inputs=size.hidden,
        cut=Cut.WHOLE,
        bias=config.flag("classifier_bias", default=False),
    )
    style = Style(
        family="modernbert_decoder",
        norm="layer" if shift else "rms",
        outer=(*norm, *bridge, *norm),
        head_bias=config.flag("decoder_bias", default=True),
    )
    return text_arch(config, name, style=style, size=size, layers=layers)


def _layer(config: Config, size: Sizes, *, window_tok: int | None) -> Layer:
    biased = config.flag("attention_bias", default=False)
    mixer = blocks.gqa(size.heads, size.heads, head_dim=size.head_dim, window_tok=window_tok)
    attention = blocks.attention(size.hidden, mixer, qkv_bias=biased, out_bias=biased)
    ffn = blocks.dense(size.hidden, size.width, bias=config.flag("mlp_bias", default=False))
    norms = blocks.norm(size.hidden, bias=config.flag("norm_bias", default=False)) * 2
    return Layer(weights=(*norms, *attention.weights, *ffn.weights), mixer=mixer, ffn=ffn.ffn)

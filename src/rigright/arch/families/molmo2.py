"""Molmo 2: an eye read at two depths, attention that pools its patches, a gated projection."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch, Tower, Weight
from rigright.arch.stack import Stack, conv, layer, linear, table
from rigright.arch.vision import sides

MATCHES = ("molmo2", "Molmo2ForConditionalGeneration")
_DEPTHS = 2  # layers of the eye that are looked at together
_ROWS = 729  # places of a picture of 378 pixels


def read(config: Config, name: str) -> Arch:
    """Read a Molmo 2 config."""
    config = full(config, "molmo2")
    text = part(config, "text_config")
    arch = language(config, name, kind="molmo2_text", model_type="qwen3")
    eye, adapter = part(config, "vision_config"), part(config, "adapter_config")
    # the token table with rows for marks in images; the head has none
    marks = text.whole("additional_vocab_size", default=0)
    outer = tuple(
        replace(weight, shape=(weight.shape[0] + marks, weight.shape[1]))
        if weight.role == "embed"
        else weight
        for weight in arch.trunk.outer
    )
    words = replace(arch, towers=(replace(arch.trunk, outer=outer),))
    hidden, side = eye.size("hidden_size"), eye.size("patch_size")
    high, wide = sides(eye.raw.get("image_size"), 378)
    tok = (high // side) * (wide // side)
    biased = eye.flag("attention_bias", default=True)
    stack = Stack(
        hidden=hidden,
        heads=eye.size("num_attention_heads"),
        kv_heads=eye.maybe("num_key_value_heads"),
        head_dim=eye.maybe("head_dim"),
        width=eye.size("intermediate_size"),
        biases="qkvoud" if biased else "ud",
        tok=tok,
    )
    pixels = eye.size("num_channels") * side**2
    return join(
        config,
        words,
        towers=(
            Tower(
                name="vision",
                hidden=hidden,
                layers=(layer(stack),) * eye.layers("num_hidden_layers"),
                outer=(
                    *conv("patch", (hidden, pixels), sites=tok),
                    *table(eye.maybe("num_position_embeddings") or _ROWS, hidden),
                    *_pooling(adapter, hidden, tok=tok),
                ),
                sample_tok=tok,
            ),
        ),
    )


def _pooling(adapter: Config, seen: int, *, tok: int) -> tuple[Weight, ...]:
    """Groups of four patches looked at by their mean, then a gate into the language model."""
    head = adapter.size("head_dim")
    queries, keys = adapter.size("num_attention_heads") * head, adapter.size("num_key_value_heads") * head
    biased = adapter.flag("attention_bias", default=True)
    wide, said = adapter.size("intermediate_size"), adapter.size("text_hidden_size")
    gated = adapter.flag("mlp_bias", default=False)
    inputs = _DEPTHS * seen
    return (
        *linear("project", (queries, inputs), bias=biased, sites=tok // 4),
        *linear("project", (keys, inputs), bias=biased, sites=tok) * 2,
        *linear("project", (adapter.size("hidden_size"), queries), bias=biased, sites=tok // 4),
        *linear("project", (wide, adapter.size("hidden_size")), bias=gated, sites=tok // 4) * 2,
        *linear("project", (said, wide), bias=gated, sites=tok // 4),
    )

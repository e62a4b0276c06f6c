"""Llama 4 with its eye: a vision transformer, patches folded four to one, two projections."""

from __future__ import annotations

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch, Tower
from rigright.arch.stack import Stack, conv, layer, linear, table, vector
from rigright.arch.vision import patches

MATCHES = ("Llama4ForConditionalGeneration",)


def read(config: Config, name: str) -> Arch:
    """Read a Llama 4 config."""
    config = full(config.over(model_type="llama4"), "llama4")
    arch = language(config, name, kind="llama4_text")
    return join(config, arch, towers=(_eye(part(config, "vision_config"), arch.trunk.hidden),))


def _eye(eye: Config, said: int) -> Tower:
    hidden, seen = eye.size("hidden_size"), patches(eye)
    stack = Stack(
        hidden=hidden,
        heads=eye.size("num_attention_heads"),
        width=eye.size("intermediate_size"),
        tok=seen + 1,
    )
    folded = int(hidden / eye.number("pixel_shuffle_ratio") ** 2)
    tok = seen * hidden // folded
    wide, handed = eye.size("projector_input_dim"), eye.size("projector_output_dim")
    biased = eye.flag("multi_modal_projector_bias", default=False)
    pixels = eye.size("num_channels") * eye.size("patch_size") ** 2
    return Tower(
        name="vision",
        hidden=hidden,
        layers=(layer(stack),) * eye.layers("num_hidden_layers"),
        outer=(
            *conv("patch", (hidden, pixels), bias=False, sites=seen),
            *vector(hidden),
            *table(seen + 1, hidden),
            *norm(hidden, bias=True) * 2,
            *linear("project", (wide, eye.size("intermediate_size")), bias=biased, sites=tok),
            *linear("project", (handed, handed), bias=biased, sites=tok),
            *linear("project", (said, eye.size("vision_output_dim")), bias=False, sites=tok),
        ),
        sample_tok=seen + 1,
    )

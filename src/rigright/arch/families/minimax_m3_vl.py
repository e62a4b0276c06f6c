"""MiniMax M3 with its eye: a CLIP-like transformer over frames, four patches merged after projection."""

from __future__ import annotations

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.merging import cubes
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch, Tower
from rigright.arch.stack import Stack, layer, linear
from rigright.arch.vision import patches

MATCHES = ("minimax_m3_vl", "MiniMaxM3SparseForConditionalGeneration")


def read(config: Config, name: str) -> Arch:
    """Read a MiniMax M3 config."""
    config = full(config.over(model_type="minimax_m3_vl"), "minimax_m3_vl")
    arch = language(config, name, kind="minimax_m3_vl_text")
    eye = full(config.part("vision_config"), "minimax_m3_vl_vision")
    wide = config.size("projector_hidden_size")
    hidden, tok = eye.size("hidden_size"), patches(eye)
    area = eye.size("spatial_merge_size") ** 2
    stack = Stack(
        hidden=hidden,
        heads=eye.size("num_attention_heads"),
        width=eye.size("intermediate_size"),
        tok=tok,
    )
    return join(
        config,
        arch,
        towers=(
            Tower(
                name="vision",
                hidden=hidden,
                layers=(layer(stack),) * eye.layers("num_hidden_layers"),
                outer=(
                    *cubes(eye, hidden, bias=False, sites=tok),
                    *norm(hidden, bias=True),
                    *linear("project", (wide, hidden), sites=tok),
                    *linear("project", (arch.trunk.hidden, wide), sites=tok),
                    *linear("project", (wide, arch.trunk.hidden * area), sites=tok // area),
                    *linear("project", (arch.trunk.hidden, wide), sites=tok // area),
                ),
                sample_tok=tok,
            ),
        ),
    )

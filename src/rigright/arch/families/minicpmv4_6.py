"""MiniCPM-V 4.6 and 4.7: a SigLIP eye that merges patches half-way through, and again behind it."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch, Weight
from rigright.arch.stack import linear
from rigright.arch.vision import patches, vit_tower

MATCHES = (
    "minicpmv4_6",
    "minicpmv4_7",
    "MiniCPMV4_6ForConditionalGeneration",
    "MiniCPMV4_7ForConditionalGeneration",
)
_WIDER = 4  # the feed-forward of the merger within


def read(config: Config, name: str) -> Arch:
    """Read a MiniCPM-V config."""
    kind = "minicpmv4_7" if config.raw.get("model_type") == "minicpmv4_7" else "minicpmv4_6"
    config = full(config, kind)
    arch = language(config, name, kind="qwen3_5_text")
    eye = part(config, "vision_config", kind=f"{kind}_vision")
    hidden, tok = eye.size("hidden_size"), patches(eye)
    tower = vit_tower(eye, "siglip_vision_model", tail=False)
    # attention inside windows of four patches, which then become one
    four = 4 * hidden
    merged = (
        *linear("attn.qkv", (3 * hidden, hidden), sites=tok),
        *linear("attn.o", (hidden, hidden), sites=tok),
        *norm(hidden, bias=True),
        *norm(four, bias=True),
        *linear("ffn.up", (_WIDER * four, four), sites=tok // 4),
        *linear("ffn.down", (hidden, _WIDER * four), sites=tok // 4),
        *_behind(config, hidden, said=arch.trunk.hidden, tok=tok // 4),
    )
    return join(config, arch, towers=(replace(tower, outer=(*tower.outer, *merged)),))


def _behind(config: Config, hidden: int, *, said: int, tok: int) -> tuple[Weight, ...]:
    """Four to one once or more, the last time into the language model."""
    area = 1
    for side in config.sizes("merge_kernel_size", default=[2, 2]):
        area *= side
    weights: tuple[Weight, ...] = ()
    times = max(config.layers("merger_times", default=1), 1)
    for index in range(times):
        tok //= area
        wide = hidden * area
        weights += norm(wide, bias=True)
        weights += linear("project", (wide, wide), sites=max(tok, 1))
        weights += linear("project", (said if index + 1 == times else hidden, wide), sites=max(tok, 1))
    return weights

"""HyperCLOVA X SEED Vision 2: Qwen2.5-VL's eye, one projection, a HyperCLOVA X decoder."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch import merging
from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch
from rigright.arch.stack import linear

MATCHES = ("hyperclovax_vision_v2", "HyperCLOVAXVisionV2ForConditionalGeneration")


def read(config: Config, name: str) -> Arch:
    """Read a HyperCLOVA X vision config."""
    config = full(config, "hyperclovax_vision_v2")
    arch = language(config, name, kind="hyperclovax")
    eye = part(config, "vision_config", kind="qwen2_5_vl_vision").over(
        sample_size=config.raw.get("image_size")
    )
    tower = merging.qwen25(eye)
    sites = (tower.sample_tok or 1) // eye.size("spatial_merge_size") ** 2
    handed = linear("project", (arch.trunk.hidden, eye.size("out_hidden_size")), sites=sites)
    return join(config, arch, towers=(replace(tower, outer=(*tower.outer, *handed)),))

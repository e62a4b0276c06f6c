"""Phi-3 Vision: CLIP's large eye at 336 pixels, four patches folded into one, a Phi-3 decoder."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.multimodal import join
from rigright.arch.pick import read_family
from rigright.arch.record import Arch
from rigright.arch.stack import linear, vector
from rigright.arch.vision import vit_tower

MATCHES = ("phi3_v", "Phi3VForCausalLM")
_LARGE = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "image_size": 336,
    "patch_size": 14,
}


def read(config: Config, name: str) -> Arch:
    """Read a Phi-3 Vision config."""
    arch = read_family(config.over(model_type="phi3", architectures=None), name)
    said = arch.trunk.hidden
    folded = 4 * config.part("img_processor").size("image_dim_out", default=1024)
    projected = (
        *linear("project", (said, folded), sites=144),
        *linear("project", (said, said), sites=144),
        *vector(folded) * 2,  # separators of rows and of the whole image
    )
    eye = vit_tower(
        full(Config(_LARGE, config.where), "clip_vision_model"), "clip_vision_model", after=projected
    )
    return join(config.over(model_type="phi3_v"), arch, towers=(eye,))

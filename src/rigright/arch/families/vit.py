"""Image encoders and classifiers that are vision transformers: ViT, DeiT, BEiT, DINO and their kin."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.heads import labels, task
from rigright.arch.record import Arch, Weight
from rigright.arch.stack import linear
from rigright.arch.vision import KINDS, vit_tower

_POOLED = frozenset({"vit", "deit"})  # bare models of these end in a dense layer
_BARE = frozenset({"data2vec-vision"})  # bare models of these do not pool
_DOUBLE = frozenset({"dinov2", "dinov2_with_registers"})  # the head sees class token and mean patch
MATCHES = (
    "vit",
    "vit_msn",
    "vit_mae",
    "deit",
    "ijepa",
    "dinov2",
    "dinov2_with_registers",
    "dinov3_vit",
    "beit",
    "data2vec-vision",
    "clip_vision_model",
    "chinese_clip_vision_model",
    "altclip_vision_model",
    "metaclip_2_vision_model",
    "clipseg_vision_model",
    "owlvit_vision_model",
    "owlv2_vision_model",
    "mlcd_vision_model",
    "siglip_vision_model",
    "siglip2_vision_model",
    "idefics2_vision",
    "idefics3_vision",
    "smolvlm_vision",
    "pixtral",
    "aimv2_vision_model",
    "internvl_vision",
    "ViTModel",
    "ViTForImageClassification",
    "Dinov2Model",
    "CLIPVisionModel",
    "SiglipVisionModel",
)


def read(config: Config, name: str) -> Arch:
    """Read the config of a vision transformer."""
    told = config.word("model_type", default="vit")
    kind = told if told in KINDS else "vit"
    config = full(config, kind)
    asked = task(config, "ForImageClassification")
    pools = bool(asked) or kind not in _BARE
    return Arch(
        name=name,
        family=kind,
        task="vision",
        towers=(vit_tower(config, kind, after=_head(config, kind, asked=asked), tail=pools),),
        dtype="fp32",
    )


def _head(config: Config, kind: str, *, asked: str) -> tuple[Weight, ...]:
    hidden = config.size("hidden_size")
    if asked == "WithProjection":
        return linear("project", (config.size("projection_dim"), hidden), bias=False)
    if asked.startswith("ForImageClassification"):
        twice = asked.endswith("WithTeacher")
        classes = linear("head", (labels(config), hidden * (2 if kind in _DOUBLE else 1)))
        return classes * (2 if twice else 1)
    pooled = config.maybe("pooler_output_size") or hidden
    return linear("project", (pooled, hidden)) if kind in _POOLED and not asked else ()

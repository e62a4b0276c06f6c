"""Image classifiers by the names benchmark tables write ("resnet50", "vit_base_patch16_224")."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from rigright.arch.read import read_config
from rigright.arch.record import Arch
from rigright.base.tables import DATA, read_toml

_LABELS = 1000  # ImageNet's


@cache
def classifier_configs() -> Mapping[str, Mapping[str, Any]]:
    """Name -> config, of every classifier the table knows."""
    table = read_toml(DATA / "arch" / "vision_models.toml")
    return {
        name: {"model_type": kind, "architectures": [_CLASSES[kind]], "num_labels": _LABELS, **value}
        for kind, models in table.items()
        for name, value in models.items()
    }


def classifier(name: str, *, image_px: int | None = None) -> Arch | None:
    """The classifier of that name, for images of so many pixels a side; None: not in the table."""
    config = classifier_configs().get(name)
    if config is None:
        return None
    return read_config({**config, **({} if image_px is None else {"image_size": image_px})}, name)


_CLASSES = {
    "resnet": "ResNetForImageClassification",
    "vit": "ViTForImageClassification",
    "beit": "BeitForImageClassification",
    "siglip_vision_model": "SiglipVisionModel",
    "convnext": "ConvNextForImageClassification",
    "convnextv2": "ConvNextV2ForImageClassification",
    "swin": "SwinForImageClassification",
    "swinv2": "Swinv2ForImageClassification",
    "efficientnet": "EfficientNetForImageClassification",
    "mobilenet_v2": "MobileNetV2ForImageClassification",
    "regnet": "RegNetForImageClassification",
}

"""Vision-language models whose eye merges patches: Qwen2-VL to Qwen3.5, GLM-4V and their kin."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rigright.arch import merging
from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch, Tower

# kind -> how its eye is built, the kind of the eye's config and of the language part's
_KINDS: dict[str, tuple[Callable[[Config], Tower], str, str]] = {
    "qwen2_vl": (merging.qwen2, "qwen2_vl_vision", "qwen2_vl_text"),
    "qwen2_5_vl": (merging.qwen25, "qwen2_5_vl_vision", "qwen2_5_vl_text"),
    "qwen3_vl": (merging.qwen3, "qwen3_vl_vision", "qwen3_vl_text"),
    "qwen3_vl_moe": (merging.qwen3, "qwen3_vl_moe_vision", "qwen3_vl_moe_text"),
    "qwen3_5": (merging.qwen3, "qwen3_5_vision", "qwen3_5_text"),
    "qwen3_5_moe": (merging.qwen3, "qwen3_5_moe_vision", "qwen3_5_moe_text"),
    "qwen4_exp": (merging.qwen3, "qwen4_exp_vision", "qwen4_exp_text"),
    "glm4v": (merging.glm, "glm4v_vision", "glm4v_text"),
    "glm46v": (merging.glm, "glm4v_vision", "glm4v_text"),
    "glm4v_moe": (merging.glm, "glm4v_moe_vision", "glm4v_moe_text"),
    "glm_ocr": (partial(merging.glm, ocr=True), "glm_ocr_vision", "glm_ocr_text"),
    "glmga": (merging.glm, "glm4v_vision", "glm4v_text"),
    "glm5_next": (partial(merging.glm, ocr=True), "glm5_next_vision", "glm5_next_text"),
    "cosmos3_omni": (merging.qwen3, "qwen3_vl_vision", "qwen3_vl_text"),
    "exaone4_5": (merging.qwen25, "exaone4_5_vision", "exaone4"),
}
MATCHES = (
    "qwen2_vl",
    "qwen2_5_vl",
    "qwen3_vl",
    "qwen3_vl_moe",
    "qwen3_5",
    "qwen3_5_moe",
    "qwen4_exp",
    "glm4v",
    "glm46v",
    "glm4v_moe",
    "glm_ocr",
    "glmga",
    "glm5_next",
    "Glm5NextForConditionalGeneration",
    "cosmos3_omni",
    "exaone4_5",
    "Qwen2VLForConditionalGeneration",
    "Qwen2_5_VLForConditionalGeneration",
    "Qwen3VLForConditionalGeneration",
    "Qwen3VLMoeForConditionalGeneration",
    "Qwen3_5ForConditionalGeneration",
    "Qwen3_5MoeForConditionalGeneration",
    "Glm4vForConditionalGeneration",
    "Glm4vMoeForConditionalGeneration",
)


def read(config: Config, name: str) -> Arch:
    """Read a model of this plan."""
    kind = config.word("model_type", default="qwen2_vl")
    eye, eye_kind, text_kind = _KINDS[kind if kind in _KINDS else "qwen2_vl"]
    config = full(config, kind)
    said: dict[str, Any] = {"attention_bias": False, "head_dim": None} if kind == "glm_ocr" else {}
    arch = language(config, name, kind=text_kind, **said)
    seen = part(config, "vision_config", kind=eye_kind).over(sample_size=config.raw.get("image_size"))
    return join(config, arch, towers=(eye(seen),))

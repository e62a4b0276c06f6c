"""LLaVA's plan: a known vision transformer, a small projector, a known language model."""

from __future__ import annotations

from collections.abc import Callable

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch, Tower, Weight
from rigright.arch.stack import linear, vector
from rigright.arch.vision import KINDS, patches, vit_tower
from rigright.base.record import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Widths:
    """What a projector stands between."""

    seen: int  # width of the vision tower
    text: int  # width of the language model
    tok: int  # patches of an image
    layers: int = 1  # vision layers it reads at once


Projector = Callable[[Config, Widths], tuple[Weight, ...]]


def _chain(config: Config, widths: Widths, *, bias: str = "multimodal_projector_bias") -> tuple[Weight, ...]:
    biased = config.flag(bias, default=True)
    return (
        *linear("project", (widths.text, widths.seen * widths.layers), bias=biased, sites=widths.tok),
        *linear("project", (widths.text, widths.text), bias=biased, sites=widths.tok),
    )


def _newline(config: Config, widths: Widths) -> tuple[Weight, ...]:
    return (*_chain(config, widths), *vector(widths.text))


def _vip(config: Config, widths: Widths) -> tuple[Weight, ...]:
    value = config.raw.get("vision_feature_layers") or config.raw.get("vision_feature_layer")
    many = len(value) if isinstance(value, list | tuple) else 1
    wide = Widths(seen=widths.seen, text=widths.text, tok=widths.tok, layers=many)
    return (
        *norm(widths.seen * many, bias=True),
        *linear("project", (widths.text, wide.seen * many), sites=widths.tok),
        *linear("project", (widths.text, widths.text), sites=widths.tok),
    )


def _merged(config: Config, widths: Widths) -> tuple[Weight, ...]:
    """Mistral: a norm, four patches to one, two layers."""
    area = config.size("spatial_merge_size", default=2) ** 2
    tok = widths.tok // area
    biased = config.flag("multimodal_projector_bias", default=False)
    return (
        *norm(widths.seen),
        *linear("project", (widths.seen, widths.seen * area), bias=False, sites=tok),
        *linear("project", (widths.text, widths.seen * widths.layers), bias=biased, sites=tok),
        *linear("project", (widths.text, widths.text), bias=biased, sites=tok),
    )


def _gemma(config: Config, widths: Widths) -> tuple[Weight, ...]:
    tok = config.size("mm_tokens_per_image", default=256)
    return (*linear("project", (widths.seen, widths.text), bias=False, sites=tok), *norm(widths.seen))


def _pali(config: Config, widths: Widths) -> tuple[Weight, ...]:
    return linear(
        "project", (config.size("projection_dim", default=widths.text), widths.seen), sites=widths.tok
    )


def _aya(config: Config, widths: Widths) -> tuple[Weight, ...]:
    return (*norm(_shuffled(config, widths), bias=True), *_command(config, widths))


def _command(config: Config, widths: Widths) -> tuple[Weight, ...]:
    """Cohere: patches folded together, a gated layer, one to the language model."""
    tok = widths.tok // config.size("downsample_factor", default=2) ** 2
    wide = config.size("alignment_intermediate_size", default=widths.text)
    return (
        *linear("project", (wide, _shuffled(config, widths)), sites=tok),
        *linear("project", (widths.text, wide // 2), sites=tok),
    )


def _shuffled(config: Config, widths: Widths) -> int:
    return widths.seen * config.size("downsample_factor", default=2) ** 2


def _intern(config: Config, widths: Widths) -> tuple[Weight, ...]:
    area = int(1 / config.number("downsample_ratio", default=0.5)) ** 2
    return (
        *norm(widths.seen * area, bias=True),
        *linear("project", (widths.text, widths.seen * area), sites=widths.tok // area),
        *linear("project", (widths.text, widths.text), sites=widths.tok // area),
    )


def _idefics3(config: Config, widths: Widths) -> tuple[Weight, ...]:
    area = config.size("scale_factor", default=2) ** 2
    return linear("project", (widths.text, widths.seen * area), bias=False, sites=widths.tok // area)


def _lfm2(config: Config, widths: Widths) -> tuple[Weight, ...]:
    area = config.size("downsample_factor", default=2) ** 2
    wide = config.size("projector_hidden_size", default=2560)
    biased = config.flag("projector_bias", default=True)
    normed = config.flag("projector_use_layernorm", default=True)
    return (
        *(norm(widths.seen * area, bias=True) if normed else ()),
        *linear("project", (wide, widths.seen * area), bias=biased, sites=widths.tok // area),
        *linear("project", (widths.text, wide), bias=biased, sites=widths.tok // area),
    )


def _plain(_: Config, widths: Widths) -> tuple[Weight, ...]:
    return (
        *linear("project", (widths.text, widths.seen), sites=widths.tok),
        *linear("project", (widths.text, widths.text), sites=widths.tok),
    )


def _paddle(config: Config, widths: Widths) -> tuple[Weight, ...]:
    wide = widths.seen * config.part("vision_config").size("spatial_merge_size", default=2) ** 2
    tok = widths.tok * widths.seen // wide
    return (
        *norm(widths.seen, bias=True),
        *linear("project", (wide, wide), sites=tok),
        *linear("project", (widths.text, wide), sites=tok),
    )


def _cosmos(config: Config, widths: Widths) -> tuple[Weight, ...]:
    area = config.part("vision_config").size("spatial_merge_size", default=2) ** 2
    wide = config.size("projector_hidden_size")
    return (
        *norm(widths.seen, bias=True),
        *linear("project", (wide, widths.seen * area), sites=widths.tok // area),
        *linear("project", (widths.text, wide), sites=widths.tok // area),
    )


def _ovis(config: Config, widths: Widths) -> tuple[Weight, ...]:
    """Patches become shares of a table of words for images; five of its rows are for marks."""
    eye = config.part("vision_config")
    words, marks = eye.size("vocab_size", default=16384), 5
    area = eye.size("hidden_stride", default=1) ** 2
    shares = linear("project", (words - marks, widths.seen * area), bias=False, sites=widths.tok // area)
    spread = Weight(
        role="project", shape=(words, config.size("hidden_size", default=1536)), sites=widths.tok // area
    )
    return (*shares, *norm(words - marks, bias=True), spread)


# kind -> its projector, the vision and the language kind it takes where none is named
_KINDS: dict[str, tuple[Projector, str, str]] = {
    "llava": (_chain, "clip_vision_model", "llama"),
    "llava_next": (_newline, "clip_vision_model", "llama"),
    "llava_next_video": (_newline, "clip_vision_model", "llama"),
    "llava_onevision": (_newline, "siglip_vision_model", "qwen2"),
    "video_llava": (_chain, "clip_vision_model", "llama"),
    "vipllava": (_vip, "clip_vision_model", "llama"),
    "mistral3": (_merged, "pixtral", "mistral"),
    "lighton_ocr": (_merged, "pixtral", "qwen3"),
    "gemma3": (_gemma, "siglip_vision_model", "gemma3_text"),
    "shieldgemma2": (_gemma, "siglip_vision_model", "gemma3_text"),
    "paligemma": (_pali, "siglip_vision_model", "gemma"),
    "aya_vision": (_aya, "siglip_vision_model", "cohere2"),
    "cohere2_vision": (_command, "siglip_vision_model", "cohere2"),
    "internvl": (_intern, "internvl_vision", "qwen2"),
    "idefics3": (_idefics3, "idefics3_vision", "llama"),
    "smolvlm": (_idefics3, "smolvlm_vision", "llama"),
    "lfm2_vl": (_lfm2, "siglip2_vision_model", "lfm2"),
    "deepseek_vl": (_plain, "siglip_vision_model", "llama"),
    "video_llama_3": (_plain, "video_llama_3_vision", "qwen2"),
    "paddleocr_vl": (_paddle, "paddleocr_vl_vision", "paddleocr_vl_text"),
    "ovis2": (_ovis, "ovis2_vision", "qwen2"),
    "qianfan_ocr": (_intern, "qianfan_ocr_vision", "qwen3"),
    "mistral_large4": (_merged, "pixtral", "mistral_large4_text"),
    "cosmos3_edge": (_cosmos, "cosmos3_edge_vision", "cosmos3_edge_text"),
    "internvl_chat": (_intern, "internvl_vision", "qwen2"),
}


# the same things under the names of an older config
_OLDER = {"attention_bias": "qkv_bias", "use_qk_norm": "qk_normalization"}


def read_llava(config: Config, name: str) -> Arch:
    """LLaVA's plan: a known vision transformer, a small projector, a known language model."""
    given = config.word("model_type", default="llava")
    kind = {"ministral3": "mistral3"}.get(given, given)
    kind = kind if kind in _KINDS else "llava"
    if kind == "internvl_chat":
        # an InternVL chat config in the words of today's
        seen = config.part("vision_config")
        new = {key: seen.raw[old] for key, old in _OLDER.items() if old in seen.raw}
        text = config.part("llm_config")
        tied = text.flag("tie_word_embeddings", default=False)
        config = config.over(
            vision_config={**seen.raw, **new}, text_config=dict(text.raw), tie_word_embeddings=tied
        )
    projector, eye_kind, text_kind = _KINDS[kind]
    config = full(config, kind).over(model_type=kind)
    arch = language(config, name, kind=text_kind)
    # the vision kind a config names, where we know it
    own = config.part("vision_config").raw.get("model_type")
    eye = part(config, "vision_config", kind=own if isinstance(own, str) and own in KINDS else eye_kind)
    chosen = config.raw.get("vision_feature_layer")
    widths = Widths(
        seen=eye.size("hidden_size"),
        text=arch.trunk.hidden,
        tok=patches(eye),
        layers=len(chosen) if isinstance(chosen, list | tuple) and chosen else 1,
    )
    towers = _eyes(
        eye, eye.word("model_type"), projected=projector(config, widths), twice=kind == "video_llava"
    )
    return join(config, arch, towers=towers)


def _eyes(eye: Config, kind: str, *, projected: tuple[Weight, ...], twice: bool) -> tuple[Tower, ...]:
    """The vision tower, and a second alike for video where there is one."""
    first = vit_tower(eye, kind, after=projected)
    return (first, vit_tower(eye, kind)) if twice else (first,)

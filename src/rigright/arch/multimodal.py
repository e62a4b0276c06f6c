"""Models of several senses: a language model read by its own family, with towers that see and hear."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.defaults import full, known, part
from rigright.arch.pick import read_family
from rigright.arch.record import Arch, Tower
from rigright.base.record import replace

# kinds of language parts that differ from a family on its own only in their defaults
_LIKE = {
    "qwen2_vl_text": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen2_5_omni_text": "qwen2",
    "qwen3_vl_text": "qwen3",
    "qwen3_omni_moe_text": "qwen3_moe",
    "qwen3_vl_moe_text": "qwen3_moe",
    "glm4v_text": "glm4",
    "glm_ocr_text": "glm4",
    "paddleocr_vl_text": "ernie4_5",
    "janus_text": "llama",
    "mllama_text_model": "llama",
}


def language(
    config: Config, name: str, *, key: str = "text_config", kind: str | None = None, **fields: object
) -> Arch:
    """The language part: nested under `key`, or flat beside the towers' configs as in older files.

    `fields` stand before what the config says.
    """
    inner = part(config, key, kind=kind)
    given = config.part(key).raw.get("model_type")
    strange = isinstance(given, str) and given != config.raw.get("model_type") and not known(given)
    own = str(given if strange else inner.raw.get("model_type"))
    if config.raw.get(key) is None and "num_hidden_layers" in config.raw:
        outside = {key: value for key, value in config.raw.items() if not key.endswith("_config")}
        inner = full(Config(outside, config.where), own)
    tied = config.flag("tie_word_embeddings", default=inner.flag("tie_word_embeddings", default=False))
    named = {"model_type": _LIKE.get(own, own), "tie_word_embeddings": tied, "architectures": None}
    return read_family(_rounded(inner.over(**{**named, **fields})), name)


def _rounded(inner: Config) -> Config:
    """Heads that do not divide the width are as wide as a whole number allows."""
    hidden, heads = inner.raw.get("hidden_size"), inner.raw.get("num_attention_heads")
    if inner.raw.get("head_dim") is None and isinstance(hidden, int) and isinstance(heads, int) and heads > 0:
        return inner.over(head_dim=hidden // heads) if hidden % heads else inner
    return inner


def join(config: Config, arch: Arch, *, towers: tuple[Tower, ...], task: str = "image-text") -> Arch:
    """The language model with its other towers behind it."""
    return replace(
        arch,
        family=config.word("model_type", default=arch.family),
        task=task,
        towers=(*arch.towers, *towers),
    )

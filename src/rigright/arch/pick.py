"""Which family a config belongs to: by the name it gives itself, else by the keys it bears."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.record import Arch
from rigright.base import shelf
from rigright.base.words import Sentence, say

FAMILIES = "rigright.arch.families"
GENERIC = "generic"
NESTED = ("text_config", "llm_config", "language_config", "language_model", "thinker_config")

# keys that only one kind of model bears -> the family that reads it; the first that fits wins
_TELLTALES: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"block_out_channels", "down_block_types", "cross_attention_dim"}), "unet"),
    (frozenset({"block_out_channels", "latent_channels"}), "vae"),
    (frozenset({"num_mel_bins", "decoder_layers", "encoder_layers"}), "whisper"),
    (frozenset({"d_kv", "d_ff", "num_heads"}), "t5"),
    (frozenset({"image_size", "patch_size", "hidden_size", "num_hidden_layers"}), "vit"),
    (frozenset({"depths", "hidden_sizes", "embedding_size"}), "resnet"),
    (frozenset({"type_vocab_size", "hidden_size"}), "bert"),
    (frozenset({"kv_lora_rank", "qk_rope_head_dim", "n_routed_experts"}), "deepseek_v3"),
    (frozenset({"kv_lora_rank", "qk_rope_head_dim"}), "deepseek_v2"),
)


def read_family(config: Config, name: str) -> Arch:
    """Read a config, or a language part inside one, with the family file that fits it best."""
    file = known(config)
    if file is not None:
        return _read(file, config, name)
    for key in NESTED:
        inner = config.part(key) if isinstance(config.raw.get(key), dict) else None
        if inner is not None:
            return _warned(read_family(_with_outer(inner, config), name), _inner_only(config, key))
    file = _nearest(config)
    return _warned(_read(file, config, name), _assumed(config, file))


def known(config: Config) -> str | None:
    """The family file that knows the model type or the class the config names; None: a stranger."""
    files = shelf.names(FAMILIES)
    told = _told(config)
    for word in told[:1]:
        file = word.replace("-", "_").replace(".", "_")
        if file in files and file != GENERIC:
            return file
    by_match = _matches()
    return next((by_match[word] for word in told if word in by_match), None)


def _matches() -> dict[str, str]:
    """Every name a family answers to -> its file."""
    found = {}
    for file, matches in shelf.load(FAMILIES, "MATCHES").items():
        found.update(dict.fromkeys(matches, file))
    return found


def _told(config: Config) -> list[str]:
    """The names a config gives itself: model type, then its classes."""
    architectures = config.raw.get("architectures")
    classes = architectures[:8] if isinstance(architectures, list) else []
    names: list[Any] = [config.raw.get("model_type"), *classes, config.raw.get("_class_name")]
    return [word for word in names if isinstance(word, str) and word]


def _nearest(config: Config) -> str:
    files = shelf.names(FAMILIES)
    keys = set(config)
    return next((file for telltale, file in _TELLTALES if telltale <= keys and file in files), GENERIC)


def _read(file: str, config: Config, name: str) -> Arch:
    kind = _told(config)[:1]
    arch: Arch = shelf.take(FAMILIES, file, "read")(full(config, kind[0] if kind else file), name)
    return arch


def _with_outer(inner: Config, outer: Config) -> Config:
    """The inner config, with what only the outer one says about the whole."""
    said = {
        key: outer.raw[key]
        for key in ("tie_word_embeddings", "torch_dtype", "dtype", "vocab_size")
        if key in outer.raw and key not in inner.raw
    }
    return inner.over(**said)


def _warned(arch: Arch, warning: Sentence) -> Arch:
    return replace(arch, warnings=(*arch.warnings, warning))


def _inner_only(config: Config, key: str) -> Sentence:
    return say(
        'the model type "{type}" is not known: only its language part ("{key}") was read and counted',
        type=_type(config),
        key=key,
    )


def _assumed(config: Config, file: str) -> Sentence:
    if not _told(config):
        return say("the config names no model type: read by its keys, as {kind}", kind=_kind(file))
    return say(
        'the model type "{type}" is not known: read by its keys, as {kind}',
        type=_type(config),
        kind=_kind(file),
    )


def _type(config: Config) -> str:
    return (_told(config) or ["?"])[0][:80]


def _kind(file: str) -> Sentence:
    return (
        say("a decoder with the parts its keys name")
        if file == GENERIC
        else say("the family {file}", file=file)
    )

"""Which family a config belongs to: by its declared type, else by its keys, else by its name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from rigright.arch import families
from rigright.arch.config import Config
from rigright.arch.decoder import HEADS, HIDDEN, LAYERS, warned
from rigright.arch.defaults import full, kind_of_class
from rigright.arch.defaults import known as has_defaults
from rigright.arch.families import GENERIC
from rigright.arch.record import Arch
from rigright.base.errors import DataError
from rigright.base.words import Sentence, say

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
    (frozenset({"hybrid_override_pattern"}), "nemotron_h"),
    (frozenset({"linear_num_key_heads", "linear_num_value_heads"}), "qwen3_next"),
    (frozenset({"attn_layer_period", "mamba_d_state"}), "jamba"),
    (frozenset({"mamba_n_heads", "layer_types", "shared_intermediate_size"}), "granitemoehybrid"),
    (frozenset({"mamba_n_heads", "attn_layer_indices"}), "bamba"),
    (frozenset({"state_size", "conv_kernel", "n_groups"}), "mamba2"),
    (frozenset({"state_size", "conv_kernel"}), "mamba"),
    (frozenset({"ssm_cfg", "d_model", "n_layer"}), "mamba"),
    (frozenset({"block_configs"}), "nemotron_nas"),
    (frozenset({"dim", "n_layers", "n_heads"}), "params_json"),
    (frozenset({"new_decoder_architecture", "parallel_attn"}), "falcon"),
    (frozenset({"rotary_pct", "use_parallel_residual"}), "gpt_neox"),
    (frozenset({"rotary_dim", "n_embd"}), "gptj"),
    (frozenset({"query_pre_attn_scalar", "sliding_window_pattern"}), "gemma3_text"),
    (frozenset({"query_pre_attn_scalar", "attn_logit_softcapping"}), "gemma2"),
)
_EXPERT_KEYS = frozenset({"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"})
_DIGITS = re.compile(r"_?[0-9]+")
_STEM = re.compile(r"[a-z]{3,}")
_MIN_LIKENESS = 0.7
_CLASS = re.compile(r"(?:For[A-Z]\w*|Model)\Z")  # a class, written where the model type stands


def read_family(config: Config, name: str) -> Arch:
    """Read a config, or a language part inside one, with the family that fits it best."""
    file = known(config)
    if file is not None:
        return _read(file, config, name=name)
    for key in NESTED:
        inner = config.part(key) if isinstance(config.raw.get(key), dict) else None
        if inner is not None:
            # the inner config, with what only the outer one says about the whole
            fields = {
                key: config.raw[key]
                for key in ("tie_word_embeddings", "torch_dtype", "dtype", "vocab_size")
                if key in config.raw and key not in inner.raw
            }
            return warned(read_family(inner.over(**fields), name), _inner_only(config, key))
    # the nearest family's reading, and where that fails the generic one
    texts = _own_names(config)
    near = _by_keys(config, families.table())
    near = near or (_by_name(texts[0], config, matches=families.names()) if texts else None)
    if near is not None:
        try:
            return warned(_read(near, config, name=name), _assumed(config, near))
        except DataError:
            pass
    try:
        return warned(_read(GENERIC, config, name=name), _assumed(config, GENERIC))
    except DataError as lack:
        raise DataError(_unreadable(config, lack)) from lack


def known(config: Config) -> str | None:
    """The family that knows the model type or the class the config names; None: a stranger."""
    return next(filter(None, map(families.family_of, _own_names(config))), None)


def _own_names(config: Config) -> list[str]:
    """The names a config gives itself: model type, then its classes."""
    architectures = config.raw.get("architectures")
    classes = architectures[:8] if isinstance(architectures, list) else []
    names: list[Any] = [_own_type(config), *classes, config.raw.get("_class_name")]
    return [word for word in names if isinstance(word, str) and word]


def _own_type(config: Config) -> Any:
    """The model type, unless it is only the language part's, written at the top by mistake."""
    value = config.raw.get("model_type")
    inner = [config.raw[key] for key in NESTED if isinstance(config.raw.get(key), dict)]
    return None if any(part.get("model_type") == value for part in inner) else value


def _read(file: str, config: Config, *, name: str) -> Arch:
    """What the family file reads, with the class's own defaults beneath the config."""
    kind = _own_type(config)
    if not isinstance(kind, str) or (_CLASS.search(kind) and not has_defaults(kind)):
        kind = next(filter(None, map(kind_of_class, _own_names(config))), file)
    whole = full(config.over(model_type=kind), kind)
    arch = families.reader(file)(whole, name)
    unsaid = _assumed_size(config, whole)
    return warned(arch, unsaid) if unsaid else arch


def _assumed_size(config: Config, whole: Config) -> Sentence | None:
    """A warning where even a main dimension had to be taken from the class."""
    if any(isinstance(value, dict) for value in config.raw.values()):
        return None  # a part of a model is often told only where it differs
    missing = [
        next(key for key in keys if whole.has(key))
        for keys in (HIDDEN, (*LAYERS, "depths", "depth"), HEADS)
        if not any(map(config.has, keys)) and any(map(whole.has, keys))
    ]
    if not missing:
        return None
    return say(
        "{where} lacks {keys}: using the defaults of its class",
        where=config.where,
        keys=", ".join(missing),
    )


def _inner_only(config: Config, key: str) -> Sentence:
    return say(
        'unknown model type "{type}": only its language part ("{key}") is counted',
        type=_type(config),
        key=key,
    )


def _assumed(config: Config, file: str) -> Sentence:
    kind = (
        say("a decoder with the parts its keys describe")
        if file == GENERIC
        else say("the family {file}", file=file)
    )
    if not _own_names(config):
        return say("the config has no model_type: reading its keys as {kind}", kind=kind)
    return say('unknown model type "{type}": reading its keys as {kind}', type=_type(config), kind=kind)


def _unreadable(config: Config, lack: DataError) -> Sentence:
    if not _own_names(config):
        return say("{why}; and the config has no model_type to fall back on", why=lack.sentence)
    return say(
        'unknown model type "{type}", and its keys do not describe a decoder: {why}',
        type=_type(config),
        why=lack.sentence,
    )


def _type(config: Config) -> str:
    return (_own_names(config) or ["?"])[0][:80]


def _by_keys(config: Config, files: Iterable[str]) -> str | None:
    """The family whose own keys the config bears."""
    keys, there = frozenset(config), frozenset(files)
    return next((file for telltale, file in _TELLTALES if telltale <= keys and file in there), None)


def _by_name(word: str, config: Config, *, matches: Mapping[str, str]) -> str | None:
    """The family whose model type is most alike but for its version; of equals the newest."""
    word = word.lower()
    stem = _STEM.match(word)
    if stem is None:
        return None
    sparse = not _EXPERT_KEYS.isdisjoint(config)
    kin = [name for name in matches if name.startswith(stem.group())]
    kin = [name for name in kin if ("moe" in name) == sparse] or kin
    ranked = sorted((_likeness(word, name), _version(name), name) for name in kin)
    return matches[ranked[-1][2]] if ranked and ranked[-1][0] >= _MIN_LIKENESS else None


def _likeness(word: str, name: str) -> float:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, _DIGITS.sub("", word), _DIGITS.sub("", name)).ratio()


def _version(name: str) -> float:
    """The first number in a name: qwen3_5 is 3.5, deepseek_v32 is 3.2."""
    digits = re.sub(r"\D", "", "".join(_DIGITS.findall(name)))[:4]
    return float(f"{digits[0]}.{digits[1:] or 0}") if digits else 0.0

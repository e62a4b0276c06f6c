"""Which family a config belongs to: by its declared type, else by its keys."""

from __future__ import annotations

from typing import Any

from rigright.arch import families
from rigright.arch.config import Config
from rigright.arch.decoder import HEADS, HIDDEN, LAYERS
from rigright.arch.defaults import full, kind_of_class
from rigright.arch.families import GENERIC
from rigright.arch.record import Arch
from rigright.base.errors import DataError
from rigright.base.record import replace
from rigright.base.words import Sentence, say

NESTED = ("text_config", "llm_config", "language_config", "language_model", "thinker_config")


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
            return _warned(read_family(inner.over(**fields), name), _inner_only(config, key))
    # the nearest family's reading, and where that fails the generic one
    from rigright.arch import strangers

    texts = _own_names(config)
    near = strangers.by_keys(config, families.table())
    near = near or (strangers.by_name(texts[0], config, matches=families.names()) if texts else None)
    if near is not None:
        try:
            return _warned(_read(near, config, name=name), _assumed(config, near))
        except DataError:
            pass
    try:
        return _warned(_read(GENERIC, config, name=name), _assumed(config, GENERIC))
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
    if not isinstance(kind, str):
        kind = next(filter(None, map(kind_of_class, _own_names(config))), file)
    whole = full(config.over(model_type=kind), kind)
    arch = families.reader(file)(whole, name)
    unsaid = _assumed_size(config, whole)
    return _warned(arch, unsaid) if unsaid else arch


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


def _warned(arch: Arch, warning: Sentence) -> Arch:
    return replace(arch, warnings=(*arch.warnings, warning))


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

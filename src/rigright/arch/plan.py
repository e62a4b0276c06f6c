"""What each layer of a model is, dense or with experts, from any of the keys that configs use."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from rigright.arch.config import Config
from rigright.arch.record import Layer
from rigright.base.errors import DataError
from rigright.base.words import say

Key = TypeVar("Key", bound=Hashable)

SPARSE = frozenset({"sparse", "moe", "hash_moe", "E"})
_LISTS = ("mlp_layer_types", "ffn_layer_types")
_CHOSEN = ("moe_layers", "moe_layers_enum")  # the layers with experts, as a list or "3,4,5"
_FIRST = ("first_k_dense_replace", "num_dense_layers", "moe_first_k_dense", "dense_layers_num")


def repeat(keys: Iterable[Key], build: Callable[[Key], Layer]) -> tuple[Layer, ...]:
    """A layer for each key, built once for equal keys."""
    wanted = tuple(keys)
    made = {key: build(key) for key in dict.fromkeys(wanted)}
    return tuple(made[key] for key in wanted)


def listed(config: Config, key: str, *, layers: int) -> list[object]:
    """One entry a layer, or none at all where the key is absent or null; too short a list is an error."""
    values = config.items(key, default=())
    if values and len(values) < layers:
        raise DataError(
            say(
                '{where}: "{key}" has {told} entries, the model has {layers} layers',
                where=config.where,
                key=key,
                told=len(values),
                layers=layers,
            )
        )
    return values[:layers]


def sparse_layers(config: Config, layers: int, *, dense_first: int = 0) -> list[bool]:
    """Whether each layer has experts; `dense_first` leading layers have none where nothing says so."""
    for read in (_by_list, _by_choice, _by_step, _by_span, _by_period):
        flags = read(config, layers)
        if flags is not None:
            return flags
    first = config.whole(*_FIRST, default=dense_first)
    period = max(
        1
        if isinstance(config.raw.get("moe_layer_freq"), list)
        else config.whole("moe_layer_freq", default=1),
        1,
    )
    return [index >= first and index % period == 0 for index in range(layers)]


def _by_list(config: Config, layers: int) -> list[bool] | None:
    for key in _LISTS:
        values = listed(config, key, layers=layers)
        if values:
            return [isinstance(kind, str | int) and kind in SPARSE for kind in values]
    if isinstance(config.raw.get("moe_layer_freq"), list):
        return [bool(kind) for kind in listed(config, "moe_layer_freq", layers=layers)] or None
    return None


def _by_choice(config: Config, layers: int) -> list[bool] | None:
    value = next((config.raw[key] for key in _CHOSEN if config.raw.get(key) is not None), None)
    if isinstance(value, str):
        chosen = {int(part) for part in value.split(",") if part.strip().isdecimal() and len(part) < 9}
    elif isinstance(value, list | tuple):
        chosen = {part for part in value if isinstance(part, int)}
    else:
        return None
    return [index in chosen for index in range(layers)]


def _by_step(config: Config, layers: int) -> list[bool] | None:
    """Every so many layers, as Qwen and Llama 4 say it, but those listed as dense."""
    if config.raw.get("decoder_sparse_step") is None and config.raw.get("interleave_moe_layer_step") is None:
        return None
    step = config.size("decoder_sparse_step", "interleave_moe_layer_step")
    dense = set(config.sizes("mlp_only_layers", default=()))
    return [(index + 1) % step == 0 and index not in dense for index in range(layers)]


def _by_span(config: Config, layers: int) -> list[bool] | None:
    """From one layer to another, as ERNIE says it."""
    start = _whole(config, "moe_layer_start_index")
    if start is None:
        return None
    end = _whole(config, "moe_layer_end_index")
    last = layers - 1 if end is None or end < 0 else end
    step = config.size("moe_layer_interval", default=1)
    return [start <= index <= last and (index + 1) % step == 0 for index in range(layers)]


def _by_period(config: Config, layers: int) -> list[bool] | None:
    """Every so many layers from an offset on, as Jamba says it."""
    if config.raw.get("expert_layer_period") is None:
        return None
    period = config.size("expert_layer_period")
    offset = config.whole("expert_layer_offset", default=0)
    return [index % period == offset for index in range(layers)]


def _whole(config: Config, key: str) -> int | None:
    """A whole number that may be negative (-1: the last layer), or the first of a list of them."""
    value = config.raw.get(key)
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, int) and not isinstance(value, bool) else None

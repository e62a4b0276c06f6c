"""A model as `look-up model` tells it: counts, cache, sizes, files; or why it could not be read."""

from __future__ import annotations

from dataclasses import dataclass, field

from rigright.arch.sources.opened import Adapter, Files
from rigright.base.words import Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerKind:
    """Layers that mix and feed alike."""

    count: int
    mixer: str | None
    mixer_shape: str
    ffn: str | None
    ffn_shape: str
    params: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TowerCard:
    """One tower."""

    name: str
    hidden: int
    layers: int
    params: int
    kinds: tuple[LayerKind, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """One model asked for."""

    asked: str
    name: str
    error: Sentence | None = None
    family: str | None = None
    task: str | None = None
    params: int | None = None
    active_params: int | None = None
    embedding_params: int | None = None
    spare_params: int | None = None
    kv_bytes_per_token: int | float | None = None
    kv_constant_bytes: int | None = None
    max_context_tok: int | None = None
    flops_per_tok: int | None = None
    layers: int | None = None
    hidden: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    vocab: int | None = None
    tied: bool | None = None
    dtype: str | None = None
    stored: str | None = None
    source: str | None = None
    towers: tuple[TowerCard, ...] | None = None
    params_by_part: dict[str, int] | None = None
    kv_bytes_at: dict[int, int] | None = None  # context in tokens -> bytes of one sequence, 16-bit
    weights_bytes: dict[str, int] = field(default_factory=dict)  # format -> bytes
    files: Files | None = None
    adapter: Adapter | None = None
    warnings: tuple[Sentence, ...] = ()

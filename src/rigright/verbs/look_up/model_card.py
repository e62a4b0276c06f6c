"""A model as `look-up model` tells it: counts, cache, sizes, files; or why it could not be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rigright.arch import cache, count
from rigright.arch.cache import ELEM_BYTES
from rigright.arch.record import Arch, Ffn, Layer, Mixer, Tower, part
from rigright.arch.sources.open import examine
from rigright.arch.sources.opened import Adapter, Files, Opened
from rigright.base.errors import RigError
from rigright.base.units import KIB
from rigright.base.words import Sentence
from rigright.cost.layers import cross_tok, lanes
from rigright.cost.memory.kv import entries, entry_bytes, state_bytes
from rigright.demand import Layout
from rigright.facts.formats import formats, mixes
from rigright.terms.memory import weights_bytes
from rigright.verbs.look_up.listing import LookUpQuery

_CONTEXTS = tuple(tok * KIB for tok in (2, 8, 32, 128, 256, 1024))
_TEXT_TOWERS = frozenset({"text", "decoder"})


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


def find_models(asked: LookUpQuery) -> tuple[ModelCard, ...]:
    """A card for each name or path, in the order asked; one that cannot be read says why."""
    return tuple(_card_or_error(word, asked) for word in asked.words)


def _card_or_error(word: str, asked: LookUpQuery) -> ModelCard:
    try:
        opened = examine(word, run_code=asked.run_code, input_shape=asked.input_shape)
        return _card(opened, word)
    except RigError as error:
        return ModelCard(asked=word, name=word, error=error.whole)


def _card(opened: Opened, asked: str) -> ModelCard:
    """The card of a model that was opened: everything there is to tell."""
    arch = opened.arch
    # cache of one sequence, 16-bit, at usual lengths up to the longest the model allows
    longest = arch.max_context_tok
    usual = [tok for tok in _CONTEXTS if longest is None or tok <= longest]
    if longest is not None and longest not in usual:
        usual.append(longest)
    # parameters by what they are: attn, ffn, expert, embed
    counts: Counter[str] = Counter()
    for weight, times in count.weights(arch.towers):
        counts[part(weight)] += count.elems(weight) * weight.copies * times
    return replace(
        short_card(arch, asked),
        towers=tuple(map(_tower, arch.towers)) or None,
        params_by_part=dict(counts.most_common()) or None,
        kv_bytes_at=dict(zip(usual, map(round, _sequence_bytes(arch, np.array(usual))), strict=True))
        if lanes(arch) and usual
        else None,
        weights_bytes=_sizes(arch),
        files=opened.files,
        adapter=opened.adapter,
        warnings=arch.warnings,
    )


def short_card(arch: Arch, asked: str) -> ModelCard:
    """What a list of models shows of each."""
    trunk = arch.trunk
    mixer = next(
        (layer.mixer for layer in trunk.layers if layer.mixer is not None and layer.mixer.heads), None
    )
    return ModelCard(
        asked=asked,
        name=arch.name,
        family=arch.family,
        task=arch.task,
        params=count.params(arch),
        active_params=count.active_params(arch),
        embedding_params=count.embedding_params(arch),
        spare_params=count.params(replace(arch, towers=arch.spare)) or None,
        kv_bytes_per_token=cache.kv_bytes_per_token(arch),
        kv_constant_bytes=cache.kv_constant_bytes(arch),
        max_context_tok=arch.max_context_tok,
        flops_per_tok=count.flops_per_tok(trunk, head_tied=arch.tied),
        layers=len(trunk.layers),
        hidden=trunk.hidden,
        heads=mixer.heads if mixer else None,
        kv_heads=mixer.kv_heads if mixer else None,
        head_dim=mixer.key_dim if mixer else None,
        vocab=arch.vocab or None,
        tied=arch.tied,
        dtype=arch.dtype,
        stored=arch.stored,
        source=arch.source or None,
        warnings=arch.warnings,
    )


def _sizes(arch: Arch) -> dict[str, int]:
    """Bytes of the weights in every format that can hold them; GGUF holds language models."""
    ids = [*formats(), *(mix.id for mix in mixes().values() if arch.trunk.name in _TEXT_TOWERS)]
    return {name: weights_bytes(arch, name) for name in ids}


def _sequence_bytes(arch: Arch, context_tok: Any) -> Any:
    """Bytes one sequence leaves in a 16-bit cache, its constant states included."""
    layout, cross = Layout(), cross_tok(arch)
    total = np.zeros_like(np.asarray(context_tok, dtype=float))
    for mixer, times in lanes(arch).items():
        value = entries(mixer, context_tok, extra_tok=0, cross=cross) * entry_bytes(
            mixer, layout, element_bytes=ELEM_BYTES
        )
        total = total + (value + state_bytes(mixer, layout)) * times
    return total


def _tower(tower: Tower) -> TowerCard:
    return TowerCard(
        name=tower.name,
        hidden=tower.hidden,
        layers=len(tower.layers),
        params=sum(count.elems(weight) * weight.copies * times for weight, times in count.weights((tower,))),
        kinds=tuple(_kinds(tower)),
    )


def _kinds(tower: Tower) -> Iterator[LayerKind]:
    """Layers that mix and feed alike, together."""
    same: dict[tuple[Mixer | None, Ffn | None], list[Layer]] = {}
    for layer in tower.layers:
        same.setdefault((layer.mixer, layer.ffn), []).append(layer)
    for (mixer, ffn), layers in same.items():
        yield LayerKind(
            count=len(layers),
            mixer=None if mixer is None else mixer.kind.value,
            mixer_shape="" if mixer is None else _mixer_shape(mixer),
            ffn=None if ffn is None else ("experts" if ffn.experts else "dense"),
            ffn_shape="" if ffn is None else _ffn_shape(ffn),
            params=sum(count.elems(weight) * weight.copies for layer in layers for weight in layer.weights),
        )


def _mixer_shape(mixer: Mixer) -> str:
    """Heads and widths in the usual short form."""
    if mixer.latent_dim:
        return f"{mixer.heads} x {mixer.key_dim}, latent {mixer.latent_dim}"
    heads = f"{mixer.heads}/{mixer.kv_heads} x {mixer.key_dim}" if mixer.heads else ""
    window = f"window {mixer.window_tok:,}" if mixer.window_tok else ""
    state = mixer.state32_elems + mixer.state16_elems
    return ", ".join(filter(None, (heads, window, f"state {state:,}" if state else "")))


def _ffn_shape(ffn: Ffn) -> str:
    if not ffn.experts:
        return f"{ffn.width:,}"
    shared = f" + {ffn.shared_width:,}" if ffn.shared_width else ""
    return f"{ffn.per_tok} of {ffn.experts} x {ffn.width:,}{shared}"

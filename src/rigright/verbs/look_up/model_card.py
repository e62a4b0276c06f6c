"""A model as `look-up model` tells it: counts, cache, sizes, towers, files; or why it cannot be told."""

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
from rigright.arch.sources.opened import Adapter, Files
from rigright.base.errors import RigError
from rigright.base.page import Bar, Bars, Column, Part, Piece, Points, Shown, Table
from rigright.base.units import KIB, MEGA, show_bytes, show_count
from rigright.base.words import Sentence, say, worded
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
            short_card(arch, word),
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
    except RigError as error:
        return ModelCard(asked=word, name=word, error=error.whole)


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


# what people weigh against each other first; --json has every format
USUAL_FORMATS = (
    "bf16",
    "fp8",
    "int8",
    "awq4",
    "nf4",
    "nvfp4",
    "mxfp4",
    "mlx4",
    "gguf:Q8_0",
    "gguf:Q6_K",
    "gguf:Q5_K_M",
    "gguf:Q4_K_M",
    "gguf:Q3_K_M",
    "gguf:IQ2_XS",
)
MAX_KINDS = 40


def model_parts(card: ModelCard) -> tuple[Part, ...]:
    """The parts of a page about one model."""
    if card.error is not None:
        return ()
    warnings = Points(title=say("Warnings"), items=card.warnings, tone="warn") if card.warnings else None
    parts = (_layers(card), _by_part(card), _cache(card), _weights(card), _files(card.files), _adapter(card))
    return tuple(part for part in (*parts, warnings) if part is not None)


def exact_count(number: float) -> Shown:
    """A count to the last one, and in short."""
    return f"{number:,.0f}" if number < MEGA else f"{number:,.0f} ({show_count(number)})"


def cache_shown(size: float) -> Shown:
    """Bytes of a cache; a model without one shows none."""
    return show_bytes(size) if size else ""


def context_shown(tokens: int) -> Shown:
    """A length in tokens: 128K, 8,000."""
    return f"{tokens // KIB:,}K" if tokens and tokens % KIB == 0 else f"{tokens:,}"


def _layers(card: ModelCard) -> Part | None:
    rows = [row for tower in card.towers or () for row in _tower_rows(tower)]
    if not rows:
        return None
    columns = (
        Column(head=say("layers"), right=True),
        Column(head=say("tower")),
        Column(head=say("mixing")),
        Column(head=say("heads x width"), flexible=True),
        Column(head=say("feed-forward"), flexible=True),
        Column(head=say("parameters"), right=True),
    )
    return Table(title=say("Layers by kind"), columns=columns, rows=tuple(rows[:MAX_KINDS]))


def _tower_rows(tower: TowerCard) -> list[tuple[Shown, ...]]:
    return [
        (
            str(kind.count),
            worded("tower")(tower.name),
            worded("mixer")(kind.mixer) if kind.mixer else "-",
            kind.mixer_shape,
            _ffn(kind.ffn, kind.ffn_shape),
            show_count(kind.params),
        )
        for kind in tower.kinds
    ]


def _ffn(kind: str | None, shape: str) -> Shown:
    if kind is None:
        return "-"
    return say("experts {shape}", shape=shape) if kind == "experts" else shape


def _by_part(card: ModelCard) -> Part | None:
    if not card.params:
        return None
    pieces = tuple(
        Piece(name=worded("model_part")(name), size=number, shown=show_count(number))
        for name, number in (card.params_by_part or {}).items()
        if number
    )
    bar = Bar(label=say("parameters"), pieces=pieces, limit=card.params, shown=show_count(card.params))
    return Bars(title=say("Parameters by part"), bars=(bar,))


def _cache(card: ModelCard) -> Part | None:
    if not card.kv_bytes_at or not any(card.kv_bytes_at.values()):
        return None
    columns = (Column(head=say("context"), right=True), Column(head=say("one sequence, 16-bit"), right=True))
    rows = tuple((context_shown(tok), show_bytes(size)) for tok, size in card.kv_bytes_at.items())
    return Table(title=say("Cache"), columns=columns, rows=rows)


def _weights(card: ModelCard) -> Part | None:
    own = [card.stored] if card.stored in card.weights_bytes else []
    names = dict.fromkeys([*own, *(name for name in USUAL_FORMATS if name in card.weights_bytes)])
    if not names:
        return None
    columns = (Column(head=say("format")), Column(head=say("weights"), right=True))
    rows = tuple((name or "", show_bytes(card.weights_bytes[name or ""])) for name in names)
    return Table(title=say("Weights by format"), columns=columns, rows=rows)


def _files(files: Files | None) -> Part | None:
    if files is None:
        return None
    return Points(title=say("Files"), items=(*_parts_words(files), *files.notes))


def _parts_words(files: Files) -> tuple[Sentence, ...]:
    types = ", ".join(
        f"{dtype} {show_bytes(size)}"
        for dtype, size in sorted(files.bytes_by_dtype.items(), key=lambda pair: -pair[1])
    )
    size = files.tensors_bytes if files.size_bytes is None else files.size_bytes
    return (
        say(
            "files: {files}, total {size} ({bytes} bytes)",
            files=files.files,
            size=show_bytes(size),
            bytes=f"{size:,}",
        ),
        *((say("tensors by type: {types}", types=types),) if types else ()),
    )


def _adapter(card: ModelCard) -> Part | None:
    if card.adapter is None:
        return None
    rank, params = card.adapter.rank, card.adapter.params
    item = say(
        "{kind} of rank {rank}, {params} parameters",
        kind=card.adapter.kind,
        rank=rank if rank is not None else "?",
        params=f"{params:,}" if params is not None else "?",
    )
    return Points(title=say("Adapter"), items=(item,))

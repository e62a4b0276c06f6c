"""KV-cache memory: bytes per token in each layer, states per sequence, and the layout of it all in an engine.

An engine keeps pages of one size for all layers, single tokens, or rows of cells.
"""

from __future__ import annotations

import numpy as np

from rigright.arch.cache import BOUNDED, ELEM_BYTES, GROWING, STATE_BYTES, entry_elems
from rigright.arch.record import Arch, Mix, Mixer
from rigright.base.record import dataclass
from rigright.cost.layers import CACHED, cross_tok, lanes
from rigright.cost.shards import attention_share, cache_share
from rigright.demand import Layout, Numbers
from rigright.facts.engines import Engine


def entry_bytes(mixer: Mixer, layout: Layout, *, element_bytes: float) -> Numbers:
    """Bytes one rank keeps for one cache entry of one layer."""
    if mixer.kind not in CACHED:
        return 0.0 * cache_share(layout, kv_heads=1, latent=True)
    own = entry_elems(mixer) - mixer.index_dim
    shared = own * cache_share(layout, kv_heads=mixer.kv_heads, latent=mixer.latent_dim > 0)
    return (shared + mixer.index_dim * cache_share(layout, kv_heads=1, latent=True)) * element_bytes


def state_bytes(mixer: Mixer, layout: Layout) -> Numbers:
    """Bytes of one layer's constant state of one sequence on one rank."""
    size = mixer.state32_elems * STATE_BYTES + mixer.state16_elems * ELEM_BYTES
    return size * attention_share(layout)


def entries(mixer: Mixer, context_tok: Numbers, *, extra_tok: Numbers, cross: int) -> Numbers:
    """Cache entries one layer keeps of one sequence; a window may keep `extra_tok` beyond itself.

    A compressed cache may keep a window of its newest tokens uncompressed beside it.
    """
    context = np.asarray(context_tok, dtype=float)
    if mixer.kind == Mix.CROSS:
        return np.full_like(context, cross)
    grown = np.ceil(context / mixer.every_tok)
    if mixer.kind in BOUNDED and mixer.window_tok is not None:
        return np.minimum(grown, mixer.window_tok + extra_tok)
    beside = 0.0 if mixer.window_tok is None else np.minimum(context, mixer.window_tok)
    return grown + beside if mixer.kind in GROWING | BOUNDED else np.zeros_like(context)


def rounded(number: Numbers, multiple: Numbers) -> Numbers:
    """Up to the next multiple."""
    return np.ceil(np.asarray(number, dtype=float) / multiple) * multiple


def token_bytes(arch: Arch, layout: Layout, *, element_bytes: float) -> Numbers:
    """Bytes one more token of a long sequence costs one rank, all layers together (windows are full)."""
    return sum(
        (
            entry_bytes(mixer, layout, element_bytes=element_bytes) / mixer.every_tok * count
            for mixer, count in lanes(arch).items()
            if mixer.kind in GROWING
        ),
        start=np.zeros_like(np.asarray(layout.tp, dtype=float)),
    )


GROUP_SLACK = 1.5  # kinds of layer closer in number than this share the larger number


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What the cache has to hold, and how it is stored."""

    context_tok: Numbers
    batch: Numbers
    budget_tok: Numbers
    element_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheNeed:
    """What one rank's caches need, and the unit in which the engine counts its pool."""

    cache_bytes: Numbers
    states_bytes: Numbers
    unit_bytes: Numbers  # of the pool: a block, or a token
    unit_tok: Numbers  # tokens the engine counts for one unit

    @property
    def need_bytes(self) -> Numbers:
        """Caches and states together."""
        return self.cache_bytes + self.states_bytes


def cache_need(arch: Arch, engine: Engine, *, ask: Ask, layout: Layout, counts: Numbers) -> CacheNeed:
    """Caches of one rank whose stage holds `counts` layers of each mixer."""
    if engine.paging == "unified":
        return _unified(arch, engine, ask=ask, layout=layout, counts=counts)
    context = rounded(ask.context_tok, max(engine.pad_tok, engine.block_tok))
    extra, cross = window_extra(engine, ask), cross_tok(arch)
    cache = states = grows = np.zeros(np.shape(layout.tp))
    for place, mixer in enumerate(lanes(arch)):
        layers = counts[place]
        each = layers * entry_bytes(mixer, layout, element_bytes=ask.element_bytes)
        kept = entries(mixer, context, extra_tok=extra, cross=cross)
        cache = cache + each * rounded(kept, engine.pad_tok)
        states = states + layers * state_bytes(mixer, layout)
        # entries of this layer the engine's pool keeps for each token it counts
        share = 1.0 if engine.window_extra == "all" else engine.swa_share or 0.0
        whole = float(mixer.kind in CACHED and mixer.kind != Mix.CROSS)
        grows = grows + each * (share if mixer.kind in BOUNDED else whole) / mixer.every_tok
    return CacheNeed(
        cache_bytes=cache * ask.batch,
        states_bytes=states * ask.batch,
        unit_bytes=grows * engine.block_tok,
        unit_tok=engine.block_tok,
    )


def window_extra(engine: Engine, ask: Ask) -> Numbers:
    """Tokens a sliding window holds beyond itself in this engine."""
    return {"none": 0, "budget": ask.budget_tok, "all": np.inf}[engine.window_extra]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pages:
    """Pages of one size shared by all kinds of layer."""

    page_bytes: Numbers
    block_tok: tuple[Numbers, ...]  # tokens in a page, by mixer; a state takes a page whole
    groups: tuple[int, ...]  # groups of layers, by mixer

    @property
    def all_groups(self) -> int:
        """Block tables a sequence has."""
        return max(sum(self.groups), 1)


def _unified(arch: Arch, engine: Engine, *, ask: Ask, layout: Layout, counts: Numbers) -> CacheNeed:
    kinds = lanes(arch)
    if not kinds:
        nothing = np.zeros_like(np.asarray(layout.tp, dtype=float))
        return CacheNeed(
            cache_bytes=nothing, states_bytes=nothing, unit_bytes=nothing, unit_tok=engine.block_tok
        )
    if len({_growth(mixer) for mixer in kinds}) == 1 and not any(_is_state(mixer) for mixer in kinds):
        return _one_table(arch, engine, ask=ask, layout=layout, counts=counts)
    pages = _pages(arch, engine, ask=ask, layout=layout)
    depth = np.max(
        np.stack([np.ceil(counts[place] / groups) for place, groups in enumerate(pages.groups)]), axis=0
    )
    unit = pages.page_bytes * depth
    states = sum(
        groups for mixer, groups in zip(kinds, pages.groups, strict=True) if _is_state(mixer)
    ) * np.asarray(ask.batch, dtype=float)
    # pages all growing caches of all sequences need
    cross = cross_tok(arch)
    blocks = sum(
        groups * _sequence_blocks(mixer, engine, ask=ask, block=block, cross=cross) * ask.batch
        for mixer, groups, block in zip(lanes(arch), pages.groups, pages.block_tok, strict=True)
        if not _is_state(mixer)
    )
    return CacheNeed(
        cache_bytes=blocks * unit,
        states_bytes=states * unit,
        unit_bytes=unit,
        unit_tok=np.min(np.stack(np.broadcast_arrays(*pages.block_tok)), axis=0) / pages.all_groups,
    )


def _is_state(mixer: Mixer) -> bool:
    return mixer.kind not in CACHED


def _growth(mixer: Mixer) -> tuple[bool, int | None]:
    return mixer.kind == Mix.CROSS, mixer.window_tok if mixer.kind in BOUNDED else None


def _block_tok(engine: Engine, kinds: tuple[Mixer, ...]) -> int:
    latent = any(mixer.kind == Mix.LATENT for mixer in kinds)
    return engine.latent_block_tok if latent and engine.latent_block_tok else engine.block_tok


def _one_table(arch: Arch, engine: Engine, *, ask: Ask, layout: Layout, counts: Numbers) -> CacheNeed:
    """Layers that all keep the same tokens share one block table, whatever the size of their entries."""
    kinds = tuple(lanes(arch))
    block = _block_tok(engine, kinds)
    unit = sum(
        counts[place] * entry_bytes(mixer, layout, element_bytes=ask.element_bytes) * block / mixer.every_tok
        for place, mixer in enumerate(kinds)
    )
    blocks = _sequence_blocks(kinds[0], engine, ask=ask, block=block, cross=cross_tok(arch))
    return CacheNeed(
        cache_bytes=blocks * ask.batch * unit, states_bytes=0.0 * unit, unit_bytes=unit, unit_tok=block
    )


def _pages(arch: Arch, engine: Engine, *, ask: Ask, layout: Layout) -> _Pages:
    kinds = lanes(arch)
    entry = [entry_bytes(mixer, layout, element_bytes=ask.element_bytes) for mixer in kinds]
    state = [state_bytes(mixer, layout) if _is_state(mixer) else 0.0 * entry[0] for mixer in kinds]
    widest, largest = np.max(np.stack(entry), axis=0), np.max(np.stack(state), axis=0)
    step = _block_tok(engine, tuple(kinds))
    block = step * np.maximum(np.ceil(largest / np.maximum(step * widest, 1)), 1)
    page = np.where(widest > 0, block * widest, largest)
    counts = tuple(kinds.values())
    size = max(counts) if max(counts) < min(counts) * GROUP_SLACK else min(counts)
    return _Pages(
        page_bytes=page,
        block_tok=tuple(np.where(each > 0, np.floor(page / np.maximum(each, 1)), block) for each in entry),
        groups=tuple(-(-count // size) for count in kinds.values()),
    )


def _sequence_blocks(mixer: Mixer, engine: Engine, *, ask: Ask, block: Numbers, cross: int) -> Numbers:
    """Blocks one layer keeps of one sequence; a window lies across one block more than it fills."""
    kept = entries(mixer, ask.context_tok, extra_tok=window_extra(engine, ask), cross=cross)
    across = float(mixer.kind in BOUNDED)
    if mixer.kind == Mix.CROSS:
        return np.ceil(kept / block)
    most = np.maximum(np.ceil(np.asarray(ask.context_tok, dtype=float) / block), 1)
    return np.minimum(np.ceil(kept * mixer.every_tok / block) + across, most)

"""KV-cache memory: bytes per token in each layer, and states of constant size per sequence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from rigright.arch.cache import BOUNDED, ELEM_BYTES, GROWING, STATE_BYTES, entry_elems
from rigright.arch.record import Arch, Layer, Mix, Mixer
from rigright.base.record import kept
from rigright.cost.shards import attention_share, cache_share
from rigright.demand import Layout, Numbers

CACHED = GROWING | BOUNDED | {Mix.CROSS}


def mixers_of(layer: Layer) -> tuple[Mixer, ...]:
    """What keeps a cache or a state in a layer: its mixer, and cross-attention beside it."""
    pair = (layer.mixer, layer.cross)
    return tuple(mixer for mixer in pair if mixer is not None and not mixer.shares_cache and _keeps(mixer))


def _keeps(mixer: Mixer) -> bool:
    return mixer.kind in CACHED or bool(mixer.state16_elems or mixer.state32_elems)


@kept
def lanes(arch: Arch) -> Mapping[Mixer, int]:
    """Every distinct mixer of the trunk that keeps something, and in how many layers it stands."""
    times = Counter(map(id, arch.trunk.layers))
    fields: Counter[Mixer] = Counter()
    for layer in unlike_layers(arch):
        for mixer in mixers_of(layer):
            fields[mixer] += times[id(layer)]
    return fields


def generates(arch: Arch) -> bool:
    """Whether it makes text token by token."""
    return bool(arch.vocab) and bool(lanes(arch)) and arch.task not in {"embed", "vision", "image"}


def transcribes(arch: Arch) -> bool:
    """Whether it writes down what is said in windows of sound."""
    return arch.task == "speech" and generates(arch)


def takes_samples(arch: Arch) -> bool:
    """Whether it works on whole samples, and its time is known."""
    return arch.task in {"vision", "image", "embed"}


def is_generator(arch: Arch) -> bool:
    """Whether it makes images of noise."""
    return arch.task == "image" and arch.family != "vae"


@kept
def unlike_layers(arch: Arch) -> tuple[Layer, ...]:
    """Each layer object of the trunk once: equal layers are mostly one object, and hashing them is slow."""
    return tuple({id(layer): layer for layer in arch.trunk.layers}.values())


@kept
def cross_tok(arch: Arch) -> int:
    """Tokens cross-attention remembers of each sequence: those of the other tower's sample."""
    return max((tower.sample_tok or 0 for tower in arch.towers if tower is not arch.trunk), default=0)


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

"""What a sequence must remember: cache elements that grow with it, and the state that does not."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.arch.record import Arch, Layer, Mix, Mixer

GROWING = frozenset({Mix.FULL, Mix.LATENT})
BOUNDED = frozenset({Mix.WINDOW, Mix.CHUNK})


def entry_elems(mixer: Mixer) -> int:
    """Elements one cache entry holds: keys and values of all kv heads, or the latent; and indexer keys."""
    own = mixer.latent_dim or mixer.kv_heads * (mixer.key_dim + mixer.value_dim)
    return own + mixer.index_dim


def cached(arch: Arch) -> Iterator[Mixer]:
    """Mixers of the trunk that keep a cache or a state, in the order of the layers."""
    for layer in arch.trunk.layers:
        yield from _mixers(layer)


def _mixers(layer: Layer) -> Iterator[Mixer]:
    if layer.mixer is not None and not layer.mixer.shares_cache:
        yield layer.mixer

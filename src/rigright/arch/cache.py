"""KV-cache elements per token and layer, and states of constant size per sequence."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.arch.record import Arch, Mix, Mixer

GROWING = frozenset({Mix.FULL, Mix.LATENT})
BOUNDED = frozenset({Mix.WINDOW, Mix.CHUNK})
ELEM_BYTES = 2  # counts here speak of 16-bit caches; other formats are the cost room's
STATE_BYTES = 4
WINDOW_COUNTER_BYTES = 8  # each layer with a window keeps its length beside it, as a 64-bit number


def entry_elems(mixer: Mixer) -> int:
    """Elements one cache entry holds: keys and values of all kv heads, or the latent; and indexer keys."""
    own = mixer.latent_dim or mixer.kv_heads * (mixer.key_dim + mixer.value_dim)
    return own + mixer.index_dim


def cached(arch: Arch) -> Iterator[Mixer]:
    """Mixers of the trunk that keep a cache or a state, in the order of the layers."""
    for layer in arch.trunk.layers:
        if layer.mixer is not None and not layer.mixer.shares_cache:
            yield layer.mixer


def _growing_elems(arch: Arch) -> int | float:
    """Cache elements a token adds for good, over all layers that see everything before."""
    from fractions import Fraction

    total = sum(
        (Fraction(entry_elems(mixer), mixer.every_tok) for mixer in cached(arch) if mixer.kind in GROWING),
        Fraction(0),
    )
    return total.numerator if total.denominator == 1 else float(total)


def _window_elems(mixer: Mixer) -> int:
    """Elements a filled window holds between two steps: the newest token's own come with the step."""
    return (entry_elems(mixer) - mixer.index_dim) * max((mixer.window_tok or 1) - 1, 0)


def kv_bytes_per_token(arch: Arch) -> int | float:
    """Bytes a token adds to a 16-bit cache once every window is full."""
    return _growing_elems(arch) * ELEM_BYTES


def kv_constant_bytes(arch: Arch) -> int:
    """Bytes a long sequence holds whatever its length: full windows, states, keys of a fixed encoder."""
    # keys and values of an encoder's output, where its length is fixed (Whisper)
    source = next((tower for tower in arch.towers if tower.name == "encoder"), None)
    if source is None or source.sample_tok is None:
        cross_bytes = 0
    else:
        crossed = (layer.cross for layer in arch.trunk.layers if layer.cross is not None)
        cross_bytes = sum(entry_elems(mixer) for mixer in crossed) * source.sample_tok * ELEM_BYTES
    return sum(_constant_bytes(mixer) for mixer in cached(arch)) + cross_bytes


def _constant_bytes(mixer: Mixer) -> int:
    state = mixer.state32_elems * STATE_BYTES + mixer.state16_elems * ELEM_BYTES
    if mixer.window_tok is None:  # a compressed cache may keep a window beside what it compressed
        return state
    return state + _window_elems(mixer) * ELEM_BYTES + WINDOW_COUNTER_BYTES

"""A model as the laws see it: its layers that differ, mixers that keep a cache or a state, what it does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from rigright.arch.cache import BOUNDED, GROWING
from rigright.arch.record import Arch, Layer, Mix, Mixer
from rigright.base.record import kept

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
    counts: Counter[Mixer] = Counter()
    for layer in unlike_layers(arch):
        for mixer in mixers_of(layer):
            counts[mixer] += times[id(layer)]
    return counts


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

"""What one sample costs: an image, a clip of sound, a latent, or a text of so many tokens."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from rigright.arch.count import flops_per_pair, flops_per_tok
from rigright.arch.record import Arch, Layer, Mixer, Tower
from rigright.arch.roles import part


def flops_per_sample(arch: Arch, *, tok: int = 1) -> int:
    """FLOPs of one forward pass; `tok` is the text's length, for towers that have no length of their own."""
    return sum(
        tower_flops(tower, tok=tok, head_tied=arch.tied and tower is arch.trunk) for tower in arch.towers
    )


def tower_flops(tower: Tower, *, tok: int = 1, head_tied: bool = False) -> int:
    """Matrices and attention pairs of one tower."""
    length = 1 if fixed(tower) else tok
    pairs = sum(times * _pair_flops(layer, tok) for layer, times in Counter(tower.layers).items())
    return flops_per_tok(tower, head_tied=head_tied) * length + pairs


def fixed(tower: Tower) -> bool:
    """Whether a sample of this tower has a length of its own (its weights then tell at how many places)."""
    return tower.sample_tok is not None or any(layer.map_elems for layer in tower.layers)


def kept_elems(tower: Tower) -> int:
    """Elements autograd keeps for one sample of an image tower."""
    return sum(layer.kept_elems * times for layer, times in Counter(tower.layers).items())


def peak_map_elems(tower: Tower) -> int:
    """The most elements alive at once in inference: a layer's input, and two maps side by side."""
    peak, entered = 0, 0
    for layer in tower.layers:
        maps = (entered, *layer.map_elems)
        pairs = (first + second for first, second in pairwise(maps))
        peak = max(peak, entered + max(pairs, default=0))
        entered = layer.map_elems[-1] if layer.map_elems else entered
    return peak


def _pair_flops(layer: Layer, tok: int) -> int:
    """Queries against keys: all of a sample's, or those in a window."""
    total = 0
    for mixer, name in ((layer.mixer, "attn"), (layer.cross, "cross")):
        if mixer is not None and mixer.heads:
            queries, keys = _places(layer, f"{name}.q", tok), _places(layer, f"{name}.k", tok)
            total += flops_per_pair(mixer) * queries * _seen(mixer, keys)
    return total


def _seen(mixer: Mixer, keys: int) -> int:
    return keys if mixer.window_tok is None else min(keys, mixer.window_tok)


def _places(layer: Layer, role: str, tok: int) -> int:
    """At how many places of a sample a matrix is applied; a text's length where the weight does not say."""
    found = (weight.sites for weight in layer.weights if weight.role == role)
    spots = next(found, next((weight.sites for weight in layer.weights if part(weight) == "attn"), 1))
    return spots if spots > 1 else tok

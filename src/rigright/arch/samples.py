"""What one sample costs: an image, a clip of sound, a latent, or a text of so many tokens."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from rigright.arch.count import flops_per_pair, flops_per_tok
from rigright.arch.record import Arch, Layer, Tower


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
    for mixer, part in ((layer.mixer, "attn"), (layer.cross, "cross")):
        if mixer is not None and mixer.heads:
            queries, keys = places(layer, part, which="q", tok=tok), places(layer, part, which="k", tok=tok)
            total += (
                flops_per_pair(mixer)
                * queries
                * (keys if mixer.window_tok is None else min(keys, mixer.window_tok))
            )
    return total


def places(layer: Layer, part: str, *, which: str, tok: int) -> int:
    """Places of a sample that ask or answer, those of a second stream too; a text's length where untold."""
    roles = (f"{part}.{which}", f"{part}.add_{which}")
    spots = sum(max((w.sites for w in layer.weights if w.role == role), default=0) for role in roles)
    return spots if spots > 1 else tok

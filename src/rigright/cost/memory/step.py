"""Working memory of one engine step: activations of the widest layer, logits, scores and masks."""

from __future__ import annotations

import math

import numpy as np

from rigright.arch.record import Arch, Ffn, Layer, Mix, Mixer, Tower
from rigright.base.record import kept
from rigright.cost.layers import lanes, unlike_layers
from rigright.cost.shards import attention_share
from rigright.demand import Layout, Numbers
from rigright.facts.engines import Engine

FP32_BYTES, HALF_BYTES = 4, 2
MATRIX = 2  # dimensions


def samples_bytes(tower: Tower, samples: Numbers, *, element_bytes: float) -> Numbers:
    """Feature maps alive at once while so many pictures go through a tower."""
    from rigright.arch.count import peak_map_elems

    return np.asarray(samples, dtype=float) * peak_map_elems(tower) * element_bytes


def forward_bytes(
    arch: Arch, engine: Engine, *, tokens: Numbers, layout: Layout, seen_tok: Numbers
) -> Numbers:
    """Activations at the widest moment of the widest layer, for so many tokens that see so many."""
    hidden = arch.trunk.hidden
    # mask of one token in fp32, with all heads' scores, or again in half precision for flash attention
    if engine.masks or engine.scores:
        heads = max(
            (layer.mixer.heads for layer in unlike_layers(arch) if layer.mixer is not None), default=0
        )
        # without a mask of their own: scores in half precision, again with the mask, and in fp32 for softmax
        each_score = FP32_BYTES if engine.masks else FP32_BYTES + 2 * HALF_BYTES
        beside = heads * each_score if engine.scores else HALF_BYTES
        mask = FP32_BYTES if engine.masks else 0
        looking: Numbers = np.asarray(seen_tok, dtype=float) * (mask + beside)
    else:
        looking = 0.0
    each = [
        _layer_bytes(layer, engine, layout=layout, hidden=hidden, looking=looking)
        for layer in unlike_layers(arch)
    ]
    widest = np.max(np.stack(np.broadcast_arrays(*each)), axis=0)
    return np.asarray(tokens, dtype=float) * (engine.hidden_copies * hidden * engine.element_bytes + widest)


def _layer_bytes(layer: Layer, engine: Engine, *, layout: Layout, hidden: int, looking: Numbers) -> Numbers:
    """What one token holds beside hidden states: in the ffn, or while attention looks around."""
    ffn = _ffn_elems(layer.ffn, engine, layout=layout, hidden=hidden) if layer.ffn else 0.0
    mixing = _mixer_elems(layer.mixer, layout) if layer.mixer and not engine.masks else 0.0
    return np.maximum(ffn * engine.element_bytes, mixing * engine.element_bytes + looking)


def _ffn_elems(ffn: Ffn, engine: Engine, *, layout: Layout, hidden: int) -> Numbers:
    tp = np.asarray(layout.tp, dtype=float)
    copies = engine.ffn_copies if ffn.gated else engine.ffn_copies - 1
    if not ffn.experts:
        return copies * ffn.width / tp
    width = ffn.width / np.where(np.asarray(layout.ep) > 1, 1, tp)
    routed = ffn.per_tok * (np.maximum((copies - 1) * width, hidden) + width)
    return np.maximum(routed, copies * ffn.shared_width / tp)


def _mixer_elems(mixer: Mixer, layout: Layout) -> Numbers:
    heads = mixer.heads * (mixer.key_dim + mixer.value_dim)
    kept = mixer.latent_dim or mixer.kv_heads * (mixer.key_dim + mixer.value_dim)
    spread = (
        heads if mixer.kind == Mix.LATENT else 0
    )  # keys and values of all heads, unfolded from the latent
    return (heads + kept + spread) * attention_share(layout)


def unpacked_bytes(arch: Arch, layout: Layout, *, element_bytes: float) -> Numbers:
    """The largest matrix of the trunk while a format unpacks it: so many bytes an element."""
    return _largest_elems(arch) * element_bytes / np.asarray(layout.tp, dtype=float)


@kept
def _largest_elems(arch: Arch) -> int:
    weights = (*arch.trunk.outer, *(item for layer in unlike_layers(arch) for item in layer.weights))
    sizes = (
        math.prod(weight.shape)
        for weight in weights
        if len(weight.shape) == MATRIX and not weight.role.startswith("embed")
    )
    return max(sizes, default=0)


def expert_buffers_bytes(
    arch: Arch, *, tokens: Numbers, layout: Layout, own_kernels: bool = False
) -> Numbers:
    """Two buffers of routed experts: what comes out of gate and up, and what goes into and out of down.

    `own_kernels`: they keep the first to themselves, and sum what comes out of down in place.
    """
    hidden, tp = arch.trunk.hidden, np.where(np.asarray(layout.ep) > 1, 1, np.asarray(layout.tp, dtype=float))
    routed = [layer.ffn for layer in unlike_layers(arch) if layer.ffn is not None and layer.ffn.experts]
    each = []
    for ffn in routed:
        width = ffn.width / tp
        out = (1 + ffn.gated) * width
        buffers = ffn.per_tok * (np.maximum(out, hidden) + np.maximum(width, hidden))
        each.append(ffn.per_tok * width + hidden if own_kernels else buffers)
    widest = np.max(np.stack(each), axis=0) if each else 0.0 * tp
    return np.asarray(tokens, dtype=float) * widest * HALF_BYTES


def seen_bytes(arch: Arch, *, tokens: Numbers, element_bytes: float) -> Numbers:
    """What pictures became, for a step full of their tokens: as the tower gave it, and in one piece."""
    sees = any(tower.name == "vision" for tower in arch.towers if tower is not arch.trunk)
    return 2.0 * sees * np.asarray(tokens, dtype=float) * arch.trunk.hidden * element_bytes


def tower_bytes(arch: Arch, *, element_bytes: float) -> Numbers:
    """Activations of the vision tower while all images of a request go through it together."""
    if arch.pictured is None:
        return 0.0
    from rigright.arch.sight import eye_of  # with the rules of processors, which text needs not

    eye = eye_of(arch)
    if eye is None:
        return 0.0
    widest = max(map(_widest_elems, {id(layer): layer for layer in eye.layers}.values()), default=0)
    positions = arch.pictured.count * arch.pictured.samples * arch.pictured.positions
    return positions * (2 * eye.hidden + widest) * element_bytes


def _widest_elems(layer: Layer) -> int:
    """What a position holds beside the stream: out of the feed-forward's first matrices, or of q, k and v."""
    made: dict[str, int] = {}
    for weight in layer.weights:
        group, _, name = weight.role.partition(".")
        if len(weight.shape) == MATRIX and name not in {"o", "down"}:
            made[group] = made.get(group, 0) + weight.shape[0]
    return max(made.values(), default=0)


def logits_bytes(arch: Arch, engine: Engine, *, rows: Numbers, tokens: Numbers) -> Numbers:
    """Logits of so many rows as the sampler holds them, while the last hidden states still stand."""
    last = np.asarray(tokens, dtype=float) * arch.trunk.hidden * engine.element_bytes
    vocab = arch.vocab if lanes(arch) else 0  # what generates nothing makes no logits worth the name
    return np.asarray(rows, dtype=float) * vocab * engine.logit_bytes + last


def absorbed_bytes(arch: Arch, engine: Engine, *, layout: Layout) -> Numbers:
    """Of a layer: what unfolds a latent, kept once more so that decoding works on the latent itself."""
    elems, layers = _unfolding_elems(arch), len(arch.trunk.layers)
    return engine.absorbs * HALF_BYTES * elems / max(layers, 1) * attention_share(layout)


@kept
def _unfolding_elems(arch: Arch) -> int:
    return sum(
        math.prod(weight.shape)
        for layer in arch.trunk.layers
        for weight in layer.weights
        if weight.role == "attn.kv_b"
    )


def rope_tables_bytes(arch: Arch, engine: Engine, *, layers: Numbers) -> Numbers:
    """Cos and sin for the longest context, kept once a rank or by each of its layers."""
    widths = [layer.mixer.key_dim for layer in unlike_layers(arch) if layer.mixer is not None]
    kept: dict[str, Numbers] = {"": 0.0, "once": 1.0, "layer": 2.0 * np.asarray(layers, dtype=float)}
    return HALF_BYTES * kept[engine.rope_tables] * max(widths, default=0) * (arch.max_context_tok or 0)

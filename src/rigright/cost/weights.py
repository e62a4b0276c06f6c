"""Weight memory: each tensor in its format, summed by layer and by how parallelism splits it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

from rigright.arch import count
from rigright.arch.record import Arch, Cut, Layer, Mix, Tower, Weight, is_bias, part
from rigright.base.record import dataclass, kept, replace
from rigright.cost.shards import ByCut, merged
from rigright.demand import Offload
from rigright.facts.formats import BITS, Format, GgufMix

SCALE_BYTES = 4  # of one block that shares an fp32 scale
ENTRY_PARTS = frozenset({"embed", "position", "patch"})

Form = Format | GgufMix


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightBytes:
    """Where the bytes of a model lie, each place by cut."""

    layers: tuple[ByCut, ...]  # layers of the trunk, in order
    entry: ByCut  # embeddings: the first pipeline stage
    exit: ByCut  # last norm and head: the last stage
    beside: ByCut  # other towers: vision, audio, encoder
    in_ram: int = 0  # layers of the trunk, the first ones, that lie in main memory with their caches

    @property
    def total_bytes(self) -> float:
        """Everything."""
        return _total(self)


@kept
def _total(weights: WeightBytes) -> float:
    places = (*weights.layers, weights.entry, weights.exit, weights.beside)
    return sum(size for by_cut in places for size in by_cut.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """What decides, beside the weight itself, whether a format stores it its way."""

    trunk: bool
    experts: bool
    latent: bool = False


def on_cards(weights: WeightBytes, offload: Offload | None) -> WeightBytes:
    """What is left for the cards where the first layers, or their experts, lie in main memory."""
    if offload is None:
        return weights
    layers, experts = list(weights.layers), offload.experts
    for number, by_cut in enumerate(layers):
        if number < offload.layers:
            layers[number] = dict.fromkeys(by_cut, 0.0)
        elif experts and by_cut.get(Cut.EXPERT):
            layers[number] = {**by_cut, Cut.EXPERT: 0.0}
            experts -= 1
    return replace(weights, layers=tuple(layers), in_ram=offload.layers)


@kept
def stored(arch: Arch, form: Form) -> WeightBytes:
    """Bytes of every place of the model; a GGUF leaves vision and audio towers to a file of their own."""
    law: _Uniform | Mixed
    if isinstance(form, GgufMix):
        from rigright.cost.gguf_mix import Mixed

        law = Mixed(arch, form)
    else:
        law = _Uniform(arch, form, has_experts(arch))
    trunk = arch.trunk
    others = [tower for tower in arch.towers if tower is not trunk]
    return WeightBytes(
        layers=law.layers(trunk),
        entry=law.outer(trunk, [weight for weight in trunk.outer if part(weight) in ENTRY_PARTS]),
        exit=law.outer(trunk, [weight for weight in trunk.outer if part(weight) not in ENTRY_PARTS]),
        beside=merged(
            [by_cut for tower in others for by_cut in law.layers(tower)]
            + [law.outer(tower, tower.outer) for tower in others]
        ),
    )


def least_bytes(arch: Arch, form: Form) -> float:
    """Bytes that the model surely takes: every parameter in the fewest bits that the format has for any."""
    if isinstance(form, GgufMix):
        from rigright.cost.gguf_mix import least_bits

        return count.tower_params(arch.trunk) * least_bits(arch, form) / BITS
    return count.params(arch) * min(form.bits, form.rest_bits, form.head_bits or form.bits) / BITS


def tensors(arch: Arch, form: Form) -> Iterator[tuple[Weight, Layer | None, float, int]]:
    """Every weight of the trunk, its layer (None: outside all), its bytes, and in how many layers it is."""
    if isinstance(form, GgufMix):
        from rigright.cost.gguf_mix import mix_tensors

        yield from mix_tensors(arch, form)
        return
    trunk, experts = arch.trunk, has_experts(arch)
    times = Counter(map(id, trunk.layers))
    for layer in (*{id(layer): layer for layer in trunk.layers}.values(), None):
        around = _Around(trunk=True, experts=experts, latent=layer is not None and _is_latent(layer))
        for weight in trunk.outer if layer is None else layer.weights:
            size = _uniform_bytes(form, weight, around=around)
            yield weight, layer, size, 1 if layer is None else times[id(layer)]


@dataclass(frozen=True, slots=True)
class _Uniform:
    """A format that stores every matrix it stores in one way."""

    arch: Arch
    form: Format
    experts: bool

    def layers(self, tower: Tower) -> tuple[ByCut, ...]:
        trunk = tower is self.arch.trunk
        unlike = {id(layer): layer for layer in tower.layers}
        sizes = {
            key: _uniform_weights(
                self.form,
                layer.weights,
                around=_Around(trunk=trunk, experts=self.experts, latent=_is_latent(layer)),
            )
            for key, layer in unlike.items()
        }
        return tuple(sizes[id(layer)] for layer in tower.layers)

    def outer(self, tower: Tower, weights: Iterable[Weight]) -> ByCut:
        around = _Around(trunk=tower is self.arch.trunk, experts=self.experts)
        return _uniform_weights(self.form, tuple(weights), around=around)


@cache
def _uniform_weights(form: Format, weights: tuple[Weight, ...], *, around: _Around) -> ByCut:
    return merged({weight.cut: _uniform_bytes(form, weight, around=around)} for weight in weights)


@kept
def has_experts(arch: Arch) -> bool:
    """Whether any layer of the trunk routes tokens to experts."""
    return any(layer.ffn is not None and layer.ffn.experts for layer in arch.trunk.layers)


def _is_latent(layer: Layer) -> bool:
    return layer.mixer is not None and layer.mixer.kind == Mix.LATENT


def _is_stored(form: Format, weight: Weight, *, around: _Around) -> bool:
    """Whether the format stores this weight its way, or leaves it in `rest_bits`."""
    if not form.parts:
        return True
    kind = part(weight)
    return (
        kind in form.parts
        and len(weight.shape) == 2
        and not is_bias(weight)
        and (around.trunk or form.towers == "all")
        and not (form.experts_only and around.experts and kind != "expert")
        and not (form.latent_kept and around.latent and kind == "attn")
    )


def _uniform_bytes(form: Format, weight: Weight, *, around: _Around) -> float:
    if not _is_stored(form, weight, around=around):
        bits = form.head_bits if form.head_bits and weight.role == "head" else form.rest_bits
        return count.elems(weight) * bits / BITS * weight.copies
    scales = _scale_bytes(form, weight.shape) if form.parts else 0
    return (count.elems(weight) * form.bits / BITS + scales) * weight.copies


def _scale_bytes(form: Format, shape: tuple[int, ...]) -> float:
    rows, inputs = shape
    groups = rows * math.ceil(inputs / form.group) if form.group else 0
    blocks = math.ceil(rows / form.block[0]) * math.ceil(inputs / form.block[1]) if form.block else 0
    return (
        groups * form.group_bytes
        + blocks * SCALE_BYTES
        + rows * form.row_bytes
        + inputs * form.input_bytes
        + form.tensor_bytes
    )

"""Bytes of weights: each tensor in its format, summed by layer and by how parallelism cuts it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial

from rigright.arch import count
from rigright.arch.record import Arch, Cut, Layer, Mix, Tower, Weight
from rigright.arch.roles import is_bias, part
from rigright.cost.gguf_mix import Place, place, tensor_type
from rigright.facts import formats
from rigright.facts.formats import Format, find_format, ggml_types

BITS = 8
SCALE_BYTES = 4  # of one block that shares an fp32 scale
ENTRY_PARTS = frozenset({"embed", "position", "patch"})
FILED_TOGETHER = frozenset({"encoder", "decoder"})  # towers a GGUF file holds beside the trunk

# tokens and merges in a GGUF file: 57 +- 5 B a token left over in 24 published sizes of Llama-3-70B files
GGUF_BYTES_PER_TOKEN = 57

ByCut = dict[Cut, float]
LayerLaw = Callable[[Tower, Layer, int], ByCut]
OuterLaw = Callable[[Tower, Iterable[Weight]], ByCut]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightBytes:
    """Where the bytes of a model lie, each place by cut."""

    layers: tuple[ByCut, ...]  # layers of the trunk, in order
    entry: ByCut  # embeddings: the first pipeline stage
    exit: ByCut  # last norm and head: the last stage
    beside: ByCut  # other towers: vision, audio, encoder

    @property
    def total_bytes(self) -> float:
        """Everything."""
        places = (*self.layers, self.entry, self.exit, self.beside)
        return sum(size for by_cut in places for size in by_cut.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """What decides, beside the weight itself, whether a format stores it its way."""

    trunk: bool
    experts: bool
    latent: bool = False


def weights_bytes(arch: Arch, format_id: str) -> int:
    """Bytes of all weights in a format, as an engine loads them."""
    return round(weigh(arch, format_id).total_bytes)


def file_bytes(arch: Arch, format_id: str) -> int:
    """Bytes of the files: the weights and, in a GGUF, the vocabulary."""
    vocabulary = arch.vocab * GGUF_BYTES_PER_TOKEN if isinstance(find_format(format_id), formats.Mix) else 0
    return weights_bytes(arch, format_id) + vocabulary


def weigh(arch: Arch, format_id: str) -> WeightBytes:
    """Bytes of every place of the model; a GGUF leaves vision and audio towers to a file of their own."""
    form = find_format(format_id)
    if isinstance(form, formats.Mix):
        return _places(arch, partial(_mix_layer, arch, form), partial(_mix_outer, arch, form))
    return _places(arch, partial(_uniform_layer, arch, form), partial(_uniform_outer, arch, form))


def _places(arch: Arch, of_layer: LayerLaw, of_outer: OuterLaw) -> WeightBytes:
    trunk = arch.trunk
    others = [tower for tower in arch.towers if tower is not trunk]
    return WeightBytes(
        layers=tuple(of_layer(trunk, layer, index) for index, layer in enumerate(trunk.layers)),
        entry=of_outer(trunk, [weight for weight in trunk.outer if part(weight) in ENTRY_PARTS]),
        exit=of_outer(trunk, [weight for weight in trunk.outer if part(weight) not in ENTRY_PARTS]),
        beside=_merged(
            [of_layer(tower, layer, index) for tower in others for index, layer in enumerate(tower.layers)]
            + [of_outer(tower, tower.outer) for tower in others]
        ),
    )


def _merged(parts: Iterable[ByCut]) -> ByCut:
    total: ByCut = {}
    for by_cut in parts:
        for cut, size in by_cut.items():
            total[cut] = total.get(cut, 0) + size
    return total


def _uniform_layer(arch: Arch, form: Format, tower: Tower, layer: Layer, _index: int) -> ByCut:
    latent = layer.mixer is not None and layer.mixer.kind == Mix.LATENT
    around = _Around(trunk=tower is arch.trunk, experts=has_experts(arch), latent=latent)
    return _uniform_weights(form, layer.weights, around)


def _uniform_outer(arch: Arch, form: Format, tower: Tower, weights: Iterable[Weight]) -> ByCut:
    return _uniform_weights(
        form, tuple(weights), _Around(trunk=tower is arch.trunk, experts=has_experts(arch))
    )


@cache
def _uniform_weights(form: Format, weights: tuple[Weight, ...], around: _Around) -> ByCut:
    return _merged({weight.cut: _uniform_bytes(form, weight, around)} for weight in weights)


def has_experts(arch: Arch) -> bool:
    """Whether any layer of the trunk routes tokens to experts."""
    return any(layer.ffn is not None and layer.ffn.experts for layer in set(arch.trunk.layers))


def is_stored(form: Format, weight: Weight, around: _Around) -> bool:
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


def _uniform_bytes(form: Format, weight: Weight, around: _Around) -> float:
    if not is_stored(form, weight, around):
        bits = form.head_bits if form.head_bits and weight.role == "head" else form.rest_bits
        return count.elems(weight) * bits / BITS * weight.copies
    scales = _scale_bytes(form, *weight.shape) if form.parts else 0
    return (count.elems(weight) * form.bits / BITS + scales) * weight.copies


def _scale_bytes(form: Format, rows: int, inputs: int) -> float:
    groups = rows * math.ceil(inputs / form.group) if form.group else 0
    blocks = math.ceil(rows / form.block[0]) * math.ceil(inputs / form.block[1]) if form.block else 0
    return (
        groups * form.group_bytes
        + blocks * SCALE_BYTES
        + rows * form.row_bytes
        + inputs * form.input_bytes
        + form.tensor_bytes
    )


def _mix_layer(arch: Arch, mix: formats.Mix, tower: Tower, layer: Layer, index: int) -> ByCut:
    return _mix_weights(mix, layer.weights, place(arch, layer, index)) if _is_filed(arch, tower) else {}


def _mix_outer(arch: Arch, mix: formats.Mix, tower: Tower, weights: Iterable[Weight]) -> ByCut:
    return _mix_weights(mix, tuple(weights), place(arch, None, 0)) if _is_filed(arch, tower) else {}


@cache
def _mix_weights(mix: formats.Mix, weights: tuple[Weight, ...], where: Place) -> ByCut:
    return _merged({weight.cut: _ggml_bytes(weight, tensor_type(weight, mix, where))} for weight in weights)


def _is_filed(arch: Arch, tower: Tower) -> bool:
    return tower is arch.trunk or tower.name in FILED_TOGETHER


def _ggml_bytes(weight: Weight, type_name: str) -> float:
    kind = ggml_types()[type_name]
    return count.elems(weight) / kind.block_elems * kind.block_bytes * weight.copies

"""The GGML type of each tensor in a GGUF mix: the rules of data/gguf_rules.csv, applied in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from rigright.arch import count
from rigright.arch.record import Arch, Layer, Tower, Weight, is_bias, part
from rigright.base.record import dataclass, kept, replace
from rigright.cost.shards import ByCut, merged
from rigright.facts.formats import BITS, GgufMix, Rule

SEVENTY_B_LAYERS = 80
TOGETHER = frozenset({"encoder", "decoder"})  # towers a GGUF file holds beside the trunk

# GGUF names of our roles, as the rules know them; what is not here keeps the base type
_TENSORS = {
    "attn.v": "attn_v",
    "attn.k": "attn_k",
    "attn.q": "attn_q",
    "attn.o": "attn_output",
    "attn.qkv": "attn_qkv",
    "ffn.down": "ffn_down",
    "ffn.gate": "ffn_gate",
    "ffn.up": "ffn_up",
    "ffn.gate_up": "ffn_up",
    "expert.down": "ffn_down",
    "expert.gate": "ffn_gate",
    "expert.up": "ffn_up",
    "expert.gate_up": "ffn_up",
    "shared.down": "ffn_down",
    "shared.gate": "ffn_gate",
    "shared.up": "ffn_up",
    "embed": "token_embd",
    "embed.layers": "per_layer_token_embd",
    "head": "output",
}

# a type whose block does not divide the row falls back to one whose block does
_FALLBACKS = {
    "Q2_K": "Q4_0",
    "Q3_K": "Q4_0",
    "Q4_K": "Q5_0",
    "Q5_K": "Q5_1",
    "Q6_K": "Q8_0",
    "TQ1_0": "Q4_0",
    "TQ2_0": "Q4_0",
}
_FALLBACK = "IQ4_NL"
# the format experts are published in -> the type they have in every GGUF of that model, Q2_K and F16 alike
_KEPT = {"mxfp4": "MXFP4"}
_SMALL_BLOCK = 32


@dataclass(frozen=True, slots=True)
class TensorPlace:
    """Where a tensor stands: what the conditions of the rules ask about."""

    index: int
    layers: int
    gqa: float
    experts: int
    falcon: bool
    tied: bool
    seventy_b: bool
    fused: bool  # query, key and value stand as one tensor
    kept: str | None = None  # GGML type of experts that are published so small that no file changes them


@kept
def place(arch: Arch, mix: GgufMix) -> TensorPlace:
    """The place in a file of what stands before and after the layers."""
    layers = arch.trunk.layers
    heads = [layer.mixer for layer in layers if layer.mixer is not None and layer.mixer.kv_heads]
    return TensorPlace(
        index=0,
        layers=len(layers),
        gqa=1,
        experts=max((layer.ffn.experts for layer in layers if layer.ffn), default=0),
        falcon=arch.family == "falcon",
        tied=arch.tied,
        fused=arch.family in mix.fused,
        kept=_KEPT.get(arch.published or ""),
        seventy_b=len(layers) == SEVENTY_B_LAYERS and any(mixer.heads > mixer.kv_heads for mixer in heads),
    )


def place_of(layer: Layer, outside: TensorPlace, *, index: int) -> TensorPlace:
    """The place of one layer's tensors."""
    mixer = layer.mixer
    gqa = mixer.heads / mixer.kv_heads if mixer and mixer.kv_heads else 1
    return replace(outside, index=index, gqa=gqa)


@cache
def alike(mix: GgufMix, count: int, *, layers: int) -> tuple[int, ...]:
    """For each of so many layers of a tower the first that the rules of a mix treat like it.

    `layers`: of the model's trunk, whose eighths the rules speak of.
    """
    asked = [_parts(text) for text in {text for rule in mix.rules for text in rule.when}]
    laws = [(_BY_INDEX[name], number) for name, number in asked if name in _BY_INDEX]
    first: dict[tuple[bool, ...], int] = {}
    return tuple(
        first.setdefault(tuple(law(index, layers, number) for law, number in laws), index)
        for index in range(count)
    )


def tensor_type(weight: Weight, mix: GgufMix, *, where: TensorPlace) -> str:
    """The GGML type of one tensor."""
    if is_bias(weight) or len(weight.shape) == 1 or part(weight) in {"norm", "router"}:
        return "F32"
    if len(weight.shape) != 2 or part(weight) in {"position", "conv", "patch"}:
        return "F32"
    if where.kept is not None and part(weight) == "expert":
        return where.kept
    chosen = mix.base
    role = "attn.qkv" if where.fused and weight.role in {"attn.q", "attn.k", "attn.v"} else weight.role
    for rule in _rules_of(mix, role, tied=where.tied):
        if (not rule.was or chosen in rule.was) and all(_holds(text, where) for text in rule.when):
            chosen = rule.type
    width = weight.shape[-1]
    if width % mix.types[chosen].block_elems == 0:
        return chosen
    second = _FALLBACKS.get(chosen, _FALLBACK)
    return second if width % _SMALL_BLOCK == 0 else "F16"


def least_bits(arch: Arch, mix: GgufMix) -> float:
    """Bits of an element in the smallest type that a file of the mix gives any tensor."""
    return _least_bits(mix, _KEPT.get(arch.published or "", mix.base))


@kept
def _least_bits(mix: GgufMix, kept_type: str) -> float:
    given = {mix.base, kept_type, *(rule.type for rule in mix.rules)}
    kinds = [mix.types[name] for name in given | {_FALLBACKS.get(name, _FALLBACK) for name in given}]
    return min(kind.block_bytes * BITS / kind.block_elems for kind in kinds)


@cache
def _rules_of(mix: GgufMix, role: str, *, tied: bool) -> tuple[Rule, ...]:
    """The rules of a mix that speak of a role; a tied table is also the output."""
    group = role.partition(".")[0]
    names = {_TENSORS.get(role), "exps" if group == "expert" else "beside", group}
    names |= {"exps_down"} if role == "expert.down" else set()
    names |= {"output"} if role == "embed" and tied else set()
    return tuple(rule for rule in mix.rules if rule.tensor in names)


def more_bits(index: int, layers: int) -> bool:
    """The layers that a "_M" mix gives more bits: the first and last eighth, and every third between."""
    eighth = layers // 8
    return index < eighth or index >= 7 * layers // 8 or (index - eighth) % 3 == 2


_CONDITIONS: dict[str, Callable[[TensorPlace, int], bool]] = {
    "gqa>": lambda place, number: place.gqa >= number,
    "experts<": lambda place, number: place.experts < number,
    "experts>": lambda place, number: place.experts >= number,
    "experts": lambda place, number: place.experts == number,
    "experts!": lambda place, number: place.experts != number,
    "falcon": lambda place, _: place.falcon,
    "!falcon": lambda place, _: not place.falcon,
    "70b": lambda place, _: place.seventy_b,
    "untied": lambda place, _: not place.tied,
    "plain": lambda _place, _: False,
}
_BY_INDEX: dict[str, Callable[[int, int, int], bool]] = {  # by a layer's place, of how many
    "first": lambda index, layers, number: index < layers // number,
    "middle": lambda index, layers, number: layers // number <= index < 7 * layers // number,
    "index<": lambda index, _, number: index < number,
    "more": lambda index, layers, _: more_bits(index, layers),
}


def _holds(condition: str, where: TensorPlace) -> bool:
    name, number = _parts(condition)
    if name in _BY_INDEX:
        return _BY_INDEX[name](where.index, where.layers, number)
    return _CONDITIONS[name](where, number)


@cache
def _parts(condition: str) -> tuple[str, int]:
    """A condition's name and its number."""
    name, _, number = condition.replace("<", "<=").partition("=")
    return name, int(number or 0)


@dataclass(frozen=True, slots=True)
class Mixed:
    """A GGUF file type, which picks a type for each tensor."""

    arch: Arch
    mix: GgufMix

    def layers(self, tower: Tower) -> tuple[ByCut, ...]:
        """Bytes of each layer; none of a tower that has a file of its own."""
        if not self._is_filed(tower):
            return ()
        outside = place(self.arch, self.mix)
        firsts = alike(self.mix, len(tower.layers), layers=outside.layers)
        unlike = {(first, id(layer)): layer for first, layer in zip(firsts, tower.layers, strict=True)}
        sizes = {
            key: _mix_weights(self.mix, layer.weights, where=place_of(layer, outside, index=key[0]))
            for key, layer in unlike.items()
        }
        return tuple(sizes[first, id(layer)] for first, layer in zip(firsts, tower.layers, strict=True))

    def outer(self, tower: Tower, weights: Iterable[Weight]) -> ByCut:
        """Bytes of what is outside the layers."""
        if not self._is_filed(tower):
            return {}
        return _mix_weights(self.mix, tuple(weights), where=place(self.arch, self.mix))

    def _is_filed(self, tower: Tower) -> bool:
        return tower is self.arch.trunk or tower.name in TOGETHER


@cache
def _mix_weights(mix: GgufMix, weights: tuple[Weight, ...], *, where: TensorPlace) -> ByCut:
    return merged({weight.cut: _ggml_bytes(weight, mix, where=where)} for weight in weights)


def _ggml_bytes(weight: Weight, mix: GgufMix, *, where: TensorPlace) -> float:
    kind = mix.types[tensor_type(weight, mix, where=where)]
    return count.elems(weight) / kind.block_elems * kind.block_bytes * weight.copies


def mix_tensors(arch: Arch, mix: GgufMix) -> Iterator[tuple[Weight, Layer | None, float, int]]:
    """Every weight of the trunk, its layer (None: outside all), its bytes, and in how many layers it is."""
    layers, outside = arch.trunk.layers, place(arch, mix)
    firsts = alike(mix, len(layers), layers=len(layers))
    times = Counter((first, id(layer)) for first, layer in zip(firsts, layers, strict=True))
    unlike = {(first, id(layer)): layer for first, layer in zip(firsts, layers, strict=True)}
    for key, layer in unlike.items():
        where = place_of(layer, outside, index=key[0])
        for weight in layer.weights:
            yield weight, layer, _ggml_bytes(weight, mix, where=where), times[key]
    for weight in arch.trunk.outer:
        yield weight, None, _ggml_bytes(weight, mix, where=outside), 1

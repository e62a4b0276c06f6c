"""Work of a forward pass: multiplications by weights and reads of the KV cache, summed over equal layers."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np

from rigright.arch import count
from rigright.arch.record import Arch, Cut, Layer, Mixer, Tower, Weight, is_matrix, part
from rigright.base.record import dataclass, replace
from rigright.cost.layers import cross_tok, lanes, transcribes
from rigright.cost.weights import Form, WeightBytes, stored, tensors
from rigright.demand import Numbers
from rigright.facts.formats import BITS, KvFormat

KINDS = {"expert": "expert", "head": "head", "ffn": "ffn", "shared": "ffn"}
ACTIVATIONS_TOO = ("fp8", "nvfp4", "int8")  # formats whose activations are as narrow as the weights
Key = tuple[str, Cut, bool, int, int, int]
CROSSED = ("cross.k", "cross.v")  # of a decoder: applied once, to what the encoder made
WIDE_BITS = 12  # an element stored in more than this is multiplied as it is


@dataclass(frozen=True, slots=True, kw_only=True)
class Gemm:
    """Multiplications alike: all of one kind, cut alike, over all layers."""

    kind: str  # "attn", "ffn", "expert", "head"
    cut: Cut
    elems: Numbers  # of the weights, all copies
    size_bytes: Numbers
    calls: Numbers  # matrices
    narrow: bool = False  # stored in the format, not in 16 bit beside it
    experts: int = 0  # of one layer; 0: every token goes through all
    per_tok: int = 0  # of them, those a token goes through
    width: int = 0  # inner width of one expert


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """What a request's sound or pictures go through before the first token, with keys made of them."""

    tok: int  # positions of a window of sound, of a picture or a tile
    elems: float  # of the weights that each position is multiplied with
    size_bytes: float
    mixers: tuple[tuple[Mixer, int], ...]  # in how many layers each stands
    layers: int
    hidden: int
    samples: Numbers = 1.0  # of them, for a request

    @property
    def narrow(self) -> bool:
        """Whether its weights are stored in less than 16 bit."""
        return self.size_bytes / self.elems * BITS < WIDE_BITS


@dataclass(frozen=True, slots=True, kw_only=True)
class InRam:
    """Shares of a model that lie in main memory, 0 to 1: numbers, or one entry a plan."""

    experts: Numbers = 0.0  # routed ones
    ffn: Numbers = 0.0  # shared experts and dense layers
    attn: Numbers = 0.0
    head: Numbers = 0.0
    kv: Numbers = 0.0

    def of(self, gemm: Gemm) -> Numbers:
        """The share of one kind of weight."""
        return {"expert": self.experts, "ffn": self.ffn, "attn": self.attn, "head": self.head}[gemm.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassWork:
    """What a forward pass of one model in one format does."""

    gemms: tuple[Gemm, ...]
    mixers: tuple[tuple[Mixer, Numbers], ...]  # what keeps a cache or a state, and in how many layers
    weights: str  # id of the format
    kv_elem_bytes: float
    layers: Numbers
    moe_layers: Numbers
    latent_layers: Numbers
    kv_heads: int  # the most any layer has
    hidden: int
    vocab: int
    encoder: Encoder | None = None  # of models that transcribe
    cross_tok: int = 0  # keys that each token finds in cross-attention; 0: as many as in its own context
    ram: InRam | None = None  # what of it lies in main memory; None: nothing
    drafter: PassWork | None = None  # the small model that drafts tokens for it

    @property
    def narrowed(self) -> Numbers:
        """Multiplications before which activations are made as narrow as the weights."""
        if not self.weights.startswith(ACTIVATIONS_TOO):
            return 0.0
        return sum(gemm.calls for gemm in self.gemms if gemm.narrow and not gemm.experts)


def parted(work: PassWork, ram: InRam) -> tuple[PassWork, PassWork]:
    """The work of the cards and that of the processor."""
    on_cards = 1 - np.asarray(ram.attn)
    in_ram = np.maximum(np.maximum(ram.experts, ram.ffn), ram.attn)
    return _part(work, ram, layers=on_cards, inside=False), _part(work, ram, layers=in_ram, inside=True)


def _part(work: PassWork, ram: InRam, *, layers: Numbers, inside: bool) -> PassWork:
    def share(value: Numbers) -> Numbers:
        return np.asarray(value, dtype=float) if inside else 1 - np.asarray(value, dtype=float)

    return replace(
        work,
        gemms=tuple(
            replace(
                gemm,
                elems=gemm.elems * share(ram.of(gemm)),
                size_bytes=gemm.size_bytes * share(ram.of(gemm)),
                calls=gemm.calls * share(ram.of(gemm)),
            )
            for gemm in work.gemms
        ),
        mixers=tuple((mixer, times * share(ram.kv)) for mixer, times in work.mixers),
        layers=work.layers * layers,
        moe_layers=work.moe_layers * share(ram.experts),
        latent_layers=work.latent_layers * share(ram.kv),
        ram=None,
    )


@cache
def work_in(arch: Arch, form: Form, *, kv: KvFormat) -> PassWork:
    """Sum the weights of the trunk by kind and cut."""
    return replace(_weighed(arch, form), kv_elem_bytes=kv.element_bytes)


@cache
def _weighed(arch: Arch, form: Form) -> PassWork:
    """The same but for the cache, which no weight depends on."""
    groups: dict[Key, list[float]] = {}
    hears, crossed = transcribes(arch), [0.0, 0.0]
    for weight, layer, size, times in tensors(arch, form):
        if not (is_matrix(weight) or (arch.tied and weight.role == "embed")):
            continue
        elems = count.elems(weight) * weight.copies
        if hears and weight.role in CROSSED:
            crossed = [crossed[0] + elems * times, crossed[1] + size * times]
            continue
        narrow = size / elems * BITS < WIDE_BITS
        key = (
            "head" if weight.role == "embed" else KINDS.get(part(weight), "attn"),
            weight.cut,
            narrow,
            *_routed(weight, layer),
        )
        group = groups.setdefault(key, [0.0, 0.0, 0.0])
        group[0] += elems * times
        group[1] += size * times
        group[2] += times
    trunk, counts = arch.trunk, lanes(arch)
    return PassWork(
        gemms=tuple(_gemm(key, sums) for key, sums in groups.items()),
        mixers=tuple(counts.items()),
        weights=form.id,
        kv_elem_bytes=0.0,
        layers=len(trunk.layers),
        moe_layers=sum(
            times
            for layer, times in count.alike(trunk).items()
            if layer.ffn is not None and layer.ffn.experts > 0
        ),
        latent_layers=sum(times for mixer, times in counts.items() if mixer.latent_dim),
        kv_heads=max((mixer.kv_heads for mixer in counts), default=1),
        hidden=trunk.hidden,
        vocab=arch.vocab,
        encoder=_encoder(arch, stored(arch, form), crossed=crossed) if hears or arch.pictured else None,
        cross_tok=cross_tok(arch) if hears else 0,
    )


def _encoder(arch: Arch, weights: WeightBytes, *, crossed: list[float]) -> Encoder | None:
    """The tower that listens or sees, and of the decoder what makes keys and values of its output."""
    seen, others = arch.pictured, (item for item in arch.towers if item is not arch.trunk)
    tower: Tower | None = next((item for item in others if seen is None or item.name == "vision"), None)
    if tower is None or not tower.sample_tok:
        return None
    flops = sum(
        count.elems(weight) * times * (weight.sites / tower.sample_tok if weight.sites > 1 else 1.0)
        for weight, times in count.weights((tower,))
        if is_matrix(weight)
    )
    mixers = Counter(layer.mixer for layer in tower.layers if layer.mixer is not None)
    return Encoder(
        tok=tower.sample_tok if seen is None else seen.positions,
        elems=flops + crossed[0],
        size_bytes=sum(weights.beside.values()) + crossed[1],
        mixers=tuple(mixers.items()),
        layers=len(tower.layers),
        hidden=tower.hidden,
        samples=1.0 if seen is None else seen.count * seen.samples,
    )


def _gemm(key: Key, sums: list[float]) -> Gemm:
    kind, cut, narrow, experts, per_tok, width = key
    elems, size, calls = sums
    return Gemm(
        kind=kind, cut=cut, elems=elems, size_bytes=size, calls=calls,
        narrow=narrow, experts=experts, per_tok=per_tok, width=width,
    )  # fmt: skip


def _routed(weight: Weight, layer: Layer | None) -> tuple[int, int, int]:
    if part(weight) != "expert" or layer is None or layer.ffn is None:
        return 0, 0, 0
    return layer.ffn.experts, layer.ffn.per_tok, layer.ffn.width

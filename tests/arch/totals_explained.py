"""Why a published total is not the parameter count: what its files hold more, or pack tighter."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from rigright.arch import count
from rigright.arch.record import Arch, Layer, Tower, Weight, is_bias, part
from rigright.base.words import Sentence, say

MAX_TERMS = 3
SCALE_BLOCK = 128  # an FP8 block scale stands for 128 x 128 weights
_PACKABLE = ("expert", "shared", "ffn", "attn", "mixer", "head")
# elements a file counts for one weight: packed bytes or words, and the scales of groups
_PACKED = {
    "nvfp4": Fraction(1, 2) + Fraction(1, 16),
    "mxfp4": Fraction(1, 2) + Fraction(1, 32),
    "awq4": Fraction(1, 8) + Fraction(1, 128) + Fraction(1, 8 * 128),
}


@dataclass(frozen=True, slots=True)
class Term:
    """Something that files hold beside the parameters, in elements."""

    elems: int
    sentence: Sentence
    kind: str = ""  # of one kind only one can be: two readings of the same thing


def explain_total(arch: Arch, published: int) -> Sentence | None:
    """The arithmetic from our count to a published total; None where they agree or nothing fits exactly."""
    params = count.params(arch)
    if published == params:
        return None
    terms = tuple(_terms(arch))
    for packed in ((), *((packing,) for packing in _packings(arch))):
        found = _combine(terms, published - params - sum(term.elems for term in packed))
        if found is not None:
            return _told(params, (*packed, *found), published=published)
    return None


def _told(params: int, terms: tuple[Term, ...], *, published: int) -> Sentence:
    sum_of = say("{params} parameters", params=f"{params:,}")
    for term in terms:
        if term.elems < 0:
            sum_of = say("{sum} - {elems} ({what})", sum=sum_of, elems=f"{-term.elems:,}", what=term.sentence)
        else:
            sum_of = say("{sum} + {elems} ({what})", sum=sum_of, elems=f"{term.elems:,}", what=term.sentence)
    return say("{sum} = {published} published", sum=sum_of, published=f"{published:,}")


def _combine(terms: tuple[Term, ...], gap: int) -> tuple[Term, ...] | None:
    """The fewest terms that fill the gap exactly."""
    for number in range(MAX_TERMS + 1):
        for chosen in combinations(terms, number):
            kinds = {term.kind for term in chosen}
            if sum(term.elems for term in chosen) == gap and len(kinds) == number:
                return chosen
    return None


def _packings(arch: Arch) -> Iterator[Term]:
    """Any choice of parts, packed as the stored format packs them."""
    rate = _PACKED.get(arch.stored or "")
    if rate is None:
        return
    sizes = {
        name: sum(_elems(weight) * times for weight, times in _matrices(arch.towers) if part(weight) == name)
        for name in _PACKABLE
    }
    there = tuple(name for name in _PACKABLE if sizes[name])
    for number in range(1, len(there) + 1):
        for chosen in combinations(there, number):
            kept = sum(sizes[name] for name in chosen)
            yield Term(
                int(kept * rate) - kept,
                say("{parts} packed as {format}", parts=", ".join(chosen), format=arch.stored),
            )


def _terms(arch: Arch) -> Iterator[Term]:
    yield from _buffers(arch)
    if arch.tied:
        yield Term(count.embedding_params(arch), say("the tied head stored a second time"), "head")
    if arch.stored == "fp8-block":
        yield Term(_scales(arch.towers), say("scales of FP8 blocks"), "scales")
        yield Term(_scales(arch.spare), say("scales of FP8 blocks in the prediction layers"), "spare scales")
    yield from _predictions(arch)


def _buffers(arch: Arch) -> Iterator[Term]:
    """What is stored but not learnt: shifts of router scores, frequencies, masks, positions."""
    shifts = _shifts(arch.towers)
    ahead = _shifts(arch.spare) or max(map(_routed, arch.trunk.layers), default=0)
    yield Term(shifts, say("shifts of the router's scores"), "shifts")
    yield Term(
        shifts + ahead, say("shifts of the router's scores, those of the prediction layers too"), "shifts"
    )
    tables = sum(
        layer.ffn.per_tok for layer in arch.trunk.layers if layer.ffn is not None and layer.ffn.hashed
    )
    if tables:
        yield Term(tables * arch.vocab, say("tables of each word's experts"), "words")
    layers = [layer for layer in arch.trunk.layers if layer.mixer is not None and layer.mixer.key_dim]
    for share in (1, 2, 4):
        dims = sum(layer.mixer.key_dim // (2 * share) for layer in layers if layer.mixer is not None)
        yield Term(dims, say("rotary frequencies of every layer"), "rotary")
    context = arch.max_context_tok or 0
    yield Term(len(layers) * context**2, say("attention masks of every layer"), "masks")
    yield Term(len(layers), say("the value of masked scores, of every layer"), "masked")
    yield Term(context, say("the numbers of the positions"), "positions")


def _predictions(arch: Arch) -> Iterator[Term]:
    """Layers that predict further tokens: with or without their own token table and head; or not told of."""
    whole = sum(_elems(weight) * times for weight, times in count.weights(arch.spare))
    tables = sum(
        _elems(weight) * times
        for weight, times in count.weights(arch.spare)
        if part(weight) in {"embed", "head"}
    )
    if whole:
        yield Term(whole, say("multi-token prediction"), "mtp")
        yield Term(whole - tables, say("multi-token prediction, without token table and head"), "mtp")
        return
    yield from _unnamed(arch)


def _unnamed(arch: Arch) -> Iterator[Term]:
    """One layer more of a kind the trunk has, with what joins it, where the config tells of none."""
    hidden = arch.trunk.hidden
    tables = 2 * count.embedding_params(arch)
    for layer in dict.fromkeys(arch.trunk.layers):
        body = sum(_elems(weight) for weight in layer.weights) + 2 * hidden**2
        for norms in (2, 3):
            own = body + norms * hidden
            yield Term(own, say("an unnamed layer that predicts further tokens"), "mtp")
            yield Term(
                own + tables,
                say("an unnamed layer that predicts further tokens, with token table and head"),
                "mtp",
            )


def _scales(towers: tuple[Tower, ...]) -> int:
    return sum(
        math.prod(-(-side // SCALE_BLOCK) for side in weight.shape) * weight.copies * times
        for weight, times in _matrices(towers)
        if part(weight) in {"attn", "ffn", "expert", "shared"}
    )


def _matrices(towers: tuple[Tower, ...]) -> Iterator[tuple[Weight, int]]:
    for weight, times in count.weights(towers):
        if len(weight.shape) == 2 and not is_bias(weight):
            yield weight, times


def _shifts(towers: tuple[Tower, ...]) -> int:
    return sum(_routed(layer) for tower in towers for layer in tower.layers)


def _routed(layer: Layer) -> int:
    """The experts a router chooses among."""
    return layer.ffn.experts if layer.ffn is not None and not layer.ffn.hashed else 0


def _elems(weight: Weight) -> int:
    return count.elems(weight) * weight.copies

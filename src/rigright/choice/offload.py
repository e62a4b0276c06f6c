"""What of a model leaves the cards for main memory where they have no room for it: as little as will do.

Routed experts leave first: a token meets few of them, so the processor reads little. Whole layers, with
their caches, leave only where that is not enough, and of dense models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import ceil

from rigright.arch.record import Arch, Cut
from rigright.base.errors import AskError, clash
from rigright.base.words import Sentence, say
from rigright.cost.layers import lanes, mixers_of
from rigright.cost.memory.kv import token_bytes
from rigright.cost.memory.serving import ServingMemory, stage_memories
from rigright.cost.speed.work import InRam
from rigright.cost.weights import on_cards
from rigright.demand import Layout, Offload, Serving, ServingWish
from rigright.facts.engines import Engine, find_engine
from rigright.facts.formats import find_kv_format
from rigright.facts.hosts import Host, host_chip
from rigright.facts.nodes import Card
from rigright.terms.memory import device_of, is_over, started, weigh

FREE_SHARE = 0.03  # of main memory, for the engine's own buffers


def can_offload(engine: Engine) -> bool:
    """Whether an engine keeps a part of a model in main memory and works on it there."""
    return engine.ram_tok is not None


def asked_offload(arch: Arch, wish: ServingWish) -> Offload | None:
    """What somebody wants in main memory, as the flags of llama.cpp count it; None where nobody said."""
    if wish.gpu_layers is None and wish.cpu_moe is None:
        return None
    if wish.engine is not None and not can_offload(find_engine(wish.engine)):
        option = "--cpu-moe" if wish.gpu_layers is None else "--gpu-layers"
        raise clash(option, f"--engine {wish.engine}")
    count = len(arch.trunk.layers)
    layers = 0 if wish.gpu_layers is None else min(max(count + 1 - wish.gpu_layers, 0), count)
    routed = [bool(layer.ffn is not None and layer.ffn.experts) for layer in arch.trunk.layers]
    experts = sum(routed[layers : wish.cpu_moe or 0])
    if wish.cpu_moe and not any(routed):
        raise _no_experts(arch)
    return Offload(layers=layers, experts=experts)


def _no_experts(arch: Arch) -> AskError:
    return AskError(
        say("{model} has no experts: {option} does not apply", model=arch.name, option="--cpu-moe"),
        hint=say("use --gpu-layers to set how many layers stay on the GPU"),
    )


def least_offload(arch: Arch, serving: Serving, *, cards: tuple[Card, ...], host: Host) -> Offload | None:
    """The least that has to leave the cards; None where main memory has no room for it."""
    room = host_chip(host).mem_program_bytes - FREE_SHARE * host.ram_bytes
    if is_over(arch, serving.weights, room=room + sum(card.room_bytes for card in cards)):
        return None
    offload = _least_of(arch, serving, cards=cards)
    return None if offload is None or ram_bytes(arch, serving, offload=offload) > room else offload


@cache
def _least_of(arch: Arch, serving: Serving, *, cards: tuple[Card, ...]) -> Offload | None:
    """The same, whatever main memory there is; None where not even all of it leaves enough room."""
    moe = sum(1 for by_cut in weigh(arch, serving.weights).layers if by_cut.get(Cut.EXPERT))
    engine = find_engine(serving.engine)
    moe = moe if engine.ram_experts else 0
    serving = replace(serving, budget_tok=serving.budget_tok or engine.ram_batch)
    count = len(arch.trunk.layers)
    tried = [Offload(experts=number) for number in range(1, moe + 1)]
    tried += [Offload(layers=number, experts=max(moe - number, 0)) for number in range(1, count + 1)]

    @cache
    def spare(place: int) -> float:
        memories = memories_with(arch, serving, offload=tried[place], cards=cards)
        return min(float(memory.spare_bytes) for memory in memories)

    ends = [place for place in (0, moe - 1, len(tried) - 1) if 0 <= place < len(tried)]
    high = next((place for place in ends if spare(place) >= 0), None)
    if not high:
        return None if high is None else tried[high]
    low = max(place for place in ends if place < high)
    chord = True
    while high - low > 1:  # what suffices, suffices with more in main memory: by chords and halves in turn
        part = spare(low) / (spare(low) - spare(high)) if chord else 0.5
        middle = min(low + max(ceil(part * (high - low)), 1), high - 1)
        chord = not chord or spare(middle) >= 0
        low, high = (low, middle) if spare(middle) >= 0 else (middle, high)
    return tried[high]


def with_offload(serving: Serving, offload: Offload) -> Serving:
    """A serving with a part in main memory, set up for passes as long as people then take."""
    batch = serving.budget_tok or find_engine(serving.engine).ram_batch
    return replace(serving, offload=offload, budget_tok=batch)


def memories_with(
    arch: Arch, serving: Serving, *, offload: Offload, cards: Sequence[Card]
) -> tuple[ServingMemory, ...]:
    """Memory of each card with so much in main memory, layers dealt out by what each has room for."""
    start, weights = started(replace(serving, offload=offload)), weigh(arch, serving.weights)
    devices = [device_of(card, start.engine) for card in cards]
    layout = Layout(pp=len(cards))
    from rigright.cost.memory.places import dealt_bounds

    bounds = dealt_bounds(arch, weights, start=start, layout=layout, devices=devices)
    places = list(zip(devices, bounds, strict=True))
    return stage_memories(arch, weights, start=start, layout=layout, places=places)


def ram_bytes(arch: Arch, serving: Serving, *, offload: Offload) -> float:
    """What lies in main memory: weights, the token table, and caches of whole layers."""
    weights = weigh(arch, serving.weights)
    moved = weights.total_bytes - on_cards(weights, offload).total_bytes
    table = sum(weights.entry.values())
    every = float(token_bytes(arch, Layout(), element_bytes=find_kv_format(serving.kv).element_bytes))
    return (
        moved + table + every * float(serving.context_tok) * float(serving.batch) * kept_share(arch, offload)
    )


def kept_share(arch: Arch, offload: Offload) -> float:
    """The share of layers with caches that lie in main memory."""
    layers = arch.trunk.layers
    inside = sum(len(mixers_of(layer)) for layer in layers[: offload.layers])
    return inside / max(sum(lanes(arch).values()), 1)


def in_ram(arch: Arch, offload: Offload) -> InRam:
    """The same as shares of each kind of weight."""
    layers = arch.trunk.layers
    routed = [bool(layer.ffn is not None and layer.ffn.experts) for layer in layers]
    inside = sum(routed[: offload.layers]) + offload.experts
    whole = offload.layers / len(layers)
    return InRam(experts=inside / max(sum(routed), 1), ffn=whole, attn=whole, kv=kept_share(arch, offload))


def ram_words(arch: Arch, offload: Offload, *, engine: Engine, batch_tok: int | None = None) -> Sentence:
    """What lies in main memory, in words, and how an engine is told so."""
    layers = arch.trunk.layers
    routed = sum(1 for layer in layers if layer.ffn is not None and layer.ffn.experts)
    whole = say("{count} of {all} layers", count=offload.layers, all=len(layers))
    experts = say("experts of {count} of {all} layers", count=offload.experts, all=routed)
    both = say("{one} and {other}", one=whole, other=experts)
    sentence = experts if not offload.layers else both if offload.experts else whole
    text = flags(arch, offload, engine=engine, batch_tok=batch_tok)
    return (
        say("in RAM: {parts}; {flags}", parts=sentence, flags=text)
        if text
        else say("in RAM: {parts}", parts=sentence)
    )


def flags(arch: Arch, offload: Offload, *, engine: Engine, batch_tok: int | None = None) -> str:
    """How an engine is told so; `batch_tok`: of a pass, where it is not as people then take it."""
    if engine.id == "ktransformers":
        return ""
    experts = cpu_moe(arch, offload)
    layers = len(arch.trunk.layers) + 1 - offload.layers
    if engine.id == "ollama":
        return f"PARAMETER num_gpu {layers}"
    batch = batch_tok or engine.ram_batch
    fields = {"-ngl": layers, "--n-cpu-moe": experts, "-b": batch, "-ub": batch}
    return " ".join(f"{flag} {count}" for flag, count in fields.items() if count is not None)


def gpu_layers(arch: Arch, offload: Offload) -> int | None:
    """Layers on the cards, the head as one more; None where all are."""
    return len(arch.trunk.layers) + 1 - offload.layers if offload.layers else None


def cpu_moe(arch: Arch, offload: Offload) -> int | None:
    """Layers from the first on whose experts lie in main memory, those without any counted too."""
    if not offload.experts:
        return None
    routed = [layer.ffn is not None and layer.ffn.experts > 0 for layer in arch.trunk.layers]
    places = [place for place, has in enumerate(routed) if has and place >= offload.layers]
    if offload.experts > len(places):  # of a plan's file that somebody wrote
        raise _no_experts(arch)
    return places[offload.experts - 1] + 1

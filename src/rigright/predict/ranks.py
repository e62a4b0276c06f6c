"""Memory of a case rank by rank, stages or layers dealt to unlike cards; the largest context and batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rigright.arch.sources import zoo
from rigright.base.words import Sentence, say
from rigright.choice.case import Case
from rigright.cost.layers import is_generator
from rigright.cost.memory.serving import Bound, ServingMemory, serving_memory, stage_memories
from rigright.cost.shards import stage_bounds
from rigright.demand import Numbers
from rigright.facts.nodes import Card
from rigright.terms.memory import device_of, started
from rigright.terms.speed import work_of

if TYPE_CHECKING:
    from rigright.cost.speed.dealt import Dealt

Kind = tuple[str, float, float | None]  # chip, total and free bytes


def by_card(case: Case) -> tuple[tuple[Card, ServingMemory, Bound | None], ...]:
    """Every card in use, stage by stage, with its memory, and its layers where stages share them."""
    stages, bounds = _laid_out(case)
    return tuple(
        (card, memories[_kind(card)], bounds[place] if len(bounds) > 1 else None)
        for place, (cards, memories) in enumerate(
            zip(stages, _memories(case, stages, bounds=bounds), strict=True)
        )
        for card in cards
    )


def worst(case: Case) -> ServingMemory:
    """Memory of the rank with least to spare, on its own card."""
    return min(memories(case), key=lambda memory: float(memory.spare_bytes))


def memories(case: Case) -> tuple[ServingMemory, ...]:
    """Memory of unlike ranks, each on its own card."""
    stages = _stages(case)
    if _deals(case, stages) and all(len(_unlike(cards)) == 1 for cards in stages):
        from rigright.cost.memory.places import dealt_memories

        devices = [device_of(cards[0], case.engine) for cards in stages]
        asked: dict[str, Any] = {"layout": case.layout, "devices": devices}
        asked["start"] = started(case.serving)
        return dealt_memories(case.arch, case.weights, **asked)
    bounds = _bounds(case, stages)
    return tuple(memory for stage in _memories(case, stages, bounds=bounds) for memory in stage.values())


def spare_bytes(case: Case, *, context_tok: Numbers, batch: Numbers) -> Numbers:
    """Bytes to spare on the fullest rank, for arrays of contexts and batches; cards must be alike."""
    device = device_of(smallest(case.cards), case.engine)
    start = started(case.over(context_tok=context_tok, batch=batch).serving)
    return serving_memory(
        case.arch, case.weights, start=start, layout=case.layout, device=device, on_card=True
    ).spare_bytes


def is_even(case: Case) -> bool:
    """Whether all cards are alike and the layers are cut without regard to their memory, or not at all."""
    return len(case.cards) == 1 or (case.engine.split == "tensor" and len(_unlike(case.cards)) == 1)


def dealt_of(case: Case) -> Dealt | None:
    """What part of a pass each card does where layers are dealt out to them; else None."""
    if case.engine.split != "layer":
        return None
    stages, bounds = _laid_out(case)
    work = work_of(case.arch, weights=case.serving.weights, kv=case.serving.kv)
    from rigright.cost.speed.dealt import deal

    return deal([cards[0].chip for cards in stages], work, bounds=bounds)


def deal_notes(case: Case) -> tuple[Sentence, ...]:
    """How to start an engine where layers fit only otherwise than it deals them when nobody says."""
    stages, bounds = _laid_out(case)
    devices = [device_of(smallest(cards), case.engine) for cards in stages]
    flag = case.engine.split_flag
    if flag is None or len(bounds) == 1:
        return ()
    from rigright.cost.memory.places import usual_bounds

    if bounds == usual_bounds(case.arch, devices):
        return ()
    counts = [last - first for first, last in bounds]
    parts = ",".join(str(count) for count in (*counts[:-1], counts[-1] + 1))
    return (
        say(
            "splitting layers by free memory would overfill one GPU: start {engine} with {flag} {parts}",
            engine=case.engine.label,
            flag=flag,
            parts=parts,
        ),
    )


def smallest(cards: Sequence[Card]) -> Card:
    """The card with the least free memory."""
    return min(cards, key=lambda card: card.total_bytes if card.free_bytes is None else card.free_bytes)


def _kind(card: Card) -> Kind:
    return card.chip.id, card.total_bytes, card.free_bytes


def _unlike(cards: Sequence[Card]) -> list[Card]:
    return list({_kind(card): card for card in cards}.values())


def _laid_out(case: Case) -> tuple[list[list[Card]], tuple[Bound, ...]]:
    stages = _stages(case)
    return stages, _bounds(case, stages)


def _stages(case: Case) -> list[list[Card]]:
    """The cards of each stage, all replicas together."""
    layout, cards = case.layout, case.cards
    width = layout.tp * layout.cp
    replica = width * layout.pp
    return [
        [
            card
            for copy in range(layout.dp)
            for card in cards[copy * replica + stage * width : copy * replica + (stage + 1) * width]
        ]
        for stage in range(layout.pp)
    ]


def _deals(case: Case, stages: Sequence[Sequence[Card]]) -> bool:
    """Whether layers go to cards by their memory."""
    painted = is_generator(case.arch) and zoo.exact(case.arch.name) is not None
    return case.engine.split != "tensor" and len(stages) > 1 and not painted


def _bounds(case: Case, stages: Sequence[Sequence[Card]]) -> tuple[Bound, ...]:
    """Layers of each stage: even in engines that cut tensors, by memory in those that deal out layers."""
    if case.engine.split == "tensor" or len(stages) == 1:
        return stage_bounds(len(case.arch.trunk.layers), len(stages))
    from rigright.cost.memory.places import dealt_bounds

    devices = [device_of(smallest(cards), case.engine) for cards in stages]
    start = started(case.serving)
    return dealt_bounds(case.arch, case.weights, start=start, layout=case.layout, devices=devices)


def _memories(
    case: Case, stages: list[list[Card]], *, bounds: tuple[Bound, ...]
) -> list[dict[Kind, ServingMemory]]:
    """Memory of a rank of each stage on each kind of card the stage has; all stages in one call."""
    unlike = [_unlike(cards) for cards in stages]
    if is_generator(case.arch) and zoo.exact(case.arch.name) is not None:
        return [{_kind(card): _painting(case, card) for card in cards} for cards in unlike]
    start, result = started(case.serving), list[dict[Kind, ServingMemory]]({} for _ in stages)
    for turn in range(max(map(len, unlike))):
        cards = [kinds[min(turn, len(kinds) - 1)] for kinds in unlike]
        places = [(device_of(card, case.engine), bound) for card, bound in zip(cards, bounds, strict=True)]
        memories = stage_memories(case.arch, case.weights, start=start, layout=case.layout, places=places)
        for stage, card, memory in zip(result, cards, memories, strict=True):
            stage[_kind(card)] = memory
    return result


def _painting(case: Case, card: Card) -> ServingMemory:
    """Memory of a card that makes images, with what reads the prompt and what draws."""
    from rigright.choice.networks import network_memory, network_of

    each = max(-(-case.serving.batch // len(case.cards)), 1)
    device = device_of(card, case.engine)
    network = network_of(case.arch, picture=case.picture, length=case.length, waits=case.serving.parts_wait)
    return network_memory(network, case.serving.weights, batch=each, device=device)


MOST_CONTEXT_TOK = 2**24
MOST_BATCH = 2**17
PARTS = 64  # that one call cuts what is open into


def context_limit(case: Case) -> int | None:
    """The same as `largest_context`; None where neither the model nor the cards set an end."""
    number = largest_context(case)
    return None if case.arch.max_context_tok is None and number == MOST_CONTEXT_TOK else number


def largest_context(case: Case) -> int:
    """The most tokens a sequence may have with all sequences of the batch as long; 0: none."""
    most = case.arch.max_context_tok or MOST_CONTEXT_TOK
    return _largest(case, lambda tokens: (tokens, case.serving.batch), most=most)


def largest_batch(case: Case) -> int:
    """The most sequences of this context at once; 0: none."""
    return _largest(case, lambda count: (case.serving.context_tok, count), most=MOST_BATCH)


def _largest(case: Case, ask: Callable[[Numbers], tuple[Numbers, Numbers]], *, most: int) -> int:
    """By many candidates in one call where cards are alike, else one by one: each candidate costs a call."""

    def spare(candidates: Numbers) -> Numbers:
        context_tok, batch = ask(candidates)
        return spare_bytes(case, context_tok=context_tok, batch=batch)

    def spare_of_one(candidate: int) -> float:
        context_tok, batch = ask(candidate)
        return float(worst(case.over(context_tok=context_tok, batch=batch)).spare_bytes)

    return largest(spare, most) if is_even(case) else largest_alone(spare_of_one, most)


def largest(spare: Callable[[Numbers], Numbers], most: int) -> int:
    """The largest whole number up to `most` whose spare is not negative; spare never grows with it."""
    low, high = 0, most + 1
    while high - low > 1:
        candidates = np.linspace(low, high, min(PARTS, high - low) + 1).astype(int)[1:-1]
        fits = np.broadcast_to(spare(candidates) >= 0, candidates.shape)
        reached = int(np.count_nonzero(fits))
        low, high = (
            int(candidates[reached - 1]) if reached else low,
            int(candidates[reached]) if reached < len(candidates) else high,
        )
    return low


def largest_alone(spare: Callable[[int], float], most: int) -> int:
    """The same with few calls: where the line between what fits and what does not crosses nothing.

    Caches grow evenly, so the line is straight but for steps; every third candidate halves what is open.
    """
    low, high = 1, most
    over = spare(high)
    if over >= 0:
        return high
    under = spare(low) if low < high else over
    if under < 0:
        return 0
    turn = 0
    while high - low > 1:
        turn += 1
        crossing = low + int((high - low) * under / (under - over)) if np.isfinite(under - over) else low
        candidate = (low + high) // 2 if turn % 3 == 0 else min(max(crossing, low + 1), high - 1)
        value = spare(candidate)
        if value >= 0:
            low, under = candidate, value
        else:
            high, over = candidate, value
    return low

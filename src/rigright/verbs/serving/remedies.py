"""What every card of a case holds, how far it goes, and what to change when it does not fit."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rigright.base.units import from_gib, show_short, to_gib
from rigright.base.words import Sentence, say, with_commas
from rigright.choice.case import Case
from rigright.choice.offload import (
    can_offload,
    cpu_moe,
    flags,
    gpu_layers,
    least_offload,
    ram_bytes,
    ram_words,
    with_offload,
)
from rigright.choice.ways import is_run
from rigright.cost.bands import Parts
from rigright.cost.layers import generates
from rigright.cost.memory.kv import token_bytes
from rigright.cost.memory.serving import PARTS, Bound, ServingMemory, parts_of
from rigright.demand import Layout
from rigright.facts.formats import find_format, find_kv_format
from rigright.facts.host_words import RAM_GIB, find_host
from rigright.facts.nodes import Card, Node
from rigright.options.read import typed
from rigright.predict.ranks import by_card, context_limit, largest_batch, largest_context, worst
from rigright.predict.speed import speed, traffic_of
from rigright.terms.memory import away, band, device_of, pool_band, weigh, widened
from rigright.verbs.serving.explained import UNUSED, CardUse, RamUse, Remedy, ServingReach


def card_uses(case: Case) -> tuple[CardUse, ...]:
    """Every card in use, stage by stage."""
    return tuple(_use(case, card, memory=memory, bound=bound) for card, memory, bound in by_card(case))


def _use(case: Case, card: Card, *, memory: ServingMemory, bound: Bound | None) -> CardUse:
    device = device_of(card, case.engine)
    sizes = {part: float(getattr(memory, f"{part}_bytes")) for part in PARTS}
    pooled = case.engine.pool == "share"
    used = max(float(memory.device_bytes), float(memory.need_bytes))  # what does not fit is more than a share
    wider = widened(away(case.engine, card.chip.id))
    parts = Parts(counted=used) if pooled else parts_of(memory)
    low, high = map(float, band("preallocated" if pooled else "device", used, parts=parts, wider=wider))
    high = min(high, float(device.total_bytes)) if pooled and used <= device.total_bytes else high
    pool = float(memory.pool_bytes)
    least, most = map(float, pool_band(memory, wider=wider))
    return CardUse(
        index=card.index,
        chip=card.chip.id,
        name=card.chip.name,
        layers=bound,
        parts_bytes=(*sizes.items(), (UNUSED, max(pool - sizes["cache"] - sizes["states"], 0.0))),
        pool_bytes=pool,
        pool_low_bytes=least,
        pool_high_bytes=most,
        used_bytes=used,
        used_low_bytes=low,
        used_high_bytes=high,
        total_bytes=float(device.total_bytes),
        free_bytes=float(device.free_bytes),
        spare_bytes=float(memory.spare_bytes),
    )


def limits(case: Case, memory: ServingMemory, *, fullest: CardUse) -> ServingReach:
    """Largest context at this batch, largest batch at this context, and the pool the engine will log."""
    own = case.arch.max_context_tok
    element_bytes = find_kv_format(case.serving.kv).element_bytes
    token = np.max(token_bytes(case.arch, case.layout, element_bytes=element_bytes))
    # a pool of states alone holds sequences, not tokens
    pooled = case.engine.pool == "share" and float(memory.unit_bytes) > 0 and float(token) > 0
    return ServingReach(
        context_tok=context_limit(case),
        batch=largest_batch(case),
        model_context_tok=own,
        pool_tok=int(memory.pool_tok) if pooled else None,
        pool_low_tok=_pool_tok(memory, fullest.pool_low_bytes) if pooled else None,
        pool_high_tok=_pool_tok(memory, fullest.pool_high_bytes) if pooled else None,
        blocks=int(memory.blocks) if pooled else None,
        block_tok=float(memory.unit_tok) if pooled else None,
        token_bytes=float(token) / case.layout.pp,
    )


def _pool_tok(memory: ServingMemory, pool_bytes: float) -> int:
    """Tokens in a pool of so many bytes."""
    return int(max(pool_bytes, 0.0) // float(memory.unit_bytes) * float(memory.unit_tok))


def ram_use(case: Case) -> RamUse | None:
    """What lies in main memory, what the processor does of each token, and the flags that say so.

    None where everything lies on the cards.
    """
    offload, host, traffic = case.serving.offload, case.host, traffic_of(case)
    if offload is None or host is None:
        return None
    from rigright.predict.beside import token_parts

    layers, batch = case.arch.trunk.layers, case.serving.budget_tok
    inside_s, token_s = token_parts(
        case, seqs=float(traffic.concurrency or 1), context_tok=traffic.prompt_tok + traffic.output_tok / 2
    )
    return RamUse(
        used_bytes=ram_bytes(case.arch, case.serving, offload=offload),
        total_bytes=host.ram_bytes,
        layers=offload.layers,
        experts=offload.experts,
        all_layers=len(layers),
        moe_layers=sum(1 for layer in layers if layer.ffn is not None and layer.ffn.experts),
        flags=flags(case.arch, offload, engine=case.engine, batch_tok=batch),
        words=ram_words(case.arch, offload, engine=case.engine, batch_tok=batch),
        token_s=inside_s,
        cards_s=max(token_s - inside_s, 0.0),
    )


LEAST_SEQS, LEAST_BUDGET_TOK, MOST_SHARE = 16, 1024, 0.97

NOTHING: Mapping[str, Any] = {}
Change = tuple[dict[str, Any], Sentence, Sentence]  # what is set, in words, its price


def remedies(case: Case, ask: Callable[..., Case | None] | None = None) -> tuple[Remedy, ...]:
    """Changes that save memory on the fullest card, each alone, then the best of them together.

    Those that are enough stand first, as people try them: smaller weights that lose least, a smaller
    cache, a smaller ask, a leaner engine, layers on the CPU, more cards. The others follow, most saved first.
    `ask`: the command with a change, which each is promised by; None: nobody types one.
    """
    before = float(worst(case).spare_bytes)
    steps = (_smaller_weights, _smaller_cache, _smaller_ask, _leaner_engine)
    alone = [_weighed(case, change, before=before) for step in steps for change in step(case)]
    saving = [remedy for remedy in alone if remedy.saves_bytes > 0]
    more = [remedy for remedy in _more_cards(case, before) if remedy.saves_bytes > 0]
    if not any(remedy.fits for remedy in (*saving, *more)):
        saving += _together(case, before)
    tried = (*saving, *_to_the_host(case), *more)
    tried = tried if ask is None else tuple(_as_asked(case, tried, ask=ask))
    enough = [remedy for remedy in tried if remedy.fits]
    return (*enough, *sorted((item for item in tried if not item.fits), key=lambda item: -item.saves_bytes))


def _as_asked(case: Case, tried: Sequence[Remedy], *, ask: Callable[..., Case | None]) -> Iterator[Remedy]:
    """The same as their commands answer; what is refused is no remedy."""
    before, _ = _spare_and_peak(case)
    for remedy in tried:
        after = ask(changes=remedy.asks) if remedy.flag is not None else None
        if remedy.flag is None:
            yield remedy
        if after is None:
            continue
        spare, peak = _spare_and_peak(after)
        if spare > before:
            yield replace(remedy, peak_bytes=peak, saves_bytes=spare - before, fits=spare >= 0)


def _weighed(case: Case, change: Change, *, before: float) -> Remedy:
    values, sentence, price = change
    form = values.get("weights", "").removeprefix("gguf:")
    asks = {**values, **({"weights": form} if form else {})}  # as it is asked for
    return _remedy(case.over(**values), sentence, price=price, before=before, asks=asks)


def _remedy(
    after: Case, change: Sentence, *, price: Sentence, before: float, asks: Mapping[str, Any] = NOTHING
) -> Remedy:
    """A change, and the case with it."""
    spare, peak = _spare_and_peak(after)
    return Remedy(
        change=change, price=price, flag=shlex.join(typed("explain", asks)) or None, asks=asks,
        saves_bytes=spare - before, peak_bytes=peak, fits=spare >= 0,
    )  # fmt: skip


def _spare_and_peak(case: Case) -> tuple[float, float]:
    """Of the fullest card."""
    memory = worst(case)
    return float(memory.spare_bytes), float(memory.need_bytes + memory.slack_bytes)


def _smaller_weights(case: Case) -> Iterator[Change]:
    own = case.weights.total_bytes
    chips = [card.chip for card in case.cards]
    known = [name for name in case.engine.formats if is_run(case.engine, name, chips=chips)]
    for name in sorted(known, key=lambda name: find_format(name).loss_rank):
        if weigh(case.arch, name).total_bytes < own * 0.97:
            form = find_format(name)
            price = say("noticeable quality loss")
            if form.loss_rank <= 8:
                price = say("almost no quality loss") if form.loss_rank <= 4 else say("small quality loss")
            yield {"weights": name}, say("weights in {format}", format=form.label), price


def _smaller_cache(case: Case) -> Iterator[Change]:
    name = case.engine.kv_save
    if name is None or not generates(case.arch):
        return
    form = find_kv_format(name)
    if form.bits < find_kv_format(case.serving.kv).bits:
        price = say("small quality loss at long context")
        yield {"kv": name}, say("cache in {format}", format=form.label), price


def _smaller_ask(case: Case) -> Iterator[Change]:
    if case.serving.batch > 1:
        fewer = max(largest_batch(case), 1)
        if fewer < case.serving.batch:
            sentence = say("concurrency {batch}", batch=f"{fewer:,}")
            yield {"batch": fewer}, sentence, say("further requests queue")
    if generates(case.arch):
        shorter = largest_context(case) or case.serving.context_tok // 2
        if 0 < shorter < case.serving.context_tok:
            sentence = say("context of {context} tokens", context=f"{shorter:,}")
            yield {"context_tok": shorter}, sentence, say("longer requests are rejected")


def _leaner_engine(case: Case) -> Iterator[Change]:
    settings = case.settings
    if case.engine.max_seqs is not None and case.engine.logit_rows == "seqs":
        fewer = max(LEAST_SEQS, int(case.serving.batch))
        sentence = say("at most {seqs} sequences", seqs=fewer)
        yield {"max_seqs": fewer}, sentence, say("further requests queue")
    if case.engine.budget_tok is not None and float(settings.budget_tok) > LEAST_BUDGET_TOK:
        sentence = say("{budget} tokens per step", budget=f"{LEAST_BUDGET_TOK:,}")
        yield {"budget_tok": LEAST_BUDGET_TOK}, sentence, say("slower prefill")
    if float(settings.graph_sizes) > 0:
        yield {"graphs": False}, say("no CUDA graphs"), say("slower decode, mostly at small batches")
    if case.engine.pool == "share" and settings.share is not None and float(settings.share) < MOST_SHARE:
        price = say("no other program can use the GPU; peaks may run out of memory")
        sentence = say("{share} of GPU memory for the engine", share=f"{MOST_SHARE:.0%}")
        yield {"utilisation": MOST_SHARE}, sentence, price


def _more_cards(case: Case, before: float) -> Iterator[Remedy]:
    """Twice the cards of the same kind."""
    grown = case.cards + tuple(replace(card, index=card.index + len(case.cards)) for card in case.cards)
    layout = replace(case.layout, pp=case.layout.pp * 2)
    if layout.pp > len(case.arch.trunk.layers):
        return
    sentence = say("{cards} GPUs instead", cards=len(grown))
    after, asks = replace(case, cards=grown, layout=layout), {"on": Node(cards=grown).shown}
    yield _remedy(after, sentence, price=say("cost of the GPUs"), before=before, asks=asks)


def _to_the_host(case: Case) -> Iterator[Remedy]:
    """What main memory would do, where the engine can work on a part of the model there.

    With the memory there is, else with as much as it takes; a host that nobody spoke of is a usual one.
    """
    shared = case.serving.batch > 1 or case.cards[0].chip.unified_memory  # by people, or with the processor
    if shared or not can_offload(case.engine) or not generates(case.arch):
        return
    known = case.host
    sizes = [gib for gib in RAM_GIB if known is None or from_gib(gib) > known.ram_bytes]
    hosts = [
        find_host(f"{gib} gb ram") if known is None else replace(known, ram_bytes=from_gib(gib))
        for gib in sizes
    ]
    for host in hosts if known is None else [known, *hosts]:
        offload = least_offload(case.arch, case.serving, cards=case.cards, host=host)
        if offload is None:
            continue
        layout, serving = Layout(pp=len(case.cards)), with_offload(case.serving, offload)
        changed = replace(case, host=host, layout=layout, serving=serving)
        parts = ram_words(case.arch, offload, engine=case.engine)
        rate = show_short(speed(changed).user_tok_per_s.value)
        size = f"{to_gib(host.ram_bytes):.0f}"
        machine = f"{Node(cards=case.cards).shown} + {f'{size}gb' if known is None else host.said}"
        more = case.serving.offload is not None and host is known
        split = {"gpu_layers": gpu_layers(case.arch, offload), "cpu_moe": cpu_moe(case.arch, offload)}
        remedy = _remedy(
            changed,
            say("more of it in RAM") if more else say("{size} GB of RAM", size=size),
            price=say("{rate} tok/s: {parts}", rate=rate, parts=parts),
            before=float(worst(case).spare_bytes),
            asks=split if more else {"on": machine},
        )
        yield replace(remedy, fits=True)
        return


def _together(case: Case, before: float) -> Iterator[Remedy]:
    """The smallest weights, the smallest cache and the leanest engine at once."""
    chosen = [
        change
        for step in (_smaller_weights, _smaller_cache, _leaner_engine)
        for change in list(step(case))[-1:]
    ]
    values = {name: value for change in chosen for name, value in change[0].items()}
    sentence = say("all together: {changes}", changes=with_commas(change[1] for change in chosen))
    remedy = _weighed(case, (values, sentence, say("all costs above")), before=before)
    if len(chosen) > 1 and remedy.saves_bytes > 0:
        yield remedy

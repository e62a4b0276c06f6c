"""What to change when it does not fit: each change by the same law, what people try first comes first."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rigright.base.units import from_gib, show_short, to_gib
from rigright.base.words import Sentence, say, with_commas
from rigright.choice.case import Case
from rigright.choice.offload import can_offload, cpu_moe, gpu_layers, least_offload, ram_words, with_offload
from rigright.choice.ways import is_run
from rigright.cost.layers import generates
from rigright.demand import Layout
from rigright.facts.formats import find_format, find_kv_format
from rigright.facts.host_words import RAM_GIB, find_host
from rigright.facts.nodes import Node
from rigright.options.read import typed
from rigright.predict.ranks import largest_batch, largest_context, worst
from rigright.predict.speed import speed
from rigright.terms.memory import weigh
from rigright.verbs.serving.explained import Remedy

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

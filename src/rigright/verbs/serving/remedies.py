"""What to change when it does not fit: each change goes through the same law, most bytes saved first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rigright.base.words import Sentence, say, with_commas
from rigright.cost.memory_device import device_of
from rigright.cost.memory_kv import generates
from rigright.cost.memory_serving import layer_bytes
from rigright.facts.formats import find_format
from rigright.facts.kv_formats import find_kv_format
from rigright.report.explained import Remedy
from rigright.verbs.serving.cards import card_uses, worst
from rigright.verbs.serving.case import Case
from rigright.verbs.serving.limits import largest_batch, largest_context

LEAST_SEQS, LEAST_BUDGET_TOK, MOST_SHARE = 16, 1024, 0.97

Change = tuple[Sentence, Sentence, str | None, Case]


def remedies(case: Case) -> tuple[Remedy, ...]:
    """Changes that save memory on the fullest card, each alone, then the best of them together."""
    before = float(worst(case).spare_bytes)
    found = [_weigh(change, before) for change in _changes(case)]
    saving = sorted((remedy for remedy in found if remedy.saves_bytes > 0), key=lambda one: -one.saves_bytes)
    if not any(remedy.fits for remedy in saving):
        saving += _together(case, before)
    return tuple(sorted((*saving, *_to_the_host(case)), key=lambda one: -one.saves_bytes))


def _weigh(change: Change, before: float) -> Remedy:
    said, price, flag, case = change
    after = float(worst(case).spare_bytes)
    return Remedy(change=said, price=price, flag=flag, saves_bytes=after - before, fits=after >= 0)


def _changes(case: Case) -> Iterator[Change]:
    yield from _smaller_weights(case)
    yield from _smaller_cache(case)
    yield from _smaller_ask(case)
    yield from _leaner_engine(case)
    yield from _more_cards(case)


def _smaller_weights(case: Case) -> Iterator[Change]:
    own = case.weights.total_bytes
    for name in case.engine.formats:
        changed = case.over(weights=name)
        if changed.weights.total_bytes < own * 0.97:
            form = find_format(name)
            yield (
                say("weights in {format}", format=form.label),
                _loss(form.loss_rank),
                f"--weights {name.removeprefix('gguf:')}",
                changed,
            )


def _loss(rank: int) -> Sentence:
    if rank <= 4:
        return say("hardly any loss of quality")
    return say("a small loss of quality") if rank <= 8 else say("a loss of quality that can be felt")


def _smaller_cache(case: Case) -> Iterator[Change]:
    name = case.engine.kv_save
    if (
        name is None
        or not generates(case.arch)
        or find_kv_format(name).bits >= find_kv_format(case.serving.kv).bits
    ):
        return
    yield (
        say("cache in {format}", format=find_kv_format(name).label),
        say("a small loss of quality at long contexts"),
        f"--kv {name}",
        case.over(kv=name),
    )


def _smaller_ask(case: Case) -> Iterator[Change]:
    if case.serving.batch > 1:
        fewer = max(largest_batch(case), 1)
        if fewer < case.serving.batch:
            yield (
                say("{batch} sequences at once", batch=f"{fewer:,}"),
                say("the rest waits in the queue"),
                f"--batch {fewer}",
                case.over(batch=fewer),
            )
    if generates(case.arch):
        shorter = largest_context(case) or case.serving.context_tok // 2
        if 0 < shorter < case.serving.context_tok:
            yield (
                say("context of {context} tokens", context=f"{shorter:,}"),
                say("longer requests are refused"),
                f"--context {shorter}",
                case.over(context_tok=shorter),
            )


def _leaner_engine(case: Case) -> Iterator[Change]:
    settings = case.settings
    if case.engine.max_seqs is not None and case.engine.logit_rows == "seqs":
        fewer = max(LEAST_SEQS, int(case.serving.batch))
        yield (
            say("the engine ready for {seqs} sequences", seqs=fewer),
            say("more than that wait in the queue"),
            f"--max-seqs {fewer}",
            case.over(max_seqs=fewer),
        )
    if case.engine.budget_tok is not None and float(settings.budget_tok) > LEAST_BUDGET_TOK:
        yield (
            say("{budget} tokens a step", budget=f"{LEAST_BUDGET_TOK:,}"),
            say("prompts are read more slowly"),
            f"--budget {LEAST_BUDGET_TOK}",
            case.over(budget_tok=LEAST_BUDGET_TOK),
        )
    if float(settings.graph_sizes) > 0:
        yield (
            say("no CUDA graphs"),
            say("each token takes longer, most of all in small batches"),
            "--no-graphs",
            case.over(graphs=False),
        )
    if case.engine.pool == "share" and settings.share is not None and float(settings.share) < MOST_SHARE:
        yield (
            say("{share} of the card for the engine", share=f"{MOST_SHARE:.0%}"),
            say("nothing else may use the card; a peak may run out of memory"),
            f"--util {MOST_SHARE}",
            case.over(utilisation=MOST_SHARE),
        )


def _more_cards(case: Case) -> Iterator[Change]:
    """Twice the cards of the same kind."""
    grown = case.cards + tuple(replace(card, index=card.index + len(case.cards)) for card in case.cards)
    layout = replace(case.layout, pp=case.layout.pp * 2)
    if layout.pp > len(case.arch.trunk.layers):
        return
    yield (
        say("twice the cards: {cards} of them", cards=len(grown)),
        say("the cards themselves"),
        None,
        replace(case, cards=grown, layout=layout),
    )


def _to_the_host(case: Case) -> Iterator[Remedy]:
    """The fewest layers that have to leave the cards, where the engine can run some on the CPU."""
    missing = -sum(min(use.spare_bytes, 0.0) for use in card_uses(case))
    device = device_of(case.cards[0], case.engine)
    costs = layer_bytes(case.arch, case.weights, serving=case.serving, layout=case.layout, device=device)[:-1]
    leaving = int(np.searchsorted(np.cumsum(costs), missing)) + 1
    if case.engine.split != "layer" or not case.engine.host_embed or leaving > len(costs):
        return
    yield Remedy(
        change=say("{layers} of {all} layers left to the CPU", layers=leaving, all=len(costs)),
        price=say("those layers run at the speed of the host's memory"),
        saves_bytes=float(sum(costs[:leaving])),
        fits=True,
    )


def _together(case: Case, before: float) -> Iterator[Remedy]:
    """The smallest weights, the smallest cache and the leanest engine at once."""
    said: list[Sentence] = []
    flags: list[str] = []
    for step in (_smaller_weights, _smaller_cache, _leaner_engine):
        for change, _, flag, changed in list(step(case))[-1:]:
            said.append(change)
            flags.append(flag or "")
            case = changed
    after = float(worst(case).spare_bytes)
    if len(said) > 1 and after > before:
        yield Remedy(
            change=say("all at once: {changes}", changes=with_commas(said)),
            price=say("all of their prices"),
            saves_bytes=after - before,
            fits=after >= 0,
            flag=" ".join(flags),
        )

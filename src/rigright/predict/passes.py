"""Passes of a case that is played: how long a pass of given content takes, and what is around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np

from rigright.base.record import dataclass
from rigright.choice.case import Case
from rigright.choice.drafts import paid_tok, pass_work
from rigright.cost.speed.pipeline import overlap_of
from rigright.cost.speed.rates import Rates
from rigright.cost.speed.step import Pass, longest_s, step
from rigright.cost.speed.work import PassWork
from rigright.demand import Layout, Numbers
from rigright.predict.ranks import dealt_of
from rigright.predict.served import Reached, server_rates

Law = Callable[[Pass], np.ndarray]  # arrays of passes -> seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class PassLaw:
    """How long passes of a replica take, and what is around them."""

    seconds: Law
    overlap: float  # of the stages of a pipeline
    rounds: int  # micro-batches under way at once
    request_s: float  # a request is on its way, and its answer


def pass_law(case: Case, *, budget_tok: int) -> PassLaw:
    """The law of one replica's passes."""
    result = reached(case, chunk_tok=budget_tok)
    layout = replace(case.layout, dp=1)
    law = law_of(result.work, result.rates, layout=layout, shares=result.shares)
    return PassLaw(
        seconds=_drafting(case, law) if case.drafts.drafted_tok else law,
        overlap=float(np.min(overlap_of(result.work, result.rates))),
        rounds=1 if result.takes_turns else int(layout.pp),
        request_s=float(np.max(result.rates.request_s)),
    )


def _drafting(case: Case, law: Law) -> Law:
    """The law of what is a token of each sequence: such a part of a pass that makes several."""
    each, kept = 1 + case.drafts.drafted_tok, 1 + paid_tok(case.arch, case.drafts)

    def seconds(content: Pass) -> np.ndarray:
        content = replace(content, decode_each_tok=each)
        decode = law(replace(content, prefill_tok=np.zeros_like(content.prefill_tok), prefill_seqs=0))
        made = decode * (np.asarray(content.decode_seqs) > 0)
        return np.asarray(law(content) - made + made / kept)

    return seconds


def law_of(work: PassWork, rates: Rates, *, layout: Layout, shares: Numbers = None) -> Law:
    """The law of a pass on arrays; rates of unlike chips wait for the slowest, or each does its share."""

    def law(content: Pass) -> np.ndarray:
        upright = {field.name: _upright(getattr(content, field.name)) for field in fields(Pass)}
        content = replace(content, **upright)
        time = step(work, rates, layout=layout, content=content)
        # with more than one sequence each, all micro-batches are under way
        passes = np.where(np.asarray(content.decode_seqs) > 1, layout.pp, 1)
        waits = longest_s(time, work, rates=rates, layout=layout, passes=passes)
        times = np.asarray(time.total_s + waits, dtype=float)
        each = np.broadcast_to(times, (len(content.prefill_tok), times.shape[-1] if times.ndim > 1 else 1))
        return np.asarray(each.max(axis=1) if shares is None else each @ np.asarray(shares))

    return law


def _upright(values: Numbers) -> Numbers:
    """One row a pass, so that columns are kinds of chip."""
    return np.asarray(values, dtype=float)[..., None]


def reached(case: Case, *, chunk_tok: Numbers) -> Reached:
    """What the cards of a case reach; unlike ones that layers are dealt to with prompts cut so."""
    chips = tuple({card.chip.id: card.chip for card in case.cards}.values())
    if case.serving.offload is not None and case.host is not None:
        from rigright.predict.beside import beside_cards

        work, rates = beside_cards(case)
        return Reached(work=work, rates=rates, chips=chips, takes_turns=True)
    weights, dealt = case.serving.weights, dealt_of(case)
    work = pass_work(case.arch, weights=weights, kv=case.serving.kv, drafts=case.drafts)
    if dealt is None:
        return Reached(work=work, rates=server_rates(chips, case.engine, weights=weights), chips=chips)
    rates = server_rates(dealt.chips, case.engine, weights=weights)
    even = dealt.evened(rates, work=work, chunk_tok=chunk_tok)
    return Reached(work=work, rates=even, chips=dealt.chips, shares=dealt.shares)

"""Models of which a part, or all, lies in main memory: cards and processor take turns.

`explain`, every row of `plan`, a replay, and a row of a table of runs are predicted by what is here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rigright.base.record import dataclass
from rigright.base.units import GIGA
from rigright.choice.case import Beside, Case
from rigright.choice.drafts import pass_work
from rigright.choice.offload import in_ram
from rigright.cost.speed.rates import Rates, beside
from rigright.cost.speed.step import Pass, sent_bytes
from rigright.cost.speed.work import PassWork, parted
from rigright.demand import Layout
from rigright.facts.chips import Chip
from rigright.facts.engines import Engine
from rigright.facts.hosts import CPU, Host, host_chip
from rigright.predict.columns import blended
from rigright.predict.served import Replicas, prompt_alone, served, server_rates, token_pass
from rigright.predict.streams import work_in
from rigright.terms.speed import speed_terms, stream_terms, with_streams

USUAL_DISK_BYTES_PER_S = 3.0 * GIGA  # of a machine that nobody says more of
PAGED = 0.25  # of a disk's rate in a row, that pages of a mapped file come at


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideGroup:
    """One run of a model that used main memory, with where it lay already settled."""

    places: tuple[int, ...]  # among all cases
    case: Case

    def figures(self, tables: Mapping[str, Any] | None = None) -> dict[str, np.ndarray]:
        """What users see; `tables`: other terms of streams than ours."""
        return {name: np.array([value]) for name, value in _figures(self.case, tables).items()}


def beside_rates(
    machines: Sequence[Sequence[Chip]],
    processors: Sequence[Chip],
    *,
    engine: Engine,
    weights: str,
    tables: Mapping[str, Any] | None = None,
) -> Rates:
    """What the cards of machines reach with a processor beside them, one entry a machine.

    Where a part has to leave the cards they are full, so unlike ones, of which there is one machine at most,
    each work on as much as they have memory. `tables`: other terms of streams than ours.
    """
    first = machines[0]
    kinds = tuple(dict.fromkeys(first)) if len(machines) == 1 else tuple(cards[0] for cards in machines)
    terms = with_streams(tables)
    rates = server_rates(kinds, engine, weights=weights, tables=terms)
    if len(machines) < len(kinds):
        values = np.array([sum(item.mem_usable_bytes for item in first if item == chip) for chip in kinds])
        rates = blended(rates, values / values.sum())
    slots = tuple(cards[0] for cards in machines)
    return beside(rates, speed_terms(processors, engine, weights=weights, streams=tables), cards=slots)


def beside_cards(case: Case) -> tuple[PassWork, Rates]:
    """The work of a case with a part in main memory, and what its machine reaches."""
    offload, host, weights = case.serving.offload, case.host, case.serving.weights
    assert offload is not None and host is not None  # noqa: S101, PT018 - a part lies there
    work = pass_work(case.arch, weights=weights, kv=case.serving.kv, drafts=case.drafts)
    cards = tuple(card.chip for card in case.cards)
    rates = beside_rates([cards], [host_chip(host)], engine=case.engine, weights=weights)
    return replace(work, ram=in_ram(case.arch, offload)), rates


def token_parts(case: Case, *, seqs: float, context_tok: float) -> tuple[float, float]:
    """Seconds of a next token: what the processor takes for its part, and all of it."""
    work, rates = beside_cards(case)
    assert work.ram is not None and rates.host is not None  # noqa: S101, PT018 - a part lies there
    _, inside = parted(work, work.ram)
    load = {"seqs": seqs, "context_tok": context_tok}
    alone = token_pass(inside, rates.host.rates, layout=Layout(), **load)
    whole = token_pass(work, rates, layout=case.layout, **load)
    return float(np.max(alone.total_s)), float(np.max(whole.total_s))


def _figures(case: Case, tables: Mapping[str, Any] | None) -> dict[str, float]:
    """What users see, as plans name it."""
    beside, host, sent, engine = case.beside, case.host, case.traffic, case.engine
    assert beside is not None and host is not None and sent is not None  # noqa: S101, PT018 - a run tells
    chips, weights = tuple(card.chip for card in case.cards), case.serving.weights
    work = _work(case, beside)
    if chips[0].vendor != CPU:
        processor = host_chip(host, threads=beside.threads)
        work = replace(work, ram=beside.ram)
        rates = beside_rates([chips], [processor], engine=engine, weights=weights, tables=tables)
        if beside.repacked and rates.host is not None:
            rates = replace(rates, host=replace(rates.host, most_tok=np.inf))
    else:
        rates = server_rates(chips, engine, weights=weights, tables=with_streams(tables))
    own = stream_terms(engine, chip=chips[0], weights=weights, tables=tables).get("ubatch_tok", np.inf)
    seqs, seen_tok, output_tok = sent.concurrency, sent.cached_tok, sent.output_tok
    prompt_tok = sent.prompt_tok - seen_tok
    replicas = Replicas(
        engine=engine, layout=case.layout,
        traffic=replace(sent, prompt_tok=seen_tok + max(prompt_tok, 1.0)),
        pool_tok=np.inf, slots=np.inf, seqs=seqs, max_seqs=seqs, budget_tok=case.serving.budget_tok or own,
    )  # fmt: skip
    # what is made on top of a cache that is there was asked for without a prompt
    context = seen_tok + output_tok / 2 + (0.0 if seen_tok else prompt_tok)
    token = token_pass(work, rates, layout=case.layout, seqs=seqs, context_tok=context)
    asked = Pass(prefill_tok=max(prompt_tok, 1.0) * seqs, prefill_seen_tok=seen_tok, prefill_seqs=seqs)
    prompt = prompt_alone(work, rates, layout=case.layout, prompt=asked, budget_tok=replicas.budget_tok)
    service, _ = served(replicas, work=work, rates=rates)
    waits = tuple(_disk_s(work, beside, host=host, tok=tok) for tok in (1.0, prompt_tok))
    token_s, prompt_s = float(np.max(token.total_s)) + waits[0], float(np.max(prompt.total_s)) + waits[1]
    ttft_s, life_s = prompt_s, prompt_s + output_tok * token_s
    if not case.is_alone:
        ttft_s = float(np.max(service.ttft_s)) + waits[1]
        token_s = token_s if seqs == 1 else float(np.max(service.tpot_s)) + waits[0]
        if output_tok:  # a run that makes nothing is prompts alone
            life_s = seqs / float(np.min(service.requests_per_s)) + waits[1] + output_tok * waits[0]
    return {
        "ttft_s": ttft_s,
        "tpot_s": token_s,
        "user_tok_per_s": 1 / token_s,
        "prefill_tok_per_s": seqs * prompt_tok / prompt_s,
        "output_tok_per_s": seqs * output_tok / life_s,
        "total_tok_per_s": seqs * (output_tok + prompt_tok) / life_s,
    }


def _work(case: Case, beside: Beside) -> PassWork:
    """Its work, with as many experts as were at it."""
    work, active = work_in(case), beside.active_experts
    if active is None:
        return work
    gemms = (
        replace(gemm, per_tok=min(active, gemm.per_tok)) if gemm.experts else gemm for gemm in work.gemms
    )
    return replace(work, gemms=tuple(gemms))


def _disk_s(work: PassWork, beside: Beside, *, host: Host, tok: float) -> float:
    """What reading takes of weights that main memory has no room for: pages here and there, not in a row."""
    rate = (host.disk_bytes_per_s or USUAL_DISK_BYTES_PER_S) * PAGED
    read = float(sent_bytes(work, beside.ram, tok=tok)) * beside.disk_share if beside.disk_share else 0.0
    return read / rate

"""Models of which a part, or all, lies in main memory: cards and processor take turns.

`explain`, every row of `plan`, a replay, and a row of a table of runs are predicted by what is here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass
from rigright.base.units import GIGA
from rigright.choice.case import Case
from rigright.choice.offload import in_ram
from rigright.cost.estimate import Estimate
from rigright.cost.speed.rates import Rates, beside
from rigright.cost.speed.step import Pass, sent_bytes
from rigright.cost.speed.work import InRam, PassWork, parted
from rigright.demand import Layout, Traffic
from rigright.facts.anchors import RunCase
from rigright.facts.chips import Chip
from rigright.facts.engines import Engine
from rigright.facts.hosts import Host, host_chip
from rigright.predict.columns import blended
from rigright.predict.served import Replicas, prompt_alone, served, server_rates, token_pass
from rigright.predict.told import HYBRID, case_of, least_known, tell_known, unsaid
from rigright.terms.speed import speed_terms, stream_terms, with_streams, work_of

USUAL_DISK_BYTES_PER_S = 3.0 * GIGA  # of a machine that nobody says more of
PAGED = 0.25  # of a disk's rate in a row, that pages of a mapped file come at


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideCase:
    """One model on one machine under one load, where it lies already settled."""

    arch: Arch
    work: PassWork
    weights: str
    engine: Engine
    cards: tuple[Chip, ...]  # none: the processor works alone
    host: Host
    ram: InRam
    threads: int | None = None
    disk_share: float = 0.0  # of what lies in main memory, that has no room there and is read from the disk
    computes: bool = False  # the processor works on prompts of any length: rows lie as only it reads them
    ubatch_tok: float | None = None  # tokens of a prompt worked on at once; None: the engine's own
    prompt_tok: float
    output_tok: float
    seen_tok: float = 0.0  # in the cache before the prompt
    seqs: int = 1
    alone: bool = False  # a stream or a static batch without a server around it

    @property
    def processor(self) -> Chip:
        """The processor, with as many threads as it is given."""
        return host_chip(self.host, threads=self.threads)

    @property
    def traffic(self) -> Traffic:
        """So many in flight; what is in the cache is a part of each prompt that is there already."""
        whole = self.seen_tok + max(self.prompt_tok, 1.0)
        return Traffic(
            prompt_tok=whole, output_tok=self.output_tok, cached_tok=self.seen_tok, concurrency=self.seqs
        )

    @property
    def asked(self) -> RunCase:
        """The same, as own runs tell of it."""
        found = case_of(self.traffic, self.weights, chips=max(len(self.cards), 1))
        return replace(found, prompt_tok=self.prompt_tok)


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
        held = np.array([sum(one.mem_usable_bytes for one in first if one == chip) for chip in kinds])
        rates = blended(rates, held / held.sum())
    slots = tuple(cards[0] for cards in machines)
    return beside(rates, speed_terms(processors, engine, weights=weights, streams=tables), cards=slots)


def beside_cards(case: Case) -> tuple[PassWork, Rates]:
    """The work of a case with a part in main memory, and what its machine reaches."""
    offload, host, weights = case.serving.offload, case.host, case.serving.weights
    assert offload is not None and host is not None  # noqa: S101, PT018 - a part lies there
    work = work_of(case.arch, weights=weights, kv=case.serving.kv)
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


def beside_figures(case: BesideCase, tables: Mapping[str, Any] | None = None) -> dict[str, float]:
    """What users see, as plans name it. `tables`: other terms of streams than ours."""
    chips, weights, engine = case.cards or (case.processor,), case.weights, case.engine
    if case.cards:
        work = replace(case.work, ram=case.ram)
        rates = beside_rates([chips], [case.processor], engine=engine, weights=weights, tables=tables)
        if case.computes and rates.host is not None:
            rates = replace(rates, host=replace(rates.host, most_tok=np.inf))
    else:
        terms = with_streams(tables)
        work, rates = case.work, server_rates(chips, engine, weights=weights, tables=terms)
    layout = Layout(pp=len(chips))
    own = stream_terms(engine, chip=chips[0], weights=weights, tables=tables).get("ubatch_tok", np.inf)
    replicas = Replicas(
        engine=engine, layout=layout, traffic=case.traffic, pool_tok=np.inf, slots=np.inf, seqs=case.seqs,
        max_seqs=case.seqs, budget_tok=case.ubatch_tok or own,
    )  # fmt: skip
    # what is made on top of a cache that is there was asked for without a prompt
    context = case.seen_tok + case.output_tok / 2 + (0.0 if case.seen_tok else case.prompt_tok)
    token = token_pass(work, rates, layout=layout, seqs=case.seqs, context_tok=context)
    asked = Pass(
        prefill_tok=max(case.prompt_tok, 1.0) * case.seqs,
        prefill_seen_tok=case.seen_tok,
        prefill_seqs=case.seqs,
    )
    prompt = prompt_alone(work, rates, layout=layout, prompt=asked, budget_tok=replicas.budget_tok)
    found, _ = served(replicas, work=work, rates=rates)
    waits = _disk_s(case, tok=1.0), _disk_s(case, tok=case.prompt_tok)
    token_s, prompt_s = float(np.max(token.total_s)) + waits[0], float(np.max(prompt.total_s)) + waits[1]
    ttft_s, life_s = prompt_s, prompt_s + case.output_tok * token_s
    if not case.alone:
        ttft_s = float(np.max(found.ttft_s)) + waits[1]
        token_s = token_s if case.seqs == 1 else float(np.max(found.tpot_s)) + waits[0]
        if case.output_tok:  # a run that makes nothing is prompts alone
            life_s = case.seqs / float(np.min(found.requests_per_s)) + waits[1] + case.output_tok * waits[0]
    return {
        "ttft_s": ttft_s,
        "tpot_s": token_s,
        "user_tok_per_s": 1 / token_s,
        "prefill_tok_per_s": case.seqs * case.prompt_tok / prompt_s,
        "output_tok_per_s": case.seqs * case.output_tok / life_s,
        "total_tok_per_s": case.seqs * (case.output_tok + case.prompt_tok) / life_s,
    }


def beside_told(case: BesideCase, *, source: str = "") -> dict[str, Estimate]:
    """The same with bands; `source`: who measured it."""
    known = least_known(
        HYBRID, arch=case.arch, engine=case.engine, chips=(host_chip(case.host),), case=case.asked,
        source=source,
    )  # fmt: skip
    known = unsaid(known, host=case.host)
    return tell_known(beside_figures(case), HYBRID, known=known, case=case.asked)


def _disk_s(case: BesideCase, *, tok: float) -> float:
    """What reading takes of weights that main memory has no room for: pages here and there, not in a row."""
    rate = (case.host.disk_bytes_per_s or USUAL_DISK_BYTES_PER_S) * PAGED
    read = float(sent_bytes(case.work, case.ram, tok=tok)) * case.disk_share if case.disk_share else 0.0
    return read / rate

"""Lone streams and static batches: no server around them, each replica works on what it has room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass
from rigright.base.units import from_gib
from rigright.choice.case import Case
from rigright.cost.memory.kv import entry_bytes, state_bytes
from rigright.cost.speed.step import Pass
from rigright.cost.speed.stream import prompt_s, stream_of, token_s
from rigright.cost.speed.work import PassWork
from rigright.demand import Layout, Numbers, Traffic
from rigright.facts.chips import Chip
from rigright.facts.engines import Engine
from rigright.predict.columns import columns_of, unlike
from rigright.predict.served import piped
from rigright.terms.memory import weights_bytes
from rigright.terms.speed import speed_terms, work_of

ONE = Layout()
LEAST_SHARE, MOST_SHARE = 0.5, 2.0  # of the size a format makes of a model: beyond, a file is of another
USUAL_SHARE = 0.9  # of a card's memory, of engines whose share follows from other things


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamGroup:
    """Streams of one model under one engine: arrays, one entry each."""

    places: tuple[int, ...]  # among all cases
    arch: Arch
    work: PassWork
    form: str
    engine: Engine
    chips: tuple[Chip, ...]
    chip_of: Numbers  # index into chips
    layout: Layout
    cards: Numbers  # of a replica
    seqs: Numbers
    prompt_tok: Numbers  # beside what the cache holds
    output_tok: Numbers
    seen_tok: Numbers  # in the cache before the prompt
    ubatch_tok: Numbers  # tokens of a prompt worked on at once; nan: the engine's own
    alone: Numbers  # whether next tokens were timed without the prompt

    @property
    def room_seqs(self) -> Numbers:
        """Sequences a replica has room for at their full length; the others of a batch wait for these."""
        if self.engine.pool != "share":
            return np.inf
        work = self.work
        tok = self.seen_tok + self.prompt_tok + self.output_tok
        each = sum(
            float(times)
            * (tok * entry_bytes(mixer, ONE, element_bytes=work.kv_elem_bytes) + state_bytes(mixer, ONE))
            for mixer, times in work.mixers
        ) + np.zeros(len(tok))
        values = np.array([chip.mem_usable_bytes for chip in self.chips])[self.chip_of]
        size = sum(float(gemm.size_bytes) for gemm in work.gemms)
        pool = (self.engine.share or USUAL_SHARE) * values * self.cards - size
        most = np.divide(pool, each, out=np.full(len(tok), np.inf), where=each > 0)
        return np.maximum(most, 1.0)

    def figures(self, tables: Mapping[str, Any] | None = None) -> dict[str, np.ndarray]:
        """What is seen of each; `tables`: other terms than ours."""
        terms = speed_terms(self.chips, self.engine, weights=self.form, streams=tables)
        stream = stream_of(terms).at(self.chip_of)
        value = np.isfinite(self.ubatch_tok)
        stream = replace(stream, ubatch_tok=np.where(value, self.ubatch_tok, stream.ubatch_tok))
        gain = piped(self.arch, self.engine, work=self.work, stages=self.layout.pp)
        stream = replace(stream, rates=replace(stream.rates, piped=stream.rates.piped * gain))
        layout, replicas = replace(self.layout, dp=1), self.layout.dp
        context = self.seen_tok + self.prompt_tok + self.output_tok / 2
        each = np.ceil(self.seqs / replicas)  # of one replica
        kept = np.minimum(each, self.room_seqs)
        token = token_s(self.work, stream, layout=layout, seqs=kept, context_tok=context)
        content = Pass(
            prefill_tok=np.maximum(self.prompt_tok, 1) * kept,
            prefill_seen_tok=self.seen_tok,
            prefill_seqs=kept,
        )
        prompt = prompt_s(self.work, stream, layout=layout, content=content)
        waited, made = np.where(self.alone, 0.0, prompt), self.seqs * self.output_tok
        total = (waited + self.output_tok * (token + stream.talk_s)) * (each / kept)
        return {
            "ttft_s": prompt,
            "tpot_s": token,
            "latency_s": total,
            "user_tok_per_s": 1 / token,
            "prefill_tok_per_s": np.minimum(kept * replicas, self.seqs) * self.prompt_tok / prompt,
            "output_tok_per_s": made / total,
            "total_tok_per_s": (made + self.seqs * self.prompt_tok) / total,
        }


def streams_of(cases: Mapping[int, Case]) -> tuple[StreamGroup, ...]:
    """Cases, by their places, in groups of one call of the law."""
    groups: dict[object, list[int]] = {}
    for place, case in cases.items():
        groups.setdefault(_shared(case), []).append(place)
    return tuple(_group([cases[place] for place in places], places) for places in groups.values())


def _shared(case: Case) -> tuple[object, ...]:
    """What streams of one call have in common."""
    engine = case.engine
    kind = (engine.id, engine.version, engine.backend, engine.options)
    return (*kind, case.form, id(work_in(case)), case.layout.attention_dp)


def _group(cases: Sequence[Case], places: Sequence[int]) -> StreamGroup:
    """Such cases as arrays."""
    first, sent = cases[0], [case.traffic for case in cases]
    chips, chip_of = unlike([case.cards[0].chip for case in cases])
    traffic: Traffic = columns_of(sent, ("concurrency", "prompt_tok", "output_tok", "cached_tok"))
    layout: Layout = columns_of([case.layout for case in cases], ("tp", "pp", "ep", "dp"))
    return StreamGroup(
        places=tuple(places),
        arch=first.arch,
        work=work_in(first),
        form=first.form,
        engine=first.engine,
        chips=chips,
        chip_of=chip_of,
        layout=layout,
        cards=np.array([len(case.cards) for case in cases]) / layout.dp,
        seqs=traffic.concurrency,
        prompt_tok=traffic.prompt_tok - traffic.cached_tok,
        output_tok=traffic.output_tok,
        seen_tok=traffic.cached_tok,
        ubatch_tok=np.array([case.serving.budget_tok for case in cases], dtype=float),
        alone=np.array([case.prompt_left_out for case in cases]),
    )


def work_in(case: Case) -> PassWork:
    """Its work; cases alike have the very same."""
    return _work(case.arch, weights=case.serving.weights, kv=case.serving.kv, file_gib=case.file_gib)


@cache
def _work(arch: Arch, *, weights: str, kv: str, file_gib: float | None) -> PassWork:
    """The work of a model in a format, its weights as large as the very file."""
    work = work_of(arch, weights=weights, kv=kv)
    if file_gib is None:
        return work
    share = min(max(from_gib(file_gib) / weights_bytes(arch, weights), LEAST_SHARE), MOST_SHARE)
    return replace(
        work, gemms=tuple(replace(gemm, size_bytes=gemm.size_bytes * share) for gemm in work.gemms)
    )

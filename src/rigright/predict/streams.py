"""Lone streams and static batches: no server around them, each replica works on what it has room for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass
from rigright.cost.memory_kv import entry_bytes, state_bytes
from rigright.cost.speed.step import Pass
from rigright.cost.speed.stream import prompt_s, stream_of, token_s
from rigright.cost.speed.work import Work
from rigright.demand import Layout, Numbers
from rigright.facts.chips import Chip
from rigright.facts.engines import Engine
from rigright.predict.served import piped
from rigright.terms.speed import speed_terms

ONE = Layout()
USUAL_SHARE = 0.9  # of a card's memory, of engines whose share follows from other things


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCases:
    """Streams of one model under one engine: arrays, one entry each."""

    arch: Arch
    work: Work
    weights: str
    engine: Engine
    chips: tuple[Chip, ...]
    chip_of: Numbers  # index into chips
    layout: Layout
    cards: Numbers  # of a replica
    seqs: Numbers
    prompt_tok: Numbers
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
        held = np.array([chip.mem_usable_bytes for chip in self.chips])[self.chip_of]
        size = sum(float(gemm.size_bytes) for gemm in work.gemms)
        pool = (self.engine.share or USUAL_SHARE) * held * self.cards - size
        most = np.divide(pool, each, out=np.full(len(tok), np.inf), where=each > 0)
        return np.maximum(most, 1.0)


def stream_figures(case: StreamCases, tables: Mapping[str, Any] | None = None) -> dict[str, np.ndarray]:
    """What is seen of each; `tables`: other terms than ours."""
    terms = speed_terms(case.chips, case.engine, weights=case.weights, streams=tables)
    stream = stream_of(terms).at(case.chip_of)
    told = np.isfinite(case.ubatch_tok)
    stream = replace(stream, ubatch_tok=np.where(told, case.ubatch_tok, stream.ubatch_tok))
    gain = piped(case.arch, case.engine, work=case.work, stages=case.layout.pp)
    stream = replace(stream, rates=replace(stream.rates, piped=stream.rates.piped * gain))
    layout, replicas = replace(case.layout, dp=1), case.layout.dp
    context = case.seen_tok + case.prompt_tok + case.output_tok / 2
    each = np.ceil(case.seqs / replicas)  # of one replica
    held = np.minimum(each, case.room_seqs)
    token = token_s(case.work, stream, layout=layout, seqs=held, context_tok=context)
    content = Pass(
        prefill_tok=np.maximum(case.prompt_tok, 1) * held, prefill_seen_tok=case.seen_tok, prefill_seqs=held
    )
    prompt = prompt_s(case.work, stream, layout=layout, content=content)
    waited, made = np.where(case.alone, 0.0, prompt), case.seqs * case.output_tok
    total = (waited + case.output_tok * (token + stream.talk_s)) * (each / held)
    return {
        "ttft_s": prompt,
        "tpot_s": token,
        "latency_s": total,
        "user_tok_per_s": 1 / token,
        "prefill_tok_per_s": np.minimum(held * replicas, case.seqs) * case.prompt_tok / prompt,
        "output_tok_per_s": made / total,
        "total_tok_per_s": (made + case.seqs * case.prompt_tok) / total,
    }

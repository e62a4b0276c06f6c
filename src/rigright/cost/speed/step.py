"""Time of one forward pass of one replica: each kind of work takes the longer of computing and reading."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rigright.arch.count import flops_per_pair
from rigright.arch.record import Mixer
from rigright.cost.links import all_reduce_s, send_s
from rigright.cost.memory_kv import entry_bytes, state_bytes
from rigright.cost.shards import attention_share, share
from rigright.cost.speed.rates import Rates
from rigright.cost.speed.work import Gemm, Work
from rigright.demand import Layout, Numbers

ACT_BYTES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What one forward pass of one replica holds. Numbers or arrays."""

    prefill_tok: Numbers = 0  # prompt tokens worked on
    prefill_seen_tok: Numbers = 0  # keys each of them sees, on average
    prefill_seqs: Numbers = 0  # prompts they belong to
    decode_seqs: Numbers = 0  # sequences that make their next token
    decode_context_tok: Numbers = 0  # tokens each of those has in its cache, on average


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """Seconds of one pass, by what they go into."""

    gemm_s: Numbers
    attention_s: Numbers
    link_s: Numbers
    fixed_s: Numbers
    compute_s: Numbers  # of gemm and attention: what computing alone would take
    memory_s: Numbers  # and what reading alone would take

    @property
    def total_s(self) -> Numbers:
        """The pass."""
        return self.gemm_s + self.attention_s + self.link_s + self.fixed_s


def step(work: Work, rates: Rates, *, layout: Layout, content: Pass) -> StepTime:
    """Time of a pass; with a pipeline, of one micro-batch through all stages."""
    tok = content.prefill_tok + content.decode_seqs
    gemms = [_gemm(gemm, rates, layout=layout, content=content, tok=tok) for gemm in work.gemms]
    reads = [
        _attention(mixer, times, work=work, rates=rates, layout=layout, content=content)
        for mixer, times in work.mixers
    ]
    return StepTime(
        gemm_s=sum(np.maximum(compute, memory) for compute, memory in gemms),
        attention_s=sum(np.maximum(compute, memory) for compute, memory in reads),
        link_s=_links(work, rates, layout=layout, tok=tok),
        fixed_s=work.layers * rates.layer_s + rates.step_s,
        compute_s=sum(compute for compute, _ in (*gemms, *reads)),
        memory_s=sum(memory for _, memory in (*gemms, *reads)),
    )


def _gemm(
    gemm: Gemm, rates: Rates, *, layout: Layout, content: Pass, tok: Numbers
) -> tuple[Numbers, Numbers]:
    rows = content.prefill_seqs + content.decode_seqs if gemm.kind == "head" else tok
    part = share(gemm.cut, layout)
    used = gemm.per_tok / gemm.experts if gemm.experts else 1.0
    touched = 1 - (1 - used) ** np.maximum(rows, 1) if gemm.experts else 1.0
    compute = 2 * gemm.elems * used * (rows + rates.half_tok) * part / rates.flops_per_s
    return compute, gemm.size_bytes * touched * part / rates.mem_bytes_per_s


def _attention(
    mixer: Mixer, times: int, *, work: Work, rates: Rates, layout: Layout, content: Pass
) -> tuple[Numbers, Numbers]:
    window = np.inf if mixer.window_tok is None else mixer.window_tok
    heads = attention_share(layout)
    seen = np.minimum(content.prefill_seen_tok, window)
    context = np.minimum(content.decode_context_tok, window)
    pairs = content.prefill_tok * seen + content.decode_seqs * context
    entry = entry_bytes(mixer, layout, element_bytes=work.kv_elem_bytes)
    read = content.decode_seqs * (context * entry + 2 * state_bytes(mixer, layout))
    compute = times * flops_per_pair(mixer) * pairs * heads / rates.attention_flops_per_s
    return compute, times * read / rates.mem_bytes_per_s


def _links(work: Work, rates: Rates, *, layout: Layout, tok: Numbers) -> Numbers:
    size = tok * work.hidden * ACT_BYTES
    reduced = 2 * work.layers * all_reduce_s(size, layout.tp, wire=rates.wire)
    stages = np.asarray(layout.pp, dtype=float)
    outer = np.asarray(layout.tp) * stages > rates.wire.domain
    return reduced + (stages - 1) * send_s(size, wire=rates.wire, outer=outer)

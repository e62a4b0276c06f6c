"""Time of one forward pass of one replica: each kind of work takes the longer of compute and memory.

The two overlap well, but not fully: their joint time is the root of the sum of squares, within a few
percent of measured multiplications on every class of chip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from rigright.arch.count import flops_per_pair
from rigright.arch.record import Mix, Mixer
from rigright.base.record import dataclass, replace
from rigright.cost.layers import CACHED
from rigright.cost.links import all_reduce_s, send_s
from rigright.cost.memory.kv import entry_bytes, state_bytes
from rigright.cost.speed.parts import Part, parts_of, ranks_of
from rigright.cost.speed.pipeline import most_of
from rigright.cost.speed.rates import RamHost, Rates
from rigright.cost.speed.work import Encoder, InRam, PassWork, parted
from rigright.demand import Layout, Numbers

ACT_BYTES = 2
ALONE = Layout()
STATE_CHUNK_TOK = 128  # linear attention and SSM see so many tokens at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What one forward pass of one replica holds. Numbers or arrays."""

    prefill_tok: Numbers = 0  # prompt tokens worked on
    prefill_seen_tok: Numbers = 0  # keys each of them sees, on average
    prefill_seqs: Numbers = 0  # prompts they belong to
    heard_share: Numbers = 1.0  # of their sound or pictures, that is worked on in this pass
    decode_seqs: Numbers = 0  # sequences that make their next token
    decode_context_tok: Numbers = 0  # tokens each of those has in its cache, on average
    decode_each_tok: Numbers = 1  # tokens worked on for each of those: more where some are drafted


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """Seconds of one pass, by what they go into."""

    gemm_s: Numbers
    attention_s: Numbers
    link_s: Numbers
    fixed_s: Numbers
    head_s: Numbers  # of gemm: what makes logits, which only the last stage does
    compute_s: Numbers  # of gemm and attention: what computing alone would take
    memory_s: Numbers  # and what reading alone would take

    @property
    def total_s(self) -> Numbers:
        """The pass."""
        return self.gemm_s + self.attention_s + self.link_s + self.fixed_s

    @property
    def work_s(self) -> Numbers:
        """What of it chips compute or read."""
        return self.gemm_s + self.attention_s


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rank:
    """What the fullest rank of attention has in a pass: all of it, or its own sequences."""

    prefill_tok: Numbers
    decode_seqs: Numbers
    tok: Numbers
    logits: Numbers  # rows of them


def step(
    work: PassWork, rates: Rates, *, layout: Layout, content: Pass, parts: Sequence[Part] | None = None
) -> StepTime:
    """Time of a pass; with a pipeline, of one micro-batch through all stages.

    `parts` are those of the work in the layout, where somebody has them at hand.
    """
    if work.drafter is not None:
        own = step(replace(work, drafter=None), rates, layout=layout, content=content, parts=parts)
        ahead = Pass(decode_seqs=content.decode_seqs, decode_context_tok=content.decode_context_tok)
        each = step(work.drafter, rates, layout=layout, content=ahead).total_s
        return replace(own, fixed_s=own.fixed_s + (content.decode_each_tok - 1) * each)
    if work.ram is not None and rates.host is not None:
        return _with_host(work, rates, ram=work.ram, host=rates.host, layout=layout, content=content)
    parts = parts_of(work, layout) if parts is None else parts
    rank = _rank(content, layout)
    tok = content.prefill_tok + content.decode_seqs * content.decode_each_tok
    gemms = [_gemm(part, rates, layout=layout, rank=rank, tok=tok) for part in parts]
    prefill = _prefill_attention(work, rates, layout=layout, content=content, rank=rank)
    reads = [
        (times * compute, times * memory)
        for mixer, times in work.mixers
        for compute, memory in [
            _decode_attention(mixer, work, rates=rates, layout=layout, content=content, rank=rank)
        ]
    ]
    # what each token costs outside multiplications; weights that are unpacked whole before a prompt
    narrow = sum(part.elems for part in parts if part.narrow and part.kind != "expert")
    unpacked = np.minimum(content.prefill_tok, 1) * narrow * rates.unpack_s
    around = rank.tok * work.layers * work.hidden * rates.act_s + unpacked
    fixed = _fixed(work, rates, content=content, rank=rank) + around
    if work.encoder is not None:
        heard = _heard(work.encoder, work, rates=rates, layout=layout, content=content)
        gemms.append(heard.gemm)
        prefill, fixed = prefill + heard.attention_s, fixed + heard.fixed_s
    pairs = (*gemms, *reads)
    each = [np.hypot(compute, memory) for compute, memory in gemms]
    gemm = sum(each)
    attention = prefill + sum(np.maximum(compute, memory) for compute, memory in reads)
    link = _links(work, rates, layout=layout, content=content, tok=tok)
    return StepTime(
        gemm_s=gemm,
        attention_s=attention,
        link_s=link + _hops(work, rates, layout=layout),
        fixed_s=np.maximum(fixed, _host(work, rates) - gemm - attention - link),
        head_s=sum(value for part, value in zip(parts, each, strict=False) if part.kind == "head"),
        compute_s=prefill + sum(compute for compute, _ in pairs),
        memory_s=sum(memory for _, memory in pairs),
    )


def _with_host(
    work: PassWork, rates: Rates, *, ram: InRam, host: RamHost, layout: Layout, content: Pass
) -> StepTime:
    """A pass where a part of the model lies in main memory.

    Layers follow one another, so cards and processor take turns and their times add up. The weights of a
    long pass of prompts are sent over the bus instead, and worked on by the cards.
    """
    on_cards, in_ram = parted(work, ram)
    cards = step(on_cards, rates, layout=layout, content=content)
    inside = step(in_ram, host.rates, layout=ALONE, content=content)
    turns = _added(cards, inside, link_s=_crossings(work, ram) * host.hop_s)
    tok = np.asarray(content.prefill_tok, dtype=float)
    if not np.any(tok > host.most_tok):
        return turns
    sent = _added(
        step(replace(work, ram=None), rates, layout=layout, content=content),
        None,
        link_s=sent_bytes(work, ram, tok=tok) / host.bus_bytes_per_s,
    )
    each = [gemm.per_tok / gemm.experts for gemm in work.gemms if gemm.experts] if host.by_expert else []
    far = tok * min(each, default=1.0) > host.most_tok
    return StepTime(
        **{
            field.name: np.where(far, getattr(sent, field.name), getattr(turns, field.name))
            for field in fields(StepTime)
        }
    )


def _added(step_time: StepTime, other: StepTime | None, *, link_s: Numbers) -> StepTime:
    """Passes one after the other, with time on the way between them."""
    if other is not None:
        step_time = StepTime(
            **{
                name.name: getattr(step_time, name.name) + getattr(other, name.name)
                for name in fields(StepTime)
            }
        )
    return replace(step_time, link_s=step_time.link_s + link_s)


def _crossings(work: PassWork, ram: InRam) -> Numbers:
    """Times that a pass goes from the cards to the processor or back: twice a layer that lies on both."""
    both = np.maximum(work.layers * (np.maximum(ram.experts, ram.ffn) - ram.attn), 0.0)
    return 2 * both + np.where((np.asarray(ram.attn) > 0) & (np.asarray(ram.attn) < 1), 2.0, 0.0)


def sent_bytes(work: PassWork, ram: InRam, *, tok: Numbers) -> Numbers:
    """Weights that a pass of so many tokens needs of main memory: of experts those that a token goes to."""
    total: Numbers = 0.0
    for gemm in work.gemms:
        used = gemm.per_tok / gemm.experts if gemm.experts else 1.0
        touched = 1 - np.exp(np.log1p(-min(used, 1 - 1e-9)) * tok)
        total = total + gemm.size_bytes * ram.of(gemm) * touched
    return total


def longest_s(time: StepTime, work: PassWork, *, rates: Rates, layout: Layout, passes: Numbers) -> Numbers:
    """What a round of so many passes takes more than one pass: all wait for the longest stage.

    Stages have equal layers, those before the last one more where some are left over; the last has the head.
    """
    stages, layers = np.asarray(layout.pp, dtype=float), np.asarray(work.layers, dtype=float)
    least, most = np.floor(layers / stages) / layers, np.ceil(layers / stages) / layers
    inner = time.total_s - time.head_s
    longest = np.maximum(inner * most, inner * least + time.head_s)
    values = np.asarray(rates.hop_s) > 0  # of such engines runs stated what stages gain, unequal as they were
    return np.where(values, 0.0, np.maximum(passes * longest - time.total_s, 0.0))


def _rank(content: Pass, layout: Layout) -> _Rank:
    ranks = ranks_of(layout)
    # a prompt is worked on by one rank; several prompts spread over the ranks
    spread = np.clip(content.prefill_seqs, 1, ranks)
    prefill = content.prefill_tok / spread
    decode = np.ceil(content.decode_seqs / ranks) if layout.attention_dp else content.decode_seqs
    drafted = decode * content.decode_each_tok
    return _Rank(
        prefill_tok=prefill,
        decode_seqs=decode,
        tok=prefill + drafted,
        logits=drafted + content.prefill_seqs / spread,
    )


def _gemm(part: Part, rates: Rates, *, layout: Layout, rank: _Rank, tok: Numbers) -> tuple[Numbers, Numbers]:
    peak = rates.flops_per_s if part.narrow else rates.plain_flops_per_s
    if part.kind == "expert":
        return _experts(part, rates, layout=layout, tok=tok, peak=peak)
    rows = rank.logits if part.kind == "head" else rank.tok
    compute = (2 * part.elems / peak) * (rows + rates.half_tok)
    share = rates.narrow_read if part.narrow else 1.0
    return compute, part.size_bytes / (rates.mem_bytes_per_s * share)


def _experts(
    part: Part, rates: Rates, *, layout: Layout, tok: Numbers, peak: Numbers
) -> tuple[Numbers, Numbers]:
    """Experts that no token goes to are not read; each that is read works on a tile at least.

    Ranks with experts of their own wait for the fullest: chance makes it fuller the fewer tokens there are.
    """
    used = part.per_tok / part.experts
    touched = 1 - np.exp(np.log1p(-min(used, 1 - 1e-9)) * rates.touched * tok)
    ranks = np.asarray(layout.ep, dtype=float)
    most = most_of(ranks)
    chance = most * np.sqrt(touched * (1 - touched) * ranks / part.experts)
    tokens = tok * used * (1 + most * np.sqrt(ranks / np.maximum(tok * part.per_tok, 1)))
    fuller = 1 + rates.imbalance * (1 - 1 / ranks)
    touched = np.minimum((touched + chance) * fuller, 1)
    rows = tokens * fuller + rates.expert_half_tok * touched
    slow = (1 + rates.narrow_width / part.width) / (peak * rates.expert_compute)
    compute = 2 * part.elems * slow * rows
    memory = part.size_bytes * touched / (rates.mem_bytes_per_s * rates.expert_memory)
    return compute, memory


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heard:
    """Time of the encoder in a pass: all windows of the prompts in it, together."""

    gemm: tuple[Numbers, Numbers]  # computing, reading
    attention_s: Numbers
    fixed_s: Numbers


def _heard(encoder: Encoder, work: PassWork, *, rates: Rates, layout: Layout, content: Pass) -> _Heard:
    some = np.minimum(content.prefill_seqs, 1)
    tok = content.prefill_seqs * content.heard_share * encoder.samples * encoder.tok
    share = 1 / np.asarray(layout.tp, dtype=float)
    peak = rates.flops_per_s if encoder.narrow else rates.plain_flops_per_s
    read = rates.mem_bytes_per_s * (rates.narrow_read if encoder.narrow else 1.0)
    pairs_s = sum(
        times * min(encoder.tok, mixer.window_tok or encoder.tok) * _pair_s(mixer, work, rates=rates)
        for mixer, times in encoder.mixers
    )
    layer_s = rates.layer_s + rates.eager_layer_s
    return _Heard(
        gemm=(
            2 * encoder.elems * share * (tok + some * rates.half_tok) / peak,
            some * encoder.size_bytes * share / read,
        ),
        attention_s=tok * share * pairs_s,
        fixed_s=encoder.layers * (some * layer_s + tok * encoder.hidden * rates.act_s),
    )


def _prefill_attention(
    work: PassWork, rates: Rates, *, layout: Layout, content: Pass, rank: _Rank
) -> Numbers:
    heads = 1.0 if layout.attention_dp else 1 / np.asarray(layout.tp, dtype=float)
    per_tok_s = sum(
        times
        * np.minimum(_keys(mixer, work, own_tok=content.prefill_seen_tok), _reach(mixer))
        * _pair_s(mixer, work, rates=rates)
        for mixer, times in work.mixers
    )
    return rank.prefill_tok * per_tok_s * heads


def _pair_s(mixer: Mixer, work: PassWork, *, rates: Rates) -> Numbers:
    """One token of a prompt against one key, all heads: computing, scores in memory, keys read once more."""
    flops = np.where(rates.absorbed > 0, _decode_flops(mixer), flops_per_pair(mixer))
    entry = entry_bytes(mixer, ALONE, element_bytes=work.kv_elem_bytes)
    return flops / rates.attention_flops_per_s + mixer.heads * rates.score_s + entry * rates.reread_s


def _keys(mixer: Mixer, work: PassWork, *, own_tok: Numbers) -> Numbers:
    """Keys that a token finds: of its own context, or of all that the encoder made."""
    return work.cross_tok if mixer.kind == Mix.CROSS and work.cross_tok else own_tok


def _reach(mixer: Mixer) -> float:
    """Keys a token sees at most; what keeps a state works in chunks."""
    if mixer.kind not in CACHED:
        return STATE_CHUNK_TOK
    return min(mixer.window_tok or np.inf, mixer.topk_tok or np.inf)


def _decode_attention(
    mixer: Mixer, work: PassWork, *, rates: Rates, layout: Layout, content: Pass, rank: _Rank
) -> tuple[Numbers, Numbers]:
    context = (
        np.minimum(_keys(mixer, work, own_tok=content.decode_context_tok), _reach(mixer)) / mixer.every_tok
    )
    entry = entry_bytes(mixer, layout, element_bytes=work.kv_elem_bytes)
    read = rank.decode_seqs * (context * entry + 2 * state_bytes(mixer, layout))
    heads = 1.0 if layout.attention_dp else 1 / np.asarray(layout.tp, dtype=float)
    flops = _decode_flops(mixer) * content.decode_each_tok * heads
    return rank.decode_seqs * context * flops / rates.token_attention_flops_per_s, read / rates.kv_bytes_per_s


def _decode_flops(mixer: Mixer) -> float:
    """Of one key: latents are not unfolded in decoding, each head works on the latent itself."""
    return 4 * mixer.heads * mixer.latent_dim if mixer.latent_dim else flops_per_pair(mixer)


def _links(work: PassWork, rates: Rates, *, layout: Layout, content: Pass, tok: Numbers) -> Numbers:
    size = tok * work.hidden * ACT_BYTES
    sums = work.moe_layers if layout.attention_dp else 2 * work.layers
    reduced = sums * (
        all_reduce_s(size, layout.tp, wire=rates.wire)
        + np.where(np.asarray(layout.tp) > 1, rates.sync_s, 0.0)
    )
    rows = content.decode_seqs + content.prefill_seqs
    values = 0.0 if layout.attention_dp else 1 - 1 / np.asarray(layout.tp, dtype=float)
    logits = rows * (work.vocab * ACT_BYTES) * values / rates.wire.bytes_per_s
    stages = np.asarray(layout.pp, dtype=float)
    outer = np.asarray(layout.tp) * stages > rates.wire.domain
    handed = np.where(rates.hop_s > 0, 0.0, send_s(size, wire=rates.wire, outer=outer))
    return reduced + logits + (stages - 1) * handed


def _hops(work: PassWork, rates: Rates, *, layout: Layout) -> Numbers:
    """What runs of single streams told of several cards: copies, and layers started one by one."""
    stages = np.asarray(layout.pp, dtype=float)
    split = np.where(np.asarray(layout.tp) * stages > 1, work.layers * rates.split_layer_s, 0.0)
    return split + (stages - 1) * rates.hop_s


def _fixed(work: PassWork, rates: Rates, *, content: Pass, rank: _Rank) -> Numbers:
    layers = (
        work.layers * rates.layer_s
        + work.moe_layers * rates.moe_layer_s
        + work.latent_layers * rates.latent_layer_s
        + work.narrowed * rates.narrowing_s
    )
    eager = np.minimum(content.prefill_tok, 1) * work.layers * rates.eager_layer_s
    return layers + eager + rates.step_s + (rank.decode_seqs + content.prefill_seqs) * rates.seq_s


def _host(work: PassWork, rates: Rates) -> Numbers:
    """What the host takes to tell the chip its work, while the chip is at it."""
    experts = max((gemm.experts for gemm in work.gemms), default=0) * work.moe_layers
    return work.layers * rates.host_layer_s + experts * rates.host_expert_s + rates.host_step_s

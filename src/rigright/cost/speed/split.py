"""Layers laid over unlike cards, and over the host's memory, as llama.cpp does: who works when.

A next token goes through every card in turn, then through what the host holds, which its processor works on
from its own memory. A prompt's work on the host's layers is done by a card that fetches their weights.
Nothing here was fitted on runs with layers on the host: it follows from what memory and slots carry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigright.arch.record import Mixer
from rigright.cost.memory_kv import entry_bytes
from rigright.cost.speed.reach import stored
from rigright.cost.speed.step import Pass
from rigright.cost.speed.stream import Stream, prompt_s, token_s
from rigright.cost.speed.work import Gemm, Work
from rigright.demand import Layout, Numbers
from rigright.facts.corrections import corrections

SUBJECT = "speed_streams"
ALONE = Layout()


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A card (its stream has one entry, or as many as there are choices) and the layers it holds."""

    stream: Stream
    layers: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The processor and memory beside the cards, with the layers they hold."""

    mem_bytes_per_s: float  # of all channels filled
    cores: float
    clock_hz: float
    slot_bytes_per_s: float  # one way, to the card that works on its layers' prompts
    layers: Numbers = 0  # whole
    expert_layers: Numbers = 0  # further layers of which it holds the experts alone


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitTime:
    """Seconds of a next token, and of a prompt."""

    token_s: Numbers
    prompt_s: Numbers


def split_times(
    work: Work,
    held: Sequence[Held],
    *,
    host: Host | None = None,
    prompt_tok: Numbers = 512,
    context_tok: Numbers = None,
    tables: Mapping[str, Any] | None = None,
) -> SplitTime:
    """One stream through the cards in the order they are given, then through the host."""
    context = prompt_tok if context_tok is None else context_tok
    content = Pass(prefill_tok=prompt_tok, prefill_seqs=1)
    token: Numbers = 0.0
    prompt: Numbers = 0.0
    for card in held:
        share = np.asarray(card.layers, dtype=float) / work.layers
        hop = _hop_s(card) if len(held) > 1 else 0.0
        token = token + hop + share * token_s(work, card.stream, layout=ALONE, seqs=1, context_tok=context)
        prompt = prompt + hop + share * prompt_s(work, card.stream, layout=ALONE, content=content)
    if host is None:
        return SplitTime(token_s=token, prompt_s=prompt)
    terms = (corrections(SUBJECT) if tables is None else tables)["host"]
    first = held[0].stream if held else None
    return SplitTime(
        token_s=token + _host_token_s(work, host, terms=terms, context_tok=context),
        prompt_s=prompt + _host_prompt_s(work, host, terms=terms, first=first, content=content),
    )


def _hop_s(card: Held) -> Numbers:
    """What a card costs beside others: a copy to it, and layers that are started one by one."""
    layers = np.asarray(card.layers, dtype=float)
    return np.where(layers > 0, card.stream.hop_s + layers * card.stream.split_layer_s, 0.0)


def _host_token_s(work: Work, host: Host, *, terms: Mapping[str, float], context_tok: Numbers) -> Numbers:
    """The processor unpacks what its memory streams: weights that a token touches, and caches."""
    rate = host.cores * host.clock_hz
    by_memory = host.mem_bytes_per_s * terms["memory"]
    per_byte_s = 1 / by_memory + terms["core"] / (rate * stored(work.weights).elem_bytes)
    cached = sum(
        times * (entry_bytes(mixer, ALONE, element_bytes=work.kv_elem_bytes) * _seen(mixer, context_tok))
        for mixer, times in work.mixers
    )
    whole = touched_bytes(work) * per_byte_s + cached / by_memory + work.layers * terms["layer_s"]
    experts = touched_bytes(work, kinds=("expert",)) * per_byte_s + work.moe_layers * terms["layer_s"]
    return host.layers / work.layers * whole + host.expert_layers / max(work.moe_layers, 1) * experts


def _host_prompt_s(
    work: Work, host: Host, *, terms: Mapping[str, float], first: Stream | None, content: Pass
) -> Numbers:
    """By the first card, which fetches the weights once a pass; by the processor where there is no card."""
    share = np.asarray(host.layers, dtype=float) / work.layers
    if first is None:
        flops = sum(2 * gemm.elems * _used(gemm) for gemm in work.gemms if gemm.kind != "head")
        rate = host.cores * host.clock_hz * terms["flops_per_clock"]
        return share * content.prefill_tok * flops / rate
    passes = np.ceil(content.prefill_tok / first.ubatch_tok)
    experts = host.expert_layers / max(work.moe_layers, 1) * _bytes(work, kinds=("expert",))
    fetched = share * _bytes(work, kinds=("attn", "ffn", "expert")) + experts
    carried = passes * fetched / (host.slot_bytes_per_s * terms["slot"])
    return carried + share * prompt_s(work, first, layout=ALONE, content=content)


def touched_bytes(work: Work, *, kinds: tuple[str, ...] = ("attn", "ffn", "expert", "head")) -> float:
    """Weights that one token reads: of experts, those it is sent to."""
    return sum(gemm.size_bytes * _used(gemm) for gemm in work.gemms if gemm.kind in kinds)


def _used(gemm: Gemm) -> float:
    return gemm.per_tok / gemm.experts if gemm.experts else 1.0


def _seen(mixer: Mixer, context_tok: Numbers) -> Numbers:
    return np.minimum(context_tok, np.inf if mixer.window_tok is None else mixer.window_tok)


def _bytes(work: Work, *, kinds: tuple[str, ...]) -> float:
    return sum(gemm.size_bytes for gemm in work.gemms if gemm.kind in kinds)

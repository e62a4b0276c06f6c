"""A model of which a part lies in main memory: what the cards do, what the processor does, in turn.

A next token goes through the layers one after another, so the two take turns and their times add up. For
a prompt an engine either computes where the weights lie, or sends them over the bus to the card, pass by pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rigright.base.record import dataclass
from rigright.cost.speed.rates import Rates, rates_of
from rigright.cost.speed.reach import stream_terms
from rigright.cost.speed.step import Pass, step
from rigright.cost.speed.work import Gemm, Work
from rigright.demand import Layout, Numbers
from rigright.facts.chips import Chip
from rigright.facts.corrections import corrections
from rigright.facts.engines import Engine
from rigright.facts.hosts import Host, host_chip
from rigright.facts.links import pcie_bytes_per_s

SUBJECT = "speed_hybrid"  # whose bands it has
STREAMS = "speed_streams"
FULL_LANES = 16

STREAM, COMPUTE = "stream", "compute"  # a prompt's weights in RAM: sent to the card, or worked on there


@dataclass(frozen=True, slots=True, kw_only=True)
class InRam:
    """Shares of a model that lie in main memory, 0 to 1."""

    experts: Numbers = 0.0  # routed ones
    ffn: Numbers = 0.0  # shared experts and dense layers
    attn: Numbers = 0.0
    head: Numbers = 0.0
    kv: Numbers = 0.0

    def of(self, gemm: Gemm) -> Numbers:
        """The share of one kind of weight."""
        return {"expert": self.experts, "ffn": self.ffn, "attn": self.attn, "head": self.head}[gemm.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bus:
    """What lies between cards and memory."""

    bytes_per_s: Numbers
    hop_s: Numbers  # there or back, at a layer that lies on both sides


def parted(work: Work, ram: InRam) -> tuple[Work, Work]:
    """The work of the cards and that of the processor."""
    return _part(work, ram, inside=False), _part(work, ram, inside=True)


def _part(work: Work, ram: InRam, *, inside: bool) -> Work:
    def share(value: Numbers) -> Numbers:
        return np.asarray(value) if inside else 1 - np.asarray(value)

    most = np.maximum(np.maximum(ram.experts, ram.ffn), ram.attn) if inside else 1 - np.asarray(ram.attn)
    gemms = tuple(
        replace(
            gemm,
            elems=gemm.elems * share(ram.of(gemm)),
            size_bytes=gemm.size_bytes * share(ram.of(gemm)),
            calls=gemm.calls * share(ram.of(gemm)),
        )
        for gemm in work.gemms
    )
    return replace(
        work,
        gemms=gemms,
        mixers=tuple((mixer, times * share(ram.kv)) for mixer, times in work.mixers),
        layers=work.layers * most,
        moe_layers=work.moe_layers * share(ram.experts),
        latent_layers=work.latent_layers * share(ram.kv),
    )


def crossings(work: Work, ram: InRam) -> Numbers:
    """Times that a pass goes from the cards to the processor or back: twice a layer that lies on both."""
    both = work.layers * (np.maximum(ram.experts, ram.ffn) - ram.attn)
    return 2 * np.maximum(both, 0.0) + np.where(np.asarray(ram.attn) > 0, 2.0, 0.0)


def token_s(
    work: Work, rates: Rates, host: Rates, *, ram: InRam, layout: Layout, content: Pass, bus: Bus
) -> tuple[Numbers, Numbers]:
    """Seconds of a pass for next tokens: on the cards with all that goes over the bus, and on the processor."""
    on_cards, in_ram = parted(work, ram)
    cards = step(on_cards, rates, layout=layout, content=content).total_s if np.any(np.asarray(ram.attn) < 1) else 0.0
    inside = step(in_ram, host, layout=Layout(), content=content).total_s
    return cards + crossings(work, ram) * bus.hop_s, inside


def prompt_pass_s(
    work: Work, rates: Rates, host: Rates, *, ram: InRam, layout: Layout, content: Pass, bus: Bus, way: str
) -> tuple[Numbers, Numbers]:
    """The same of a pass of a prompt; `way`: where weights in RAM are multiplied."""
    if way == COMPUTE:
        return token_s(work, rates, host, ram=ram, layout=layout, content=content, bus=bus)
    whole = step(work, rates, layout=layout, content=content).total_s
    return whole, sent_bytes(work, ram=ram, content=content) / bus.bytes_per_s


def sent_bytes(work: Work, *, ram: InRam, content: Pass) -> Numbers:
    """Weights that a pass sends over the bus: all in RAM, of experts those that a token goes to."""
    total: Numbers = 0.0
    for gemm in work.gemms:
        used = gemm.per_tok / gemm.experts if gemm.experts else 1.0
        touched = 1 - np.exp(np.log1p(-min(used, 1 - 1e-9)) * content.prefill_tok)
        total = total + gemm.size_bytes * ram.of(gemm) * touched
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Offloaded:
    """A model over cards and memory in an engine, ready to be timed."""

    work: Work
    cards: Rates | None  # None: the processor works alone
    host: Rates
    ram: InRam
    bus: Bus
    ubatch_tok: float
    ram_tok: float  # a prompt's pass of no more tokens is worked on where the weights lie
    by_expert: bool  # those that one expert gets

    def token_s(self, *, seqs: Numbers, context_tok: Numbers) -> float:
        """Seconds in which each of so many sequences makes its next token."""
        return sum(self.token_parts_s(seqs=seqs, context_tok=context_tok))

    def token_parts_s(self, *, seqs: Numbers, context_tok: Numbers) -> tuple[float, float]:
        """The same of the cards, and of the processor."""
        content = Pass(decode_seqs=seqs, decode_context_tok=context_tok)
        return self._pass_s(content, way=COMPUTE)

    def prompt_s(self, *, prompt_tok: float, seen_tok: float = 0.0) -> float:
        """Seconds for a prompt, pass after pass."""
        return sum(self.prompt_parts_s(prompt_tok=prompt_tok, seen_tok=seen_tok))

    def prompt_parts_s(self, *, prompt_tok: float, seen_tok: float = 0.0) -> tuple[float, float]:
        """The same of the cards, and of the processor or the bus."""
        passes = float(np.ceil(prompt_tok / self.ubatch_tok))
        tok = prompt_tok / passes
        content = Pass(prefill_tok=tok, prefill_seqs=1, prefill_seen_tok=seen_tok + prompt_tok / 2)
        cards, inside = self._pass_s(content, way=self.way(tok))
        return passes * cards, passes * inside

    def way(self, tok: float) -> str:
        """Where a pass of so many tokens meets weights in RAM."""
        each = [gemm.per_tok / gemm.experts for gemm in self.work.gemms if gemm.experts]
        met = tok * min(each, default=1.0) if self.by_expert else tok
        return COMPUTE if self.cards is None or met <= self.ram_tok else STREAM

    def _pass_s(self, content: Pass, *, way: str) -> tuple[float, float]:
        one = Layout()
        if self.cards is None:
            return 0.0, _one(step(self.work, self.host, layout=one, content=content).total_s)
        told = {"ram": self.ram, "layout": one, "content": content, "bus": self.bus}
        cards, inside = prompt_pass_s(self.work, self.cards, self.host, way=way, **told)
        return _one(cards), _one(inside)


def offloaded(
    work: Work,
    *,
    chips: Sequence[Chip],
    engine: Engine,
    weights: str,
    host: Host,
    ram: InRam,
    threads: int | None = None,
    ubatch_tok: float | None = None,
    prompts: str | None = None,
) -> Offloaded:
    """Cards and processor as an engine finds them; `prompts`: where a prompt is worked on, if somebody says."""
    tables = corrections(STREAMS)
    processor = host_chip(host, threads=threads)
    terms = stream_terms(tables, engine, chip=processor, weights=weights)
    rates = rates_of((processor,), engine, weights=weights)
    gen = min([host.cpu.pcie_gen, *(chip.pcie_gen or host.cpu.pcie_gen for chip in chips)])
    lanes = min([FULL_LANES, *(chip.pcie_lanes or FULL_LANES for chip in chips)])
    return Offloaded(
        work=work,
        cards=rates_of(chips, engine, weights=weights) if chips else None,
        host=rates,
        ram=ram,
        bus=Bus(bytes_per_s=pcie_bytes_per_s(gen, lanes) * terms["bus"], hop_s=float(np.max(rates.hop_s))),
        ubatch_tok=ubatch_tok or float(terms["ubatch_tok"]),
        ram_tok=np.inf if prompts == COMPUTE else engine.ram_tok or 0.0,
        by_expert=engine.ram_by == "expert",
    )


def _one(seconds: Numbers) -> float:
    """Of unlike cards the mean: each has its share of the layers."""
    return float(np.mean(np.asarray(seconds, dtype=float)))

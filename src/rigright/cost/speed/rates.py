"""Rates that chips reach in an engine: compute, memory, network, fixed costs, after corrections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rigright.base.record import dataclass, replace
from rigright.cost.links import Wire
from rigright.cost.speed.eras import table_of
from rigright.cost.speed.reach import ElementForm, reached, stream_terms
from rigright.demand import Numbers
from rigright.facts.chips import Chip
from rigright.facts.engines import Engine
from rigright.facts.fabrics import pcie_bytes_per_s

SUBJECT = "speed_serving"
USUAL_GEN, FULL_LANES = 4, 16  # of a slot, where nobody knows
Terms = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Each figure a number, or an array with one entry a chip."""

    flops_per_s: Numbers  # dense, in the format the engine computes in, as reached by large shapes
    plain_flops_per_s: Numbers  # the same for weights kept in 16 bit
    attention_flops_per_s: Numbers  # 16 bit
    mem_bytes_per_s: Numbers  # as reached when streaming weights
    kv_bytes_per_s: Numbers  # as reached when reading caches
    layer_s: Numbers  # fixed cost of a layer of a pass
    moe_layer_s: Numbers  # what a layer with experts adds
    latent_layer_s: Numbers  # what a layer with latent attention adds
    eager_layer_s: Numbers  # what a layer adds in a pass that holds a prompt: no graph covers it
    step_s: Numbers  # fixed cost of a pass
    seq_s: Numbers  # and of each sequence in it: scheduling, sampling
    half_tok: Numbers  # tokens of a pass at which a multiplication reaches half its rate
    expert_half_tok: Numbers  # the same, of the tokens one expert gets
    expert_compute: Numbers  # rate of multiplications by experts, over that of plain ones
    expert_memory: Numbers
    narrow_width: Numbers  # of one expert on a rank, at which its multiplications reach half their rate
    imbalance: Numbers  # how much more the fullest rank of expert parallelism has
    touched: Numbers  # share of the experts an even router would touch that are touched
    grown: Numbers  # share of its output a sequence is counted with when it is admitted
    request_s: Numbers  # from a request to its first pass, and from that to the user: words, wires, queues
    ahead: Numbers  # passes of others between a request and its first token, beside its own
    gathered: Numbers  # where ranks hold their own sequences, how far prompts of all come together: 0 to 1
    sync_s: Numbers  # what ranks wait for each other before each sum
    fill_seqs: Numbers  # sequences of an offline run, at which filling and draining halve what is at work
    wave: Numbers  # of a load that comes at once, share of the requests that meet it so
    wire: Wire
    token_attention_flops_per_s: Numbers = np.inf  # of next tokens, where computing holds them back
    narrow_read: Numbers = 1.0  # of the rate of reading, by narrow weights that every token goes through
    absorbed: Numbers = 0.0  # above 0: prompts too work on latents as they are, not unfolded
    score_s: Numbers = 0.0  # of a prompt, for a score of one head: written out and read again
    reread_s: Numbers = 0.0  # for a byte of the cache that a token of a prompt looks at
    narrowing_s: Numbers = 0.0  # of a multiplication, before which activations are made narrow
    act_s: Numbers = 0.0  # beside multiplications, for each number that a token carries through a layer
    unpack_s: Numbers = 0.0  # of each narrow weight, in a pass with a prompt: turned into 16 bit first
    host_layer_s: Numbers = 0.0  # the host's own time for a layer, beside which the chip works
    host_step_s: Numbers = 0.0
    host_expert_s: Numbers = 0.0
    split_layer_s: Numbers = 0.0  # what a layer costs more where several cards work
    hop_s: Numbers = 0.0  # from card to card, where runs stated it: sending and all
    piped: Numbers = 0.0  # share of a pipeline's gain that prompts of several passes get
    piped_elems: Numbers = np.inf  # weights to unpack at which they get half of it
    host: RamHost | None = None  # what works on weights in main memory; None: nothing lies there


@dataclass(frozen=True, slots=True, kw_only=True)
class RamHost:
    """The processor beside the cards, the bus between them, and when an engine sends weights over it."""

    rates: Rates
    bus_bytes_per_s: Numbers
    hop_s: Numbers  # from a card to the processor, or back
    most_tok: Numbers  # a pass of no more tokens of prompts is worked on where the weights lie; inf: always
    by_expert: bool  # those that one expert gets


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedTerms:
    """What is fitted and tabulated of chips under an engine, with weights of a format."""

    chips: tuple[Chip, ...]
    engine: Engine
    stored: ElementForm
    wire: Wire
    serving: Mapping[str, Any]  # terms of servers
    streams: Mapping[str, Any]  # terms of lone streams, and of engines that are no servers

    @property
    def of_streams(self) -> list[Terms]:
        """The terms of each chip as a stream; empty where the tables know nothing of the engine."""
        return [stream_terms(self.streams, self.engine, chip=chip, stored=self.stored) for chip in self.chips]


_FIXED = ("layer_s", "moe_layer_s", "latent_layer_s", "eager_layer_s", "step_s", "seq_s")
_PLAIN = (
    *_FIXED,
    *("half_tok", "expert_half_tok", "expert_compute", "expert_memory", "imbalance", "touched"),
    "narrow_width",
    *("grown", "request_s", "ahead", "gathered", "sync_s", "fill_seqs", "wave"),
)
_PACES = {  # terms of chips -> an engine's pace at them
    "layer_s": "engine_layer",
    "latent_layer_s": "engine_layer",
    "expert_memory": "engine_touch",
}


def rates_of(given: SpeedTerms, *, manner: str = "") -> Rates:
    """The rates of chips, in their order, for weights of a format; `manner`: how such runs are tuned."""
    chips, engine, tables, weights = given.chips, given.engine, given.serving, given.stored.weights
    if manner:
        return _tuned(rates_of(given), tables.get("manners", {}).get(manner, {}))
    own_terms = given.of_streams
    if all(own_terms):
        common = [chip.terms_in(tables["chips"]) for chip in chips]
        figures: list[dict[str, Any]] = [
            {name: term[name] for name in _PLAIN} | reached(chip, own, elem_bytes=given.stored.elem_bytes)
            for chip, term, own in zip(chips, common, own_terms, strict=True)
        ]
        columns: dict[str, Any] = {name: _column(figures, name) for name in figures[0]}
        return Rates(wire=given.wire, **columns)
    ages = [table_of(tables, engine, chip=chip) or engine.id for chip in chips]
    terms = [
        chip.terms_in(tables["chips"])
        | {name: value for age in (engine.id, era) for name, value in tables["engines"].get(age, {}).items()}
        for chip, era in zip(chips, ages, strict=True)
    ]
    plain = np.array([_plain_flops_per_s(chip) for chip in chips])
    narrow = np.array(
        [
            _narrow_flops_per_s(chip, weights, terms=term) * term["compute"]
            for chip, term in zip(chips, terms, strict=True)
        ]
    )
    bandwidth = np.array([chip.mem_bytes_per_s for chip in chips])
    return Rates(
        flops_per_s=narrow * _column(terms, "engine_compute"),
        plain_flops_per_s=plain * _column(terms, "compute") * _column(terms, "engine_compute"),
        attention_flops_per_s=plain * _column(terms, "attention"),
        token_attention_flops_per_s=plain * _column(terms, "attention"),
        mem_bytes_per_s=bandwidth * _column(terms, "memory") * _column(terms, "engine_memory"),
        narrowing_s=_column(terms, "narrowing_s") * _column(terms, "engine_layer"),
        narrow_read=_column(terms, "fp4_memory") if weights == "nvfp4" else 1.0,
        kv_bytes_per_s=bandwidth * _column(terms, "kv_memory"),
        wire=given.wire,
        expert_compute=_column(terms, "expert_compute")
        * _column(terms, _experts_in(weights))
        * _column(terms, "engine_expert"),
        **{name: _column(terms, name) * _paced(terms, name) for name in _PLAIN if name != "expert_compute"},
    )


_TUNED = {  # terms of a manner -> what they multiply
    "compute": ("flops_per_s", "plain_flops_per_s"),
    "experts": ("expert_compute",),
    "memory": ("mem_bytes_per_s", "kv_bytes_per_s"),
    "fixed": (*_FIXED, "sync_s", "narrowing_s"),
    "ahead": ("ahead",),
    "request": ("request_s",),
    "fill": ("fill_seqs",),
}


def _tuned(rates: Rates, terms: Mapping[str, float]) -> Rates:
    """The rates of those who tune an engine for one load."""
    names = {name: terms.get(term, 1.0) for term, several in _TUNED.items() for name in several}
    return replace(rates, **{name: getattr(rates, name) * factor for name, factor in names.items()})


def beside(rates: Rates, hosts: SpeedTerms, *, cards: Sequence[Chip]) -> Rates:
    """The rates of cards with a processor beside each."""
    engine, terms = hosts.engine, hosts.of_streams
    bus = [pcie_bytes_per_s(*_slot(card, host)) for card, host in zip(cards, hosts.chips, strict=True)]
    own = rates_of(hosts)
    nothing = np.zeros_like(np.asarray(rates.piped, dtype=float))
    return replace(
        rates,
        piped=nothing,  # one processor, one bus: no card goes on
        split_layer_s=nothing,  # a pass that turns to the processor starts its layers one by one as it is
        host=RamHost(
            rates=own,
            bus_bytes_per_s=np.array(bus) * _column(terms, "bus"),
            hop_s=own.hop_s,
            most_tok=engine.ram_tok or 0.0,
            by_expert=engine.ram_by == "expert",
        ),
    )


def _slot(card: Chip, host: Chip) -> tuple[int, int]:
    """Generation and lanes between a card and the processor."""
    gens = [chip.pcie_gen for chip in (card, host) if chip.pcie_gen]
    return min(gens, default=USUAL_GEN), min(card.pcie_lanes or FULL_LANES, FULL_LANES)


def _experts_in(weights: str) -> str:
    """The term of what experts reach in a format, over what they reach in 16 bit."""
    known = {"fp8": "expert_fp8", "fp8-block": "expert_block", "nvfp4": "expert_fp4", "mxfp4": "expert_mxfp4"}
    plain = weights in {"bf16", "fp16", "fp32"}
    return known.get(weights, "expert_plain" if plain else "expert_upcast")


def _paced(terms: Sequence[Terms], name: str) -> Numbers:
    """How an engine meets a term that is a chip's."""
    return _column(terms, _PACES[name]) if name in _PACES else 1.0


def _column(terms: Sequence[Terms], name: str) -> np.ndarray:
    return np.array([term[name] for term in terms], dtype=float)


def _plain_flops_per_s(chip: Chip) -> float:
    return chip.plain_flops_per_s or 2 * (chip.fp32_flops_per_s or np.nan)


def _narrow_flops_per_s(chip: Chip, weights: str, *, terms: Terms) -> float:
    """Dense rate for weights of a format. What the chip cannot multiply is turned into 16 bit on the way."""
    plain = _plain_flops_per_s(chip)
    if weights.startswith("fp8") and chip.fp8_flops_per_s:
        return chip.fp8_flops_per_s * terms["fp8"] * (terms["block"] if weights == "fp8-block" else 1.0)
    if weights in {"int8", "w8a8-int8"} and chip.int8_ops_per_s:
        return chip.int8_ops_per_s * terms["fp8"]
    if weights == "nvfp4" and chip.fp4_flops_per_s:
        return chip.fp4_flops_per_s * terms["fp4"]
    if weights == "mxfp4" and chip.fp4_flops_per_s and chip.vendor == "AMD":
        return chip.fp4_flops_per_s * terms["fp4"]  # weights and activations of 4 bit
    if weights == "mxfp4" and chip.fp4_flops_per_s and chip.fp8_flops_per_s:
        return chip.fp8_flops_per_s * terms["fp8"]  # weights of 4 bit meet activations of 8
    return plain if weights in {"bf16", "fp16", "fp32"} else plain * terms["upcast"]

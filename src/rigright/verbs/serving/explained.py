"""What `explain` found of a model that serves: memory by part and card, limits, remedies, reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from rigright.base.record import Inner, Pairs, dataclass, derived
from rigright.base.words import Sentence
from rigright.cost.estimate import Estimate
from rigright.demand import Layout, Numbers, PlanWish, Serving
from rigright.predict.timed import SampleSpeed, Speed
from rigright.search.record import Rejection, Safe, Supply

UNUSED = "unused"  # of a pool: more than was asked for
BESIDE_TENSORS = frozenset({"libraries", "graphs", "collectives", "context", "slack"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CardUse:
    """One card: what lies on it, part by part, and what is left."""

    index: int  # from 0
    chip: str  # as `rigright look-up chips` has it
    name: str  # of the chip
    layers: tuple[int, int] | None  # first and past-last layer, where cards hold different ones
    parts_bytes: Pairs[str, float]  # as PARTS has them, and what the engine sets aside unasked: `unused`
    pool_bytes: float  # what the engine sets aside for caches; what was asked is a part of it
    pool_low_bytes: Inner[float]
    pool_high_bytes: Inner[float]
    used_bytes: float  # what the driver shows
    used_low_bytes: float
    used_high_bytes: float
    free_bytes: float  # before anything is loaded
    total_bytes: float
    spare_bytes: float  # negative: so much is missing

    @derived
    def allocated_bytes(self) -> float:
        """Tensors of the framework, the pool included."""
        return sum(size for part, size in self.parts_bytes if part not in BESIDE_TENSORS)

    @property
    def need_bytes(self) -> float:
        """What was asked, and nothing set aside."""
        return sum(size for part, size in self.parts_bytes if part != UNUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RamUse:
    """What of the model lies in main memory, and how the engine is told so."""

    used_bytes: float  # of it
    total_bytes: float  # of the machine
    layers: int  # whole, with their caches
    experts: int  # layers of which only the routed experts do
    all_layers: int  # of the model
    moe_layers: int  # of them, with routed experts
    flags: str  # as the engine takes them
    words: Inner[Sentence]  # what lies there, and the flags
    token_s: float  # of a next token, on the processor
    cards_s: float  # and on the cards, with the way between them


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One change, what it saves on the fullest card, and what it costs."""

    change: Sentence  # what to do
    price: Sentence  # what it costs: quality, speed, length
    saves_bytes: float  # on the fullest card
    fits: bool  # whether it then fits
    peak_bytes: float  # on the fullest card, once it is done
    flag: str | None = None  # how to ask this again with the change
    asks: Inner[Mapping[str, Any]] = field(default_factory=dict)  # the same as fields of the wish


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Where one figure comes from."""

    part: str  # what is worked out: `weights`, `cache`, `tpot_s` ...
    formula: Sentence  # in words
    numbers: Sentence | str  # in it
    source: str  # of the law or the fact


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingReach:
    """How far it goes: exact inversions of the same law."""

    context_tok: int | None  # at the batch asked for; 0: not one token; None: nothing grows, no limit
    batch: int  # at the context asked for
    model_context_tok: int | None  # what the model itself allows
    pool_tok: int | None  # tokens the engine will log; None where it keeps none that tokens fill
    pool_low_tok: int | None
    pool_high_tok: int | None
    blocks: int | None  # of the pool
    block_tok: float | None  # tokens a block
    token_bytes: float  # of cache for each further token of a long sequence, on one rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """One model on one machine, serving."""

    model: str  # its id
    params: int  # of the model
    machine: str  # as it was understood
    engine: str  # that serves it
    engine_version: str
    backend: Inner[str]  # as its makers write it; "": the engine has one way only
    weights: str  # a name of `rigright look-up formats`
    serving: Serving  # with every default filled in
    layout: Layout  # how the work is cut over cards
    cards: tuple[CardUse, ...]  # what lies on each
    limits: ServingReach | None  # how far it goes; null where nothing is generated
    remedies: tuple[Remedy, ...] = ()  # where it does not fit: what helps
    why: tuple[Reason, ...] = ()  # with `--why`
    notes: tuple[Sentence, ...] = ()  # what was assumed, and what to know
    asked: Inner[str] = ""  # the command that asks this again
    wish: Inner[PlanWish] = PlanWish()  # the work and its limits, as they were understood
    held: Mapping[str, float] = field(default_factory=dict)  # by limit: share of requests that keep it
    certainty: Mapping[str, float] = field(default_factory=dict)  # by limit: chance that its figure keeps it
    safe: Safe | None = None  # the highest load whose limits hold in nine cases of ten, where none was told
    supply: Supply | None = None  # where the machine comes from, where its price or power was asked for
    figures: Mapping[str, Estimate] = field(default_factory=dict)  # what it then costs and draws, by name
    broken: tuple[Rejection, ...] = ()  # limits that are missed, the farthest first
    days: Estimate | None = None  # until all samples are done, where somebody said how many
    speed: Speed | None = None  # null where nothing is generated, or it does not fit
    samples: SampleSpeed | None = None  # where whole images or texts are worked on
    ram: RamUse | None = None  # where a part of the model lies in main memory

    @derived
    def kv(self) -> str:
        """Format of the cache."""
        return self.serving.kv

    @derived
    def context_tok(self) -> Numbers:
        """Tokens that a sequence holds at its end."""
        return self.serving.context_tok

    @derived
    def batch(self) -> Numbers:
        """Sequences held at once."""
        return self.serving.batch

    @derived
    def budget_tok(self) -> Numbers:
        """Tokens of one step."""
        return self.serving.budget_tok

    @derived
    def max_seqs(self) -> Numbers:
        """Sequences that the engine is prepared for."""
        return self.serving.max_seqs

    @derived
    def utilisation(self) -> Numbers:
        """Share of the card that the engine may take."""
        return self.serving.utilisation

    @derived
    def fits(self) -> bool:
        """Whether every card holds its part."""
        return all(card.spare_bytes >= 0 for card in self.cards)

    @property
    def fullest(self) -> CardUse:
        """The card with least to spare."""
        return min(self.cards, key=lambda card: card.spare_bytes)

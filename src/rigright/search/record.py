"""What a search finds: plans, why others were not taken, and a plan as a case of serving."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from rigright.arch.record import Arch
from rigright.base.record import Inner, dataclass, derived
from rigright.base.words import Sentence
from rigright.choice.case import Case, serving_case
from rigright.choice.drafts import NONE, Drafts
from rigright.choice.work import traffic_of as sent
from rigright.cost.estimate import Estimate, added
from rigright.cost.memory.serving import ServingMemory
from rigright.demand import Layout, PlanWish, Serving, Traffic, Training
from rigright.facts.chips import Chip
from rigright.facts.hosts import CPU, Host
from rigright.facts.nodes import Card, chip_card, find_node

LEAST_SPARE = 0.03  # of a card that no engine fills on purpose: below it, it is nearly full


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """Where the chips come from, and what they cost."""

    how: str  # "buy", "rent", "own"
    label: str  # "2x RTX 5090", "aws p5.48xlarge"
    n_units: int  # machines or instances
    usd: Estimate | None  # to buy, the cards alone
    host_usd: Estimate | None = None  # to buy, the machine around them: board, CPU, memory, storage, supply
    usd_per_h: Estimate | None  # to rent, or what bought cards and power come to
    as_of: str | None  # date of the price; None: no price is known
    stale: bool = False  # whether that date is long ago
    n_chips: int | None = None  # that are paid for; more than those that work where some stay idle
    used: bool = False  # cards that are made no more

    @property
    def price_band(self) -> tuple[float, float]:
        """Low and high of what it costs, over what is stated."""
        parts = [estimate for estimate in (self.usd, self.host_usd, self.usd_per_h) if estimate is not None]
        whole = added(parts)
        return (whole.low / whole.value, whole.high / whole.value) if whole.value else (1.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Safe:
    """A load whose limits hold in nine cases of ten, with what it gives."""

    concurrency: float  # requests in flight
    output_tok_per_s: float  # of all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One way to do the work, with what it gives and costs. Figures that do not apply are not there."""

    chip: Chip
    n_chips: int  # cards of the whole plan
    n_nodes: int  # machines that hold them
    layout: Layout  # how the work is cut: `dp` counts replicas
    work: Serving | Training  # how it is served or trained: every setting
    concurrency: float | None  # requests in flight at once over all replicas
    ranks: Inner[tuple[ServingMemory, ...]]  # unlike ranks, the fullest first; none for training
    rank_bytes: Estimate  # of the fullest rank, as the driver shows it
    room_bytes: float  # that a card leaves to a program
    figures: Mapping[str, Estimate]  # by aim: "ttft_s" "tpot_s" "output_tok_per_s" "requests_per_s" "power_w"
    # "usd" "usd_per_h" "usd_per_mtok" "headroom" "days" "usd_total" "train_tok_per_s" "mfu" "images_per_s"
    supply: Supply  # where the cards come from, and what they cost
    bound: str  # what limits it: "memory", "compute", "links", "fixed", "cache", "prompts"
    total_bytes: Inner[float] = 0.0  # of a card
    reasons: tuple[Sentence, ...] = ()  # why it is among the plans: best at what
    notes: tuple[Sentence, ...] = ()  # what to know of it
    prefill: Layout | None = None  # workers that take prompts alone; `layout` then makes next tokens alone
    prefill_memory: Inner[ServingMemory | None] = None  # of a rank of theirs
    drafts: Drafts = NONE
    held: Mapping[str, float] = field(default_factory=dict)  # by limit: share of requests that keep it
    certainty: Mapping[str, float] = field(default_factory=dict)  # by limit: chance that its figure keeps it
    safe: Safe | None = None  # the highest load whose limits hold in nine cases of ten, where none was told
    host: Inner[Host | None] = (
        None  # what stands around the cards, where a part of the model lies in its memory
    )
    in_ram: Sentence | None = None  # that part, and the flags that say so
    parts: Inner[Mapping[str, float]] = field(
        default_factory=dict
    )  # of a training: bytes of the fullest rank
    least_bytes: Estimate | None = None  # of a training, once the allocator gave back all it can
    machines_needed: int | None = None  # such machines that would carry the load, where these do not
    has_experts: Inner[bool] = False  # of the model, which a layout cuts in one of several ways

    @property
    def is_tight(self) -> bool:
        """Whether a training may take more than its cards have, as far as its band goes."""
        return self.least_bytes is not None and self.least_bytes.high > self.room_bytes

    @derived
    def memory(self) -> tuple[Mapping[str, float], ...]:
        """By part, on each unlike rank, the fullest first; of a training, on the fullest."""
        parts: list[Mapping[str, float]] = [rank.parts for rank in self.ranks] or (
            [self.parts] if self.parts else []
        )
        return tuple({name: round(size) for name, size in part.items()} for part in parts)


def is_named(wish: PlanWish) -> bool:
    """Whether somebody said which machine, or how many or which cards."""
    return any((wish.on, wish.owned, wish.chips, wish.most_chips))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Something cheaper or smaller that was looked at, and the limit that it breaks."""

    label: str  # "1x RTX 5090, awq4"
    reason: Sentence  # in words
    limit: str  # "memory", "ttft_s", "tpot_s", "output_tok_per_s", "usd", "power_w", "format", "licence", ...
    usd_per_h: float | None = None  # what it would cost
    nearest: float | None = None  # what it reaches, in the unit of the limit


SHORT, RAM, OTHERS, LOSSY = range(1, 5)  # levels: shorter context, main memory, other engines, fewer bits


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The front, best first, and what was left behind."""

    plans: tuple[Plan, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    looked_at: int = 0  # layouts scored
    chips: int = 0  # kinds of card
    nearest: Plan | None = None  # where nothing meets every limit: what comes closest
    broken: tuple[Rejection, ...] = ()  # the limits it breaks
    instead: Plan | None = None  # where nothing fits what was named: such cards in number, or another machine
    notes: tuple[Sentence, ...] = ()
    wish: PlanWish | None = None  # as it was understood: with what nobody said filled in
    level: int = 0  # how much is settled for that nobody asked for; 0: nothing


def traffic_of(plan: Plan, wish: PlanWish, *, arch: Arch) -> Traffic:
    """The load a plan was scored with."""
    return sent(wish, plan.concurrency, arch=arch, drafts=plan.drafts)


def case_of(arch: Arch, plan: Plan) -> Case:
    """A plan that serves, as a case of serving."""
    work = plan.work if isinstance(plan.work, Serving) else Serving()
    mixed = " + " in plan.chip.name
    cards: tuple[Card, ...]
    if plan.chip.vendor == CPU:
        cards = (chip_card(plan.chip),)
    else:
        cards = find_node(plan.chip.name).cards if mixed else find_node(plan.chip.id).cards[:1] * plan.n_chips
    return serving_case(arch, work, layout=plan.layout, cards=cards, drafts=plan.drafts, host=plan.host)

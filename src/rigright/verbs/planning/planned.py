"""What `plan` found: plans, what was left behind, and why."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rigright.base import telling
from rigright.base.errors import AskError, RigError
from rigright.base.record import Inner, dataclass, derived
from rigright.base.words import Sentence, say
from rigright.choice.ways import is_lossy
from rigright.cost.estimate import Estimate
from rigright.demand import SAMPLES, PlanWish, Serving
from rigright.facts.engines import find_engine
from rigright.search import sure
from rigright.search.named import plan_told, pool
from rigright.search.record import Plan, Rejection, SearchResult

if TYPE_CHECKING:
    from rigright.verbs.serving.explained import Reason

CUTS = ("tp", "pp", "dp", "ep", "cp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """Something to add to a machine, or to rent instead, and what it then does."""

    kind: str  # "memory", "cards", "rent"
    label: Sentence  # what it is, in words
    on: str | None  # the machine as --on takes it
    planned: Inner[Planned]  # what is answered of it
    usd: Estimate | None = None  # of what is added; None: no price is known
    usd_per_h: Estimate | None = None

    @derived
    def plan(self) -> Plan:
        """What it then does."""
        return self.planned.plans[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A model that the money runs, and how well, where none was named."""

    planned: Inner[Planned]
    usefulness: float  # the arena's score or its estimate, less what the format loses
    is_more: bool = False  # a better model, for more than the budget

    @derived
    def model(self) -> str:
        """Its id."""
        return self.planned.model

    @derived
    def plan(self) -> Plan:
        """The best machine for it within the money."""
        return self.planned.plans[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One model, one work, its limits, and the plans."""

    model: str  # its id
    params: int  # of the model
    active_params: int  # that work on a token
    licence: str | None  # of the model
    wish: PlanWish  # with what nobody said filled in
    result: Inner[SearchResult]
    today: str  # prices are stale or not against this
    why: tuple[Reason, ...] = ()  # of the first plan
    steps: tuple[Addition, ...] = ()  # where a machine that was named has no room, or is slow
    models: tuple[ModelChoice, ...] = ()  # where none was named: what else the money runs, best first
    notes: tuple[Sentence, ...] = ()  # what was assumed, and what to know
    seen_cards: Inner[int] = 0  # of the machine on, where it was looked at and not named
    typed: Inner[PlanWish] = PlanWish()  # the wish as it was typed
    elsewhere: Inner[Planned | None] = None  # the same of a machine that does, where none fits what was named
    asked: Inner[str] = ""  # the command that asks this again
    model_asked: str = ""  # the model as it was typed
    open_length: Inner[bool] = (
        False  # nobody said how long sequences are, and `explain` would assume the same
    )

    @derived
    def plans(self) -> tuple[Plan, ...]:
        """The front, best first."""
        return self.result.plans

    @derived
    def nearest(self) -> Plan | None:
        """Where nothing meets every limit: what comes closest."""
        return self.result.nearest

    @derived
    def instead(self) -> Plan | None:
        """Where what was named does not do: what does."""
        return self.result.instead

    @derived
    def broken(self) -> tuple[Rejection, ...]:
        """The limits it breaks."""
        return self.result.broken

    @derived
    def why_not(self) -> tuple[Rejection, ...]:
        """What was left behind, and why."""
        return self.result.rejections

    @derived
    def looked_at(self) -> int:
        """Layouts scored."""
        return self.result.looked_at

    @derived
    def chips(self) -> int:
        """Kinds of card."""
        return self.result.chips

    @derived
    def fits(self) -> bool:
        """Whether a plan keeps every limit."""
        return bool(self.result.plans)

    @property
    def doubts(self) -> tuple[Sentence, ...]:
        """What keeps the first plan from a plain tick."""
        return () if self.first is None else tuple(_doubts(self, self.first))

    @property
    def is_sound(self) -> bool:
        """Whether it is answered with a tick."""
        return self.fits and not self.doubts and not self.is_lossy

    @property
    def first(self) -> Plan | None:
        """The best plan, or what comes closest."""
        return self.result.plans[0] if self.result.plans else self.result.nearest

    @property
    def is_lossy(self) -> bool:
        """Whether the best plan has fewer than four bits, which nobody asked for."""
        asked = bool(self.typed.weights) or self.typed.quality is not None
        return self.first is not None and is_lossy(self.first.work, asked=asked)

    @property
    def shown(self) -> tuple[Plan, ...]:
        """The plans of the table."""
        nearest = self.result.nearest
        return self.result.plans or (() if nearest is None else (nearest,))


def _doubts(planned: Planned, first: Plan) -> Iterator[Sentence]:
    """Limits that may not hold, cards that idle, memory that is nearly full, an overload."""
    wish, figures = planned.wish, first.figures
    if planned.is_lossy and not planned.steps:
        yield sure.MORE_BITS
    yield from sure.unsure(first.certainty, safe=first.safe, limits=sure.time_limits(wish))
    yield from sure.idle_cards(first.supply, used=first.n_chips)
    if isinstance(first.work, Serving) and first.ranks:
        rank, pooled = first.ranks[0], find_engine(first.work.engine).pool == "share"
        samples = any(name in figures for name in SAMPLES)
        fills = first.in_ram is not None or (pooled and not samples and float(rank.unit_bytes) > 0)
        spare_bytes = float(rank.spare_bytes)
        yield from sure.little_spare(spare_bytes, total_bytes=first.total_bytes, fills=fills)
    if first.least_bytes is not None and first.is_tight:
        yield sure.tight(first.least_bytes.high)
    days = figures.get("days")
    open_end = wish.work in {"finetune", "pretrain"} and days is None
    if open_end and wish.on is None and first.supply.how == "buy":
        yield say(
            "no {option}: assumed {years} years of training, {share} of the time",
            option="--tokens" if "train_tok_per_s" in figures else "--samples",
            years=f"{wish.years:g}",
            share=f"{wish.duty:.0%}",
        )
    yield from sure.endless(days, by_days=wish.days)
    yield from sure.deciding((*planned.notes, *first.notes))
    if "ttft_s" in figures and not (wish.ttft_s or wish.tpot_s or wish.tok_per_s):
        slow = {name: figures[name].value for name in ("ttft_s", "tpot_s")}
        users = first.concurrency or 2
        yield from sure.strained(wish.work, users=users, prompt_tok=wish.prompt_tok, **slow)


as_data = telling.RecordPrinter(Planned, plan_told)  # what `--json` tells, but for the verdict of the page


def row_of(plan: Plan) -> dict[str, str]:
    """A plan as flat cells: what it is, then each figure with its low and high."""
    work = plan.work
    row: dict[str, object] = {
        "chip": plan.chip.id,
        "n_chips": plan.n_chips,
        "n_nodes": plan.n_nodes,
        "how": plan.supply.how,
        "supply": plan.supply.label,
        **{name: getattr(plan.layout, name) for name in CUTS},
        "prefill": "" if plan.prefill is None else pool(plan.prefill),
        "engine": work.engine if isinstance(work, Serving) else work.trainer,
        "weights": work.weights if isinstance(work, Serving) else work.method,
        "kv": work.kv if isinstance(work, Serving) else "",
        "concurrency": "" if plan.concurrency is None else f"{plan.concurrency:g}",
        "bound": plan.bound,
    }
    for name, estimate in plan.figures.items():
        row |= {
            name: f"{estimate.value:.6g}",
            f"{name}_low": f"{estimate.low:.6g}",
            f"{name}_high": f"{estimate.high:.6g}",
        }
    row |= {"price_as_of": plan.supply.as_of or "", "price_stale": "yes" if plan.supply.stale else "no"}
    return {name: str(value) for name, value in row.items()}


def no_machine(planned: Planned) -> RigError:
    """That no machine will do, why, and which one does.

    One that was named and has no room is a wrong question.
    """
    kind = AskError if any(rejection.limit == "memory" for rejection in planned.broken[:1]) else RigError
    sentence = say("no machine found for {model}", model=planned.model)
    for rejection in planned.broken[:1]:
        sentence = say("{label}: {reason}", label=rejection.label, reason=rejection.reason)
        if rejection.limit == "memory":
            sentence = say("does not fit: {label}: {reason}", label=rejection.label, reason=rejection.reason)
    machines = [step.on or "" for step in planned.steps if step.kind != "rent"]
    machines += [] if planned.elsewhere is None else [planned.elsewhere.wish.on or ""]
    if not machines:
        return kind(sentence)
    return kind(sentence, hint=say("use --on {machine}", machine=shlex.quote(machines[0])))

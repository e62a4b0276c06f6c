"""What `plan` found: plans, what was left behind, and why."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rigright.base import telling
from rigright.base.errors import AskError, RigError
from rigright.base.record import Inner, dataclass, derived
from rigright.base.words import Sentence, say
from rigright.choice.ways import is_lossy
from rigright.cost.estimate import Estimate
from rigright.demand import PlanWish, Serving
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

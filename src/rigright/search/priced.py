"""What the machine of one case costs and draws, as `plan` prices its options: for whoever names a machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass, replace
from rigright.base.words import Sentence
from rigright.choice.networks import READ, network_of
from rigright.cost.estimate import Estimate
from rigright.demand import Length, Numbers, PlanWish
from rigright.facts.nodes import Card, Node
from rigright.money.tariff import usd_per_mtok
from rigright.predict.timed import SampleSpeed
from rigright.predict.trained import StepUse
from rigright.search import images, training
from rigright.search.choose import cost_of
from rigright.search.figures import Limit, drawn_w, job_of, limits_on, power_w, usd_per_h
from rigright.search.market import Market
from rigright.search.plans import Candidates, money_of, notes_of, plan_of
from rigright.search.question import Kind, Question, kinds_of
from rigright.search.record import Supply
from rigright.search.supply import Options, needed_usd, options, supply_of, worked_h
from rigright.search.why import excess_of

MONEY = (
    "usd", "usd_per_h", "usd_per_mtok", "usd_per_audio_h", "usd_per_image", "usd_per_video", "usd_per_text",
    "usd_total",
)  # fmt: skip
Costs = Callable[..., dict[str, Numbers]]  # of each way to come by the cards, at one rate
Told = Callable[..., Mapping[str, Estimate]]  # figures of one of them, with their bands


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """What a machine costs and draws while it does the work, and where it comes from."""

    supply: Supply
    figures: Mapping[str, Estimate]  # of money, and "power_w"
    needed_usd: float  # what a budget has to cover
    chips: int  # that work
    notes: tuple[Sentence, ...] = ()  # what has to be told of the price

    @property
    def reached(self) -> dict[str, float]:
        """What limits of money and power are held against; unknown where no price is known."""
        fields = {name: self.figures[name].value for name in self.figures}
        known = {name: fields.get(name, np.nan) for name in ("usd_per_h", "usd_per_mtok", "power_w")}
        return known | {"usd_needed": self.needed_usd}


def priced_option(table: Candidates, place: int) -> Priced:
    """An option of a search."""
    plan = plan_of(table, place)
    kept = {name: estimate for name, estimate in plan.figures.items() if name in {*MONEY, "power_w"}}
    kind = table.question.kinds[int(table.scored.points.kind[int(table.options.index[place])])]
    return Priced(
        supply=plan.supply,
        figures=kept,
        needed_usd=float(table.figures["usd_needed"][place]),
        chips=plan.n_chips,
        notes=tuple(notes_of(plan.supply, kind, n_chips=plan.n_chips)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """The cards of a case on their machine, as a question of what they cost."""

    question: Question
    place: int  # of their kind
    n_chips: int
    replica: int  # cards that have to stand together
    ranks: int | None = None

    @property
    def kind(self) -> Kind:
        """Their kind."""
        return self.question.kinds[self.place]

    @property
    def scored(self) -> SimpleNamespace:
        """The one point there is."""
        points = SimpleNamespace(kind=np.array([self.place]), n_chips=np.array([self.n_chips]))
        return SimpleNamespace(points=points)

    def options(self) -> Options:
        """Every way to come by them."""
        values = {"kind": np.array([self.place]), "n_chips": np.array([self.n_chips])}
        ranks = None if self.ranks is None else np.array([self.ranks])
        return options(self.question, replica=np.array([self.replica]), ranks=ranks, **values)


def sought(arch: Arch, node: Node, *, wish: PlanWish, market: Market) -> Question:
    """A machine as a question of what it costs, nothing beside it."""
    owned = wish.owned is not None
    wish = replace(wish, on=None if owned else node.shown, owned=node.shown if owned else None)
    market = replace(market, there=node)
    kinds = tuple(kind for kind in kinds_of(wish, counts=(), market=market) if kind.named)
    return Question(arch=arch, wish=wish, market=market, kinds=kinds, ways=())


def place_of(question: Question, cards: Sequence[Card]) -> int:
    """The place of the kind that cards of its machine are of."""
    unlike = len({card.chip.id for card in cards}) > 1
    alike = (
        bool(kind.mix) == unlike and (unlike or kind.chip.id == cards[0].chip.id) for kind in question.kinds
    )
    return next((place for place, is_alike in enumerate(alike) if is_alike), 0)


def priced_samples(stand: Stand, samples: SampleSpeed) -> Priced:
    """Cards that work on whole samples, or learn from them, at such a rate."""
    arch, read = stand.question.arch, samples.unit == "texts"
    network = network_of(
        arch,
        picture=samples.picture if samples.made else None,
        length=None if samples.frames is None else Length(frames=samples.frames),
        steps=samples.steps,
        tok=samples.length_tok if read else None,
        waits=samples.waits,
    )

    def costs(options: Options, *, scored: Any) -> dict[str, Numbers]:
        rate = np.full(len(options.index), samples.rate.value)
        return images.costs_of(stand.question, scored, options=options, rate=rate, network=network)

    def told(figures: Mapping[str, float], *, power: Estimate, supply: Supply) -> Mapping[str, Estimate]:
        known = {**figures, "images_per_s": samples.rate.value}
        return images.image_estimates(known, rate=samples.rate, power=power, supply=supply, network=network)

    assert read == (network.does == READ)  # noqa: S101 - a sample is of one kind
    return _priced(stand, costs=costs, given=told)


def priced_training(stand: Stand, step: StepUse | None) -> Priced:
    """Cards that train on tokens."""
    rate = np.nan if step is None else step.tok_per_s / step.moved

    def costs(options: Options, *, scored: Any) -> dict[str, Numbers]:
        return training.costs_of(
            stand.question, scored, options=options, rate=np.full(len(options.index), rate)
        )

    def told(figures: Mapping[str, float], *, power: Estimate, supply: Supply) -> Mapping[str, Estimate]:
        return training.training_estimates(figures, step=step, power=power, supply=supply)

    return _priced(stand, costs=costs, given=told)


def priced_serving(stand: Stand, rate: Estimate) -> Priced:
    """Cards that write so many tokens a second, in a layout that no search looks at."""
    output = stand.question.wish.output_tok or 1

    def costs(options: Options, *, scored: Any) -> dict[str, Numbers]:
        question = stand.question
        power = power_w(question, scored, options=options)
        hour = usd_per_h(question, scored, options=options, power=power)
        return {
            "power_w": power, "usd": options.usd, "usd_per_h": hour,
            "usd_per_mtok": usd_per_mtok(hour, rate.value), "usd_needed": needed_usd(question.wish, options),
            "usd_total": hour * worked_h(question.wish),
            **job_of(question, scored, options=options, power=power, per_s=rate.value / output),
        }  # fmt: skip

    def told(figures: Mapping[str, float], *, power: Estimate, supply: Supply) -> Mapping[str, Estimate]:
        return {"power_w": power} | money_of(figures, speed={"output_tok_per_s": rate}, supply=supply)

    return _priced(stand, costs=costs, given=told)


def _priced(stand: Stand, *, costs: Costs, given: Told) -> Priced:
    """The way to come by the cards that keeps the limits and costs least; of those that miss, the nearest."""
    question, scored, options = stand.question, stand.scored, stand.options()
    figures = costs(options, scored=scored)
    limits: tuple[Limit, ...] = tuple(limits_on(question.wish, figures))
    beyond = excess_of(limits, len(options.index))
    cost = figures[cost_of(figures, load_given=question.wish.rate_per_s is not None)]
    price = np.where(np.isnan(cost), np.inf, cost)
    place = int(np.lexsort((price if (beyond <= 0).any() else figures["usd_per_h"], beyond))[0])
    supply = supply_of(
        question, stand.kind, how=int(options.how[place]), n_chips=stand.n_chips, replica=stand.replica,
        ranks=stand.ranks,
    )  # fmt: skip
    drawn = drawn_w(question, scored, options=options.take(np.array([place])))
    power = Estimate(value=float(drawn.value[0]), low=float(drawn.low[0]), high=float(drawn.high[0]))
    figure = {name: float(np.broadcast_to(column, len(beyond))[place]) for name, column in figures.items()}
    known = given(figure, power=power, supply=supply)
    return Priced(
        supply=supply,
        figures={name: estimate for name, estimate in known.items() if name in {*MONEY, "power_w"}},
        needed_usd=figure["usd_needed"],
        chips=stand.n_chips,
        notes=tuple(notes_of(supply, stand.kind, n_chips=stand.n_chips)),
    )

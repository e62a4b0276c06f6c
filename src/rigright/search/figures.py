"""Figures of layouts with their supply, and the limits they are held against: arrays, one entry an option."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rigright.arch import count
from rigright.base.record import dataclass, replace
from rigright.choice.ways import loss_of
from rigright.cost.estimate import SECONDS_PER_DAY, Estimate
from rigright.cost.power import AT_REST, Busy, Draw, draw_w, machine_w, rented_w
from rigright.demand import SAMPLES, Numbers, PlanWish
from rigright.money.tariff import power_usd_per_h, tariff_in, usd_per_mtok, write_off_usd_per_h
from rigright.predict.kept import TIMES, at_percentile, chance_of
from rigright.search.question import Kind, Question
from rigright.search.score import Scored
from rigright.search.supply import RENT, Options, needed_usd, worked_h
from rigright.terms.fitted import busy_in, power_terms
from rigright.terms.memory import weights_bytes

PHASES = {  # of the law of power, by work
    "serve": "serve", "batch": "serve", "chat": "decode", "finetune": "training", "pretrain": "training",
    "image": "image", "rag": "serve", "agent": "serve", "rerank": "serve", "speech": "serve",
}  # fmt: skip
HOURS_PER_DAY = 24
LEAST_RENT_H = 1.0  # that is paid for, however soon the work is done
LATER_SHARE = 0.85  # of a card, for the weights of a later model


RATES = frozenset({"output_tok_per_s", *SAMPLES})  # whose bands may cross a limit
DOUBTED = frozenset({*TIMES, "days", "latency_s"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One limit of the wish, with what each option reaches."""

    name: str
    reached: Numbers
    bound: float
    at_least: bool = False

    @property
    def excess(self) -> Numbers:
        """How far beyond the limit, as a logarithm of ratios: 0 or less keeps it; unknown is beyond."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(np.maximum(self.reached, 1e-30) / self.bound)
        value = -ratio if self.at_least else ratio
        return np.where(np.isnan(value), np.inf, value)


def figures_of(question: Question, scored: Scored, *, options: Options) -> dict[str, Numbers]:
    """Every figure of every option."""
    index, points, wish = options.index, scored.points, question.wish
    served = {name: column[index] for name, column in scored.served.items()}
    n_chips = points.n_chips[index]
    power = power_w(question, scored, options=options)
    per_h = usd_per_h(question, scored, options=options, power=power)
    loss = np.array([loss_of(question.arch, way.weights, kv=way.kv) for way in question.ways])
    audio_s = question.usual.audio_s
    heard = {} if audio_s is None else audio_of(served["requests_per_s"], audio_s, usd_per_h=per_h)
    return {
        **heard,
        "ttft_s": at_percentile(served, "ttft_s", percentile=wish.percentile),
        "tpot_s": at_percentile(served, "tpot_s", percentile=wish.percentile),
        "output_tok_per_s": served["output_tok_per_s"],
        "requests_per_s": served["requests_per_s"],
        "busy": served["busy"],
        "power_w": power,
        "usd": options.usd,
        "usd_per_h": per_h,
        "usd_per_mtok": usd_per_mtok(per_h, served["output_tok_per_s"]),
        "usd_total": per_h * worked_h(wish),
        "usd_needed": needed_usd(wish, options),
        "headroom": headroom(scored)[index],
        "later_params": later_params(question, scored)[index],
        "n_chips": n_chips.astype(float),
        "loss": loss[points.way[index]].astype(float),
        **job_of(question, scored, options=options, power=power, per_s=served["requests_per_s"]),
    }


def job_of(
    question: Question, scored: Any, *, options: Options, power: Numbers, per_s: Numbers
) -> dict[str, Numbers]:
    """The same of so many requests, where they end."""
    if question.wish.samples is None:
        return {}
    days = question.wish.samples / per_s / SECONDS_PER_DAY
    return ended(question, scored, options=options, power=power, days=days)


def audio_of(requests_per_s: Numbers, audio_s: float, *, usd_per_h: Numbers) -> dict[str, Numbers]:
    """Hours of audio written down in an hour, and what one of them costs."""
    hours = np.asarray(requests_per_s) * audio_s
    with np.errstate(divide="ignore", invalid="ignore"):
        return {"audio_h_per_h": hours, "usd_per_audio_h": usd_per_h / hours}


def power_w(question: Question, scored: Any, *, options: Options) -> Numbers:
    """What the machines of each option draw at the wall while they work."""
    return drawn_w(question, scored, options=options).value


def drawn_w(question: Question, scored: Any, *, options: Options) -> Draw:
    """The same with low and high: by what the very passes keep in use, else by what such work does."""
    points, kinds, index = scored.points, question.kinds, options.index
    power, kind = power_terms([item.chip for item in kinds]), points.kind[index]
    served = getattr(scored, "served", {})
    if "work_busy" in served:
        busy = Busy(compute=served["compute_busy"][index], work=served["work_busy"][index])
    else:
        busy = busy_in(PHASES.get(question.wish.work, "serve"))
    each, n_chips = draw_w(power, busy, at=kind), points.n_chips[index]
    cards: Any = {"count": n_chips, "idle": options.idle, "at": kind}
    bought, share = machine_w(power, each, boxes=options.boxes, **cards), rented_w(power, each, **cards)
    rented, waits = options.how == RENT, _beside_w(kinds)
    ends = {
        end: np.where(rented, getattr(share, end), getattr(bought, end) + more[kind])
        for end, more in waits.items()
    }
    return Draw(**ends)


def _beside_w(kinds: Sequence[Kind]) -> dict[str, np.ndarray]:
    """[kind]: what the other cards of its machine draw while they wait."""
    waits = {end: np.zeros(len(kinds)) for end in ("value", "low", "high")}
    for place, kind in enumerate(kinds):
        for chip, cards in Counter(card.chip for card in kind.beside).items():
            power = power_terms([chip])
            drawn = machine_w(power, draw_w(power, AT_REST), count=cards, boxes=0)
            for end, sums in waits.items():
                sums[place] += getattr(drawn, end)[0]
    return waits


def usd_per_h(question: Question, scored: Any, *, options: Options, power: Numbers) -> Numbers:
    """An hour of work: rent, or the share of the machine that an hour wears off, and its power."""
    kind = scored.points.kind[options.index]
    wish = question.wish
    segments = sorted({item.chip.segment for item in question.kinds})
    owned = np.zeros(len(options.index))
    for segment in segments:
        mine = np.array([item.chip.segment == segment for item in question.kinds])[kind]
        tariff = tariff_in(wish, segment)
        owned = np.where(
            mine, write_off_usd_per_h(options.usd, tariff) + power_usd_per_h(power, tariff), owned
        )
    return np.where(options.rent_usd_per_h > 0, options.rent_usd_per_h, owned)


def ended(
    question: Question, scored: Any, *, options: Options, power: Numbers, days: Numbers
) -> dict[str, Numbers]:
    """What work that ends comes to: the days of it, and the machine with its power or its rent."""
    free = replace(options, usd=np.zeros(len(options.index)))
    running = usd_per_h(question, scored, options=free, power=power)
    hours = np.maximum(days * HOURS_PER_DAY, np.where(options.how == RENT, LEAST_RENT_H, 0.0))
    whole = options.usd + running * hours
    return {"days": days, "usd_total": whole, "usd_needed": whole}


def headroom(scored: Scored) -> Numbers:
    """Share of the fullest card that is left while the load runs."""
    room, points = scored.room, scored.points
    ranks = np.where(points.attention_dp, points.tp, 1)
    value = room.fixed_bytes + np.ceil(scored.served["running"] / ranks) * room.seq_bytes
    return np.maximum(1 - value / room.room_bytes, 0.0)  # a full cache preempts


def left_over(scored: Scored) -> Numbers:
    """Share of the fullest card that is left where an engine sets each whole context aside."""
    room = scored.room
    each = room.need_bytes - room.fixed_bytes
    value = room.fixed_bytes + np.maximum(np.floor(room.slots), 1) * each
    return (room.able_bytes - value) / room.room_bytes


def later_params(question: Question, scored: Scored) -> Numbers:
    """Parameters of the largest model that all chips together have room for, in the same format."""
    params = count.params(question.arch)
    each = np.array([weights_bytes(question.arch, way.weights) / params for way in question.ways])
    points, room = scored.points, scored.room
    return points.n_chips * room.room_bytes * LATER_SHARE / each[points.way]


def usual_limits(question: Question, figures: dict[str, Numbers]) -> tuple[Limit, ...]:
    """What people want who name no limit: an answer that starts soon and is written as fast as it is read."""
    wanted = question.comfort_s.items()
    return tuple(Limit(name=name, reached=figures[name], bound=bound) for name, bound in wanted)


def certainties(limits: Sequence[Limit], *, figures: Mapping[str, Estimate]) -> dict[str, float]:
    """By limit of time or of speed: the chance that it is kept, by the band of its figure."""
    kept: dict[str, float] = {}
    for limit in limits:
        figure = figures.get(limit.name)
        if figure is None:
            kept |= {limit.name: 0.0} if limit.name in TIMES else {}
        elif limit.at_least:
            turned = Estimate(value=1 / figure.value, low=1 / figure.high, high=1 / figure.low)
            kept |= {limit.name: chance_of(turned, bound=1 / limit.bound)} if limit.name in RATES else {}
        elif limit.name in DOUBTED:
            kept[limit.name] = chance_of(figure, bound=limit.bound)
    return kept


def kept_by(wish: PlanWish, figures: Mapping[str, Estimate]) -> dict[str, float]:
    """The same of a wish's own limits."""
    values = {name: estimate.value for name, estimate in figures.items()}
    return certainties(tuple(limits_on(wish, values)), figures=figures)


def limits_of(question: Question, figures: dict[str, Numbers]) -> tuple[Limit, ...]:
    """Every limit of the wish."""
    return tuple(limits_on(question.wish, figures, later=question.later_params))


def limits_on(
    wish: PlanWish, figures: Mapping[str, Numbers], *, later: float | None = None
) -> Iterator[Limit]:
    """Every limit that a wish sets on what has these figures."""
    most = {
        "ttft_s": wish.ttft_s, "tpot_s": wish.tpot_s, "usd_per_h": wish.usd_per_h,
        "usd_per_mtok": wish.usd_per_mtok, "power_w": wish.power_w, "days": wish.days,
        "latency_s": wish.latency_s,
    }  # fmt: skip
    for name, bound in most.items():
        if bound is not None and name in figures:
            yield Limit(name=name, reached=figures[name], bound=bound)
    asked = None if wish.rate_per_s is None else wish.rate_per_s * wish.growth
    for name in SAMPLES:
        if asked is not None and name in figures:
            yield Limit(name=name, reached=figures[name], bound=asked, at_least=True)
    if wish.budget_usd is not None and "usd_needed" in figures:
        yield Limit(name="usd", reached=figures["usd_needed"], bound=wish.budget_usd)
    if wish.tok_per_s is not None and "output_tok_per_s" in figures:
        yield Limit(name="output_tok_per_s", reached=figures["output_tok_per_s"],
                    bound=wish.tok_per_s * wish.growth, at_least=True)  # fmt: skip
    if later is not None and "later_params" in figures:
        yield Limit(name="later_params", reached=figures["later_params"], bound=later, at_least=True)
    if asked is not None and "busy" in figures:
        yield Limit(name="requests_per_s", reached=asked / figures["busy"], bound=asked, at_least=True)

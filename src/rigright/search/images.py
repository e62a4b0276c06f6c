"""The search for machines that look at images, make them, read texts, or learn to look: cards and batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.words import Sentence, assuming, say
from rigright.choice.networks import PACKED, PAINT, READ, Network, network_of
from rigright.choice.training import looped
from rigright.cost.estimate import SECONDS_PER_DAY
from rigright.cost.layers import takes_samples
from rigright.demand import Numbers, PlanWish
from rigright.facts.training import find_trainer
from rigright.money.tariff import SECONDS_PER_H, usd_per_mtok
from rigright.search.choose import choose, field_of
from rigright.search.figures import Limit, ended, limits_of, power_w, usd_per_h
from rigright.search.images_estimates import RENAMED, plan_of
from rigright.search.images_score import score_samples, ways_of
from rigright.search.market import Market
from rigright.search.plans import Candidates
from rigright.search.question import COUNTS, Question, kinds_of
from rigright.search.record import SearchResult
from rigright.search.serving import licence_refused
from rigright.search.supply import HOWS, Options, needed_usd, options, worked_h
from rigright.search.why import broken, excess_of, nothing_fits, rejections

TRAINED = frozenset({"finetune", "pretrain"})


def find_images(arch: Arch, wish: PlanWish, *, market: Market) -> SearchResult:
    """The best few machines for a network of whole samples, and why nothing cheaper will do."""
    trains = wish.work in TRAINED
    wish = wish if trains else replace(wish, work="image")
    network = _network(arch, wish, trains=trains)
    counts = COUNTS if _wants_many(wish, trains=trains) else (1,)
    kinds = kinds_of(wish, counts=counts, market=market)
    question = Question(arch=arch, wish=wish, market=market, kinds=kinds, ways=())
    refused = licence_refused(question)
    if refused is not None:
        return SearchResult(plans=(), rejections=(), looked_at=0, chips=0, broken=(refused,))
    answer = _best_form(question, network, trains=trains)
    notes = tuple(_notes(network, wish, trains=trains))
    return replace(answer, chips=len(kinds), notes=notes)


def _best_form(question: Question, network: Network, *, trains: bool) -> SearchResult:
    """What the first format gives that keeps every limit; else what comes nearest, whatever its format."""
    nearest: tuple[float, SearchResult] | None = None
    for forms in _forms(network, question.wish, trains=trains):
        asked = replace(question.wish, weights=forms)
        ways = ways_of(network, asked, kinds=question.kinds, trains=trains)
        if not ways:
            raise AskError(say("no engine runs these weights on these GPUs; remove a format or engine"))
        table = tabled(replace(question, ways=ways), network)
        size, points = len(table.options.index), len(table.scored.points)
        answer = _result(table, network) if size else nothing_fits(table.question, table.scored.misfits)
        answer = replace(answer, looked_at=points)
        if answer.plans:
            return answer
        beyond = float(excess_of(_limits(table, network), size).min()) if size else np.inf
        if nearest is None or beyond < nearest[0] or np.isinf(nearest[0]):
            nearest = beyond, answer
    assert nearest is not None  # noqa: S101 - there is a format to try
    return nearest[1]


def _forms(network: Network, wish: PlanWish, *, trains: bool) -> Iterator[tuple[str, ...]]:
    """Formats to try, the next where the one before has no room: those asked for, else 16 bit and packed."""
    yield wish.weights or ("fp16",)
    if network.does == PAINT and not trains and not wish.weights:
        yield from ((form,) for form in PACKED)


def filled(arch: Arch, wish: PlanWish) -> PlanWish:
    """The wish with what nobody said filled in: what a sample is, its size or length, steps."""
    trains = wish.work in TRAINED
    network = _network(arch, wish, trains=trains)
    if network.does == READ:
        return replace(wish, work="embed", prompt_tok=network.tok)
    steps = network.steps if network.does == PAINT else None
    return replace(wish, work=wish.work if trains else "image", image_px=network.image_px, steps=steps)


def _network(arch: Arch, wish: PlanWish, *, trains: bool) -> Network:
    if not takes_samples(arch):
        raise AskError(say("no speed model for {model}: it takes neither images nor texts", model=arch.name))
    network = network_of(
        arch, image_px=wish.image_px, steps=wish.steps, tok=wish.prompt_tok or wish.context_tok
    )
    loop = looped(arch, wish.method or "full") if trains else ""
    if trains and wish.trainer is not None and find_trainer(wish.trainer).id != loop:
        raise AskError(
            say(
                "image networks train with {known} here, not with {trainer}", known=loop, trainer=wish.trainer
            )
        )
    if wish.steps is not None and trains:
        raise AskError(say("{model} has no denoising steps: remove --steps", model=arch.name))
    return network


def _wants_many(wish: PlanWish, *, trains: bool) -> bool:
    """Whether anything that was said asks for more than one card: each card works alone."""
    row = (
        wish.rate_per_s,
        wish.samples,
        wish.owned,
        wish.aim,
        wish.most_chips,
        wish.budget_usd,
        wish.power_w,
    )
    return trains or any(value is not None for value in row)


def _notes(network: Network, wish: PlanWish, *, trains: bool) -> Iterator[Sentence]:
    """What was assumed."""
    if network.does == PAINT and trains:
        yield say(
            "trains the denoiser on {px} x {px} images; latents and text embeddings are precomputed",
            px=network.image_px,
        )
    elif network.does == PAINT:
        yield say(
            "{px} x {px} images in {steps} steps; the text encoder's memory is counted, its time is not",
            px=network.image_px, steps=network.steps,
        )  # fmt: skip
    if network.does == READ and wish.prompt_tok is None:
        yield assuming(say("texts of {tok} tokens", tok=network.tok))
    if trains and wish.samples is None:
        yield say("no --samples: time and total cost are not shown")
    if not trains and wish.on is None and not _wants_many(wish, trains=trains):
        yield say("no --rate: sized for the fewest GPUs at the best batch size")


def tabled(question: Question, network: Network) -> Candidates:
    """Every number of cards and samples at once with every supply, and their figures."""
    scored = score_samples(question, network)
    points = scored.points
    replica = points.n_chips if question.ways[0].trains else np.ones(len(points), dtype=int)
    result = options(question, kind=points.kind, n_chips=points.n_chips, replica=replica)
    table = Candidates(question=question, scored=scored, options=result, figures={})
    return replace(table, figures=_figures(table, network))


def _figures(table: Candidates, network: Network) -> dict[str, Numbers]:
    question, scored, index = table.question, table.scored, table.options.index
    points = scored.points
    rate = points.rate[index]
    figures = {"images_per_s": rate, "headroom": (1 - points.need_bytes / points.able_bytes)[index]}
    if not question.ways[0].trains:
        figures["latency_s"] = points.batch_s[index]
    return figures | costs_of(question, scored, options=table.options, rate=rate, network=network)


def costs_of(
    question: Question, scored: Any, *, options: Options, rate: Numbers, network: Network
) -> dict[str, Numbers]:
    """What each option draws and costs at so many samples a second."""
    wish = question.wish
    power = power_w(question, scored, options=options)
    hour = usd_per_h(question, scored, options=options, power=power)
    figures = {
        "power_w": power, "usd": options.usd, "usd_per_h": hour,
        "n_chips": scored.points.n_chips[options.index].astype(float),
        "usd_per_image": hour / (rate * SECONDS_PER_H),
    }  # fmt: skip
    if network.does == READ:
        figures["usd_per_mtok"] = usd_per_mtok(hour, rate * network.tok)
    if wish.samples is None:
        return figures | {"usd_total": hour * worked_h(wish), "usd_needed": needed_usd(wish, options)}
    days = wish.samples * wish.epochs / rate / SECONDS_PER_DAY
    return figures | ended(question, scored, options=options, power=power, days=days)


def _limits(table: Candidates, network: Network) -> tuple[Limit, ...]:
    """The limits, named after what a sample is."""
    limits = limits_of(table.question, table.figures)
    renamed = RENAMED if network.does == READ else {}
    return tuple(replace(limit, name=renamed.get(limit.name, limit.name)) for limit in limits)


def _result(table: Candidates, network: Network) -> SearchResult:
    limits = _limits(table, network)
    beyond = excess_of(limits, len(table.options.index))
    keeps = np.flatnonzero(beyond <= 0)
    if not len(keeps):
        return _nearest(table, limits, beyond=beyond, network=network)
    figures = {name: column[keeps] for name, column in table.figures.items() if name != "usd_needed"}
    alike = table.scored.points.kind[table.options.index] * len(HOWS) + table.options.how
    wish = table.question.wish
    field = field_of(figures, alike=alike[keeps], load_given=wish.rate_per_s is not None)
    chosen = choose(field, wish)
    first = int(keeps[chosen[0].place])
    return SearchResult(
        plans=tuple(
            plan_of(table, int(keeps[choice.place]), network=network, best_at=choice.best_at)
            for choice in chosen
        ),
        rejections=rejections(table, limits, first=first, cost=field.main),
        looked_at=0,
        chips=0,
    )


def _nearest(
    table: Candidates, limits: Sequence[Limit], *, beyond: Numbers, network: Network
) -> SearchResult:
    place = int(np.lexsort((table.figures["usd_per_h"], beyond))[0])
    return SearchResult(
        plans=(), rejections=(), looked_at=0, chips=0,
        nearest=plan_of(table, place, network=network), broken=broken(table, limits, place=place),
    )  # fmt: skip

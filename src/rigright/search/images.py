"""The search for machines that work on whole samples: images to look at or to make, texts to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.units import show_bytes, show_seconds
from rigright.base.words import Sentence, assuming, say
from rigright.choice.networks import (
    PACKED,
    PAINT,
    READ,
    Network,
    moved_bytes,
    network_memory,
    network_of,
    waiting,
)
from rigright.choice.training import looped
from rigright.cost.estimate import SECONDS_PER_DAY, Estimate
from rigright.cost.layers import takes_samples
from rigright.cost.memory.serving import ServingMemory
from rigright.demand import Layout, Length, Numbers, PlanWish, Serving, Training
from rigright.facts.training import find_trainer
from rigright.money.tariff import SECONDS_PER_H, usd_per_mtok
from rigright.predict.samples import batch_time, learns_of, network_rates, network_speed
from rigright.predict.trained_memory import least, shown
from rigright.search.figures import Limit, ended, kept_by, limits_of, power_w, usd_per_h
from rigright.search.images_score import SampleWay, compiles, score_samples, training_of, ways_of
from rigright.search.market import Market
from rigright.search.plans import Candidates, notes_of, power_of, rank_bytes_of, reasons_of
from rigright.search.question import COUNTS, Kind, Question, kinds_of
from rigright.search.record import Plan, SearchResult, Supply
from rigright.search.serving import licence_refused
from rigright.search.supply import Options, needed_usd, nodes_of, options, supply_of, worked_h
from rigright.search.why import excess_of, front
from rigright.terms.memory import device_of

RENAMED: Mapping[str, Mapping[str, str]] = {  # where a sample is something else
    "texts": {"images_per_s": "texts_per_s", "usd_per_image": "usd_per_text"},
    "videos": {"images_per_s": "videos_per_s", "usd_per_image": "usd_per_video"},
}
BOUNDS = {"compute_s": "compute", "memory_s": "memory", "fixed_s": "fixed", "links_s": "links"}
BY_SPEED = frozenset({"latency_s", "days", "usd_per_image", "usd_per_mtok"})  # the less, the faster it is


def plan_of(table: Candidates, place: int, *, network: Network, best_at: Sequence[str] = ()) -> Plan:
    """One option as a plan."""
    question, points = table.question, table.scored.points
    point = int(table.options.index[place])
    kind, way = question.kinds[int(points.kind[point])], question.ways[int(points.way[point])]
    network = replace(network, waits=way.waits)
    n_chips, batch = int(points.n_chips[point]), int(points.batch[point])
    replica = n_chips if way.trains else 1
    supply = supply_of(question, kind, how=int(table.options.how[place]), n_chips=n_chips, replica=replica)
    memory: tuple[ServingMemory, ...] = (
        ()
        if way.trains
        else (network_memory(network, way.form, batch=batch, device=device_of(kind.card, way.engine)),)
    )
    # how long one picture alone takes, and what a compiled plan gives without its compiler
    if not way.compiled or way.trains or not compiles(kind):
        uncompiled: tuple[Sentence, ...] = ()
    else:
        rates = network_rates(network, [kind.chip], run=replace(way, compiled=False).run, form=way.form)
        plain_s = float(np.squeeze(batch_time(network, rates, batch=batch).total_s))
        uncompiled = (say("without torch.compile: a batch takes {time}", time=show_seconds(plain_s)),)
    layout, room = Layout(dp=n_chips), float(kind.card.room_bytes)
    work = _work(table, way, network=network, n_chips=n_chips, batch=batch)
    trained: dict[str, Any] = {}
    if isinstance(work, Training):
        rank, parts = shown(network.arch, work, layout=layout, room_bytes=room)
        needed = least(network.arch, work, layout=layout)
        trained = {"rank_bytes": rank, "parts": parts, "least_bytes": needed}
    plain: tuple[Sentence, ...] = (*_single(network, way, kind=kind), *uncompiled)
    figures = _estimates(table, place, kind=kind, supply=supply, network=network)
    return Plan(
        chip=kind.chip,
        n_chips=n_chips,
        n_nodes=nodes_of(kind, supply, n_chips=n_chips, replica=replica),
        layout=layout,
        work=work,
        concurrency=None if way.trains else float(batch * n_chips),
        ranks=memory,
        room_bytes=room,
        total_bytes=float(kind.card.total_bytes),
        figures=figures,
        certainty=kept_by(question.wish, figures),
        supply=supply,
        bound=BOUNDS[max(BOUNDS, key=lambda part: float(getattr(points, part)[point]))],
        reasons=reasons_of([_named(network, name) for name in best_at]),
        notes=(*notes_of(supply, kind, n_chips=n_chips), *plain),
        **trained or {"rank_bytes": rank_bytes_of(memory[0])},
    )


def _work(
    table: Candidates, way: SampleWay, *, network: Network, n_chips: int, batch: int
) -> Serving | Training:
    if way.trains:
        whole = table.question.wish.global_batch or batch * n_chips
        return training_of(way, micro_batch=batch, accumulate=-(-whole // (batch * n_chips)))
    return Serving(
        engine=way.engine.asked,
        weights=way.form,
        batch=table.question.wish.global_batch or batch * n_chips,
        compiled=way.compiled,
        context_tok=network.tok,
        parts_wait=way.waits,
    )


def _single(network: Network, way: SampleWay, *, kind: Kind) -> tuple[Sentence, ...]:
    if way.trains or network.does != PAINT:
        return ()
    rates = network_rates(network, [kind.chip], run=way.run, form=way.form)
    time_s = float(np.squeeze(batch_time(network, rates, batch=1).total_s))
    fields = {"time": show_seconds(time_s), "steps": network.steps}
    alone = say("a single image takes {time}, {steps} steps", **fields)
    if network.unit == "videos":
        alone = say("a single video takes {time}, {steps} steps", **fields)
    waits = say("parts of the model wait in main memory until their turn: {size} are moved for each batch",
                size=show_bytes(moved_bytes(network, way.form)))  # fmt: skip
    return (alone, waits) if way.waits else (alone,)


def _estimates(
    table: Candidates, place: int, *, kind: Kind, supply: Supply, network: Network
) -> Mapping[str, Estimate]:
    """Figures with the band of the speed, and of the prices."""
    figures = {name: float(column[place]) for name, column in table.figures.items()}
    way = table.question.ways[0]
    rate = network_speed(
        network,
        kind.chip,
        value=figures["images_per_s"],
        trains=way.trains,
        learns=learns_of(network.arch, training_of(way, micro_batch=1)),
    )
    return image_estimates(figures, rate=rate, power=power_of(table, place), supply=supply, network=network)


def image_estimates(
    figures: Mapping[str, float], *, rate: Estimate, power: Estimate, supply: Supply, network: Network
) -> Mapping[str, Estimate]:
    """The same of figures that are known: `rate` is their rate as it is stated."""
    own = rate.value / figures["images_per_s"]  # runs of the user's own
    slow, fast = rate.low / rate.value, rate.high / rate.value
    least, most = supply.price_band
    bought = supply.how == "buy"
    estimates = {"power_w": power, "images_per_s": rate}
    for name in (
        "latency_s",
        "days",
        "usd",
        "usd_per_h",
        "usd_per_image",
        "usd_per_mtok",
        "usd_total",
        "headroom",
    ):
        value = figures.get(name, np.nan)
        quick = name in BY_SPEED or (name == "usd_total" and "days" in figures and not bought)
        low = high = 1.0
        if quick:
            value, low, high = value / own, 1 / fast, 1 / slow
        if name.startswith("usd"):
            low, high = low * least, high * most
        if np.isfinite(value) and not (name == "usd" and not bought):
            estimates[name] = Estimate(
                value=value, low=value * low, high=value * high,
                mark="stated" if name.startswith("usd") else rate.mark,
                as_of=supply.as_of if name.startswith("usd") else None,
            )  # fmt: skip
    return {_named(network, name): estimate for name, estimate in estimates.items()}


def _named(network: Network, figure: str) -> str:
    """A figure, named after what a sample is."""
    return RENAMED.get(network.unit, {}).get(figure, figure)


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
        return SearchResult(broken=(refused,))
    answer = _best_form(question, network, trains=trains)
    notes = tuple(_notes(network, wish, trains=trains))
    return replace(answer, chips=len(kinds), notes=notes)


def _best_form(question: Question, network: Network, *, trains: bool) -> SearchResult:
    """What the first format gives that keeps every limit; else what comes nearest, whatever its format."""
    nearest: tuple[float, SearchResult] | None = None
    for forms in _forms(network, question.wish, trains=trains):
        asked = replace(question.wish, weights=forms)
        lying = (network,) if trains else waiting(network)
        ways = tuple(
            way for each in lying for way in ways_of(each, asked, kinds=question.kinds, trains=trains)
        )
        if not ways:
            raise AskError(say("no engine runs these weights on these GPUs; remove a format or engine"))
        table = tabled(replace(question, ways=ways), network)
        size, points = len(table.options.index), len(table.scored.points)
        limits, load_given = _limits(table, network), question.wish.rate_per_s is not None
        answer = front(table, limits, load_given=load_given, plan_at=partial(plan_of, network=network))
        answer = replace(answer, looked_at=points)
        if answer.plans:
            return answer
        beyond = float(excess_of(limits, size).min()) if size else np.inf
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
    drawn: dict[str, Any] = {"picture": network.size}
    if network.painter is not None:
        frames = network.painter.frames if network.painter.net.fps else None
        said = None if wish.length is None else wish.length.seconds
        drawn["length"] = None if frames is None else Length(frames=frames, seconds=said)
    steps = network.steps if network.does == PAINT else None
    return replace(wish, work=wish.work if trains else "image", steps=steps, **drawn)


def _network(arch: Arch, wish: PlanWish, *, trains: bool) -> Network:
    if not takes_samples(arch):
        raise AskError(say("no speed model for {model}: it takes neither images nor texts", model=arch.name))
    network = network_of(
        arch,
        picture=wish.picture,
        length=wish.length,
        steps=wish.steps,
        tok=wish.prompt_tok or wish.context_tok,
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
    drawn = network.painter
    if drawn is not None:
        size = {"wide": drawn.width_px, "high": drawn.height_px}
        if trains:
            yield say(
                "trains the denoiser on {wide} x {high} images; latents and text embeddings are precomputed",
                **size,
            )
        elif drawn.seconds is not None:
            yield say(
                "videos of {time}: {wide} x {high} pixels, {frames} frames, {steps} steps",
                time=show_seconds(drawn.seconds), frames=drawn.frames, steps=network.steps, **size,
            )  # fmt: skip
        else:
            yield say(
                "images of {wide} x {high} pixels, {steps} steps",
                steps=network.steps, **size,
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
    renamed = RENAMED.get(network.unit, {})
    return tuple(replace(limit, name=renamed.get(limit.name, limit.name)) for limit in limits)

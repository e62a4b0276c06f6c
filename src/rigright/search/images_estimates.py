"""Plans for whole samples out of options: memory, bands, supply, what limits them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rigright.base.units import show_bytes, show_seconds
from rigright.base.words import Sentence, say
from rigright.choice.networks import PAINT, Network, moved_bytes, network_memory
from rigright.cost.estimate import Estimate
from rigright.cost.memory.serving import ServingMemory
from rigright.demand import Layout, Serving, Training
from rigright.predict.samples import batch_time, learns_of, network_rates, network_speed
from rigright.predict.trained_memory import least, shown
from rigright.search.figures import kept_by
from rigright.search.images_score import SampleWay, compiles, training_of
from rigright.search.plans import Candidates, notes_of, power_of, rank_bytes_of, reasons_of
from rigright.search.question import Kind
from rigright.search.record import Plan, Supply
from rigright.search.supply import nodes_of, supply_of
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

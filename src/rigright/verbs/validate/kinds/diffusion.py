"""images_energy.csv and diffusion.csv: seconds, watts and joules of images and videos made of noise."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import ceil

import numpy as np

from rigright.arch.denoisers import GUESSED, Denoiser, denoiser
from rigright.arch.sources.find import is_known
from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError, RigError, maybe
from rigright.base.tables import Row
from rigright.base.words import Sentence, say, with_semicolons
from rigright.choice.case import stored_on
from rigright.choice.networks import ENGINE, TRIED, Network, moved_bytes, network_of
from rigright.cost.diffusion import SUBJECT, DiffusionRun
from rigright.cost.estimate import Estimate, over, spread
from rigright.cost.images import ImageRun
from rigright.cost.known import Ran
from rigright.cost.power import Busy, draw_w
from rigright.demand import Length, PlanWish, Size
from rigright.facts.chips import Chip
from rigright.facts.engines import find_engine
from rigright.facts.find import find_chip
from rigright.facts.nodes import find_node
from rigright.predict.painted import BatchTime, painted_rates, painted_time, painted_with_band
from rigright.predict.samples import MOVED_BYTES_PER_S, batch_time, network_rates, network_speed
from rigright.terms.fitted import power_band, power_terms
from rigright.verbs.validate.ask import unstated
from rigright.verbs.validate.record import Basis, Prediction, TableKind, each

LATENCY, RATE, WATTS, JOULES = "latency_s", "images_or_videos_per_s", "avg_power_w", "energy_j_per_item"
MEASURED = (LATENCY, RATE, WATTS, JOULES)
UNSAID = {"height": 2.0, "width": 1.5, "frames": 1.7, "steps": 2.5, "batch": 1.1}  # either way, at 80 %
_CUT = re.compile(r"(ulysses|ring|cfg|pipefusion|dp)\s*=?(\d{1,18})")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffusionAsk:
    """One row."""

    net: Denoiser
    network: Network | None  # of an open one whose kind no fitted run was of
    chip: Chip
    run: DiffusionRun  # of one group of cards
    copies: int  # groups, each with its part of the batch
    moved_s: float  # for each batch, where parts of it wait in main memory
    unsaid: tuple[str, ...]  # columns that decide the time, and were empty
    assumed: tuple[Sentence, ...]


def read_diffusion(row: Row) -> DiffusionAsk:
    """What a row asks; what it leaves open is as the network is usually run."""
    if not row.get("model"):
        raise AskError(say("the row has no model"))
    if not row.get("chip"):
        raise AskError(say("the row has no chip"))
    net = _denoiser(row["model"])
    usual = {
        "height": net.height,
        "width": net.width_px,
        "frames": net.frames,
        "steps": net.steps,
        "batch": 1,
    }
    # an image's row has no frames; a picture whose sides are told has as many as its network makes
    unsaid = tuple(name for name in usual if row.get(name) is None and (name != "frames" or net.frames > 1))
    fields = {name: float(row.get(name) or usual[name]) for name in usual if name != "batch"}
    cut = {name: int(count) for name, count in _CUT.findall((row.get("parallelism") or "").lower())}
    copies = min(cut.get("dp", 1), row.get("n_gpus") or 1)
    ranks, batch = (row.get("n_gpus") or 1) // copies, ceil((row.get("batch") or usual["batch"]) / copies)
    guided = min(cut.get("cfg", 1), net.passes, ranks)
    assumed = [unstated(name, f"{usual[name]:g}") for name in unsaid]
    if net.kind == GUESSED:
        assumed.append(say("compute of {model} estimated from its size", model=row["model"][:60]))
    return DiffusionAsk(
        net=net,
        chip=find_chip(row["chip"]),
        network=_open(row["model"], net, run=fields) if ranks == 1 else None,
        copies=copies,
        moved_s=_moved_s(row, fields) if ranks == 1 else 0.0,
        run=DiffusionRun(
            **fields,
            batch=float(batch),
            ranks=ranks,
            guided=guided,
            ring=min(cut.get("ring", 1), max(ranks // guided, 1)),
            compiled=bool(row.get("compiled")),
            cache=row.get("step_cache") or "",
        ),
        unsaid=unsaid,
        assumed=tuple(assumed),
    )


def _denoiser(model: str) -> Denoiser:
    """By a word of the name as it is written, else of the one that every verb takes it for."""
    net = denoiser(model)
    return denoiser(open_model(model).name) if net.kind == GUESSED and is_known(model) else net


def _open(model: str, net: Denoiser, *, run: Mapping[str, float]) -> Network | None:
    """An open network that makes images, of a kind whose time no run of its like was fitted to."""
    if net.kind in {*TRIED, GUESSED}:
        return None
    size = Size(width_px=int(run["width"]), height_px=int(run["height"]))
    return maybe(lambda: network_of(open_model(model), picture=size, steps=int(run["steps"])))


def _moved_s(row: Row, run: Mapping[str, float]) -> float:
    """Seconds that parts of a known network are moved, where a card has no room for all of them."""
    if not is_known(row["model"]):
        return 0.0
    size = Size(width_px=int(run["width"]), height_px=int(run["height"]))
    length, node = Length(frames=int(run["frames"])), find_node(row["chip"])
    try:
        arch = open_model(row["model"])
        network = network_of(arch, picture=size, length=length if run["frames"] > 1 else None)
        work = PlanWish(work="image", picture=size, length=length if run["frames"] > 1 else None)
        form, waits = stored_on(arch, find_engine(ENGINE), node=node, work=work)
    except RigError:
        return 0.0
    return moved_bytes(replace(network, waits=waits), form) / MOVED_BYTES_PER_S


def predict(row: Row) -> tuple[Prediction, ...]:
    """Seconds of the whole batch, samples a second, watts of all GPUs together, joules of a sample."""
    ask = read_diffusion(row)
    time, estimate = _timed(ask, model=row["model"], source=row.get("source") or "")
    if not np.isfinite(estimate.value):
        raise AskError(say("no peak rate known for {chip} in this precision", chip=ask.chip.name))
    value, total_s = estimate.value, float(np.squeeze(time.total_s))
    compute_s, memory_s = (float(np.squeeze(part)) for part in (time.compute_s, time.memory_s))
    busy = Busy(compute=compute_s / total_s, work=min((compute_s + memory_s) / total_s, 1.0))
    watts = float(draw_w(power_terms([ask.chip]), busy).value[0]) * ask.run.ranks * ask.copies
    seconds = np.log([estimate.low / value, estimate.high / value])
    seconds = np.sign(seconds) * np.sqrt(seconds**2 + sum(np.log(UNSAID[name]) ** 2 for name in ask.unsaid))
    power = np.log(power_band(ask.chip))
    items = float(ask.run.batch) * ask.copies
    figures = (
        (LATENCY, value, seconds),
        (RATE, items / value, -seconds[::-1]),
        (WATTS, watts, power),
        (JOULES, watts * value / items, seconds),  # errors cancel: what takes longer waits, and draws less
    )
    basis = Basis(subject=SUBJECT, figure="latency", chip=ask.chip.id, model=row["model"])
    return tuple(
        Prediction.of(
            name, spread(middle, (float(np.exp(low)), float(np.exp(high)))), why=with_semicolons(ask.assumed),
            basis=basis if name == LATENCY else None,
        )
        for name, middle, (low, high) in figures
        if np.isfinite(middle)
    )  # fmt: skip


def _timed(ask: DiffusionAsk, *, model: str, source: str) -> tuple[BatchTime, Estimate]:
    """The time of a batch and its parts, and the seconds with their band."""
    if ask.network is None:
        time = painted_time(ask.net, painted_rates([ask.chip]), run=ask.run).later(ask.moved_s)
        what = Ran(model=ask.net.word or model, source=source)
        return time, painted_with_band(float(np.squeeze(time.total_s)), net=ask.net, chip=ask.chip, what=what)
    run = ImageRun(compiled=ask.run.compiled)
    time = batch_time(ask.network, network_rates(ask.network, [ask.chip], run=run), batch=ask.run.batch)
    time = time.later(ask.moved_s)
    batch = float(ask.run.batch)
    rate = network_speed(ask.network, ask.chip, value=batch / float(np.squeeze(time.total_s)))
    return time, over(batch, rate)


KIND = TableKind(
    name="diffusion",
    marks=("parallelism", "steps", "height", "width"),
    metrics=lambda _raw: MEASURED,
    answers=partial(each, predict),
    measured=MEASURED,
)

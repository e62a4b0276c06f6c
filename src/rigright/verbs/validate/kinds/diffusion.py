"""images_energy.csv and diffusion.csv: seconds, watts and joules of images and videos made of noise."""

from __future__ import annotations

import numpy as np

from rigright.base.errors import AskError
from rigright.base.tables import Row
from rigright.base.words import say, with_semicolons
from rigright.cost.diffusion import SUBJECT
from rigright.cost.estimate import Estimate
from rigright.cost.images.rates import ImageRun
from rigright.cost.known import Ran
from rigright.cost.power import Busy, draw_w
from rigright.predict.images import BatchTime
from rigright.predict.painted import painted_rates, painted_time, painted_told
from rigright.predict.samples import batch_time, network_rates, network_speed
from rigright.terms.fitted import power_band, power_terms
from rigright.verbs.validate.diffusion_rows import DiffusionAsk, read_diffusion
from rigright.verbs.validate.record import Basis, Prediction, TableKind, each

LATENCY, RATE, WATTS, JOULES = "latency_s", "images_or_videos_per_s", "avg_power_w", "energy_j_per_item"
MEASURED = (LATENCY, RATE, WATTS, JOULES)
UNSAID = {"height": 2.0, "width": 1.5, "frames": 1.7, "steps": 2.5, "batch": 1.1}  # either way, at 80 %


def predict(row: Row) -> tuple[Prediction, ...]:
    """Seconds of the whole batch, samples a second, watts of all GPUs together, joules of a sample."""
    ask = read_diffusion(row)
    time, found = _timed(ask, model=row["model"], source=row.get("source") or "")
    if not np.isfinite(found.value):
        raise AskError(say("no peak rate known for {chip} in this precision", chip=ask.chip.name))
    value, total_s = found.value, float(np.squeeze(time.total_s))
    compute_s, memory_s = (float(np.squeeze(part)) for part in (time.compute_s, time.memory_s))
    busy = Busy(compute=compute_s / total_s, work=min((compute_s + memory_s) / total_s, 1.0))
    watts = float(draw_w(power_terms([ask.chip]), busy).value[0]) * ask.run.ranks * ask.copies
    seconds = np.log([found.low / value, found.high / value])
    seconds = np.sign(seconds) * np.sqrt(seconds**2 + sum(np.log(UNSAID[name]) ** 2 for name in ask.unsaid))
    power = np.log(power_band(ask.chip))
    items = float(ask.run.batch) * ask.copies
    figures = {
        LATENCY: (value, seconds),
        RATE: (items / value, -seconds[::-1]),
        WATTS: (watts, power),
        JOULES: (
            watts * value / items,
            seconds,
        ),  # errors of both cancel: what takes longer waits, and draws less
    }
    why = with_semicolons(ask.assumed)
    basis = Basis(subject=SUBJECT, figure="latency", chip=ask.chip.id, model=row["model"])
    return tuple(
        Prediction(
            metric=name, group=name, predicted=middle,
            low=float(middle * np.exp(edges[0])), high=float(middle * np.exp(edges[1])), why=why,
            basis=basis if name == LATENCY else None,
        )
        for name, (middle, edges) in figures.items()
        if np.isfinite(middle)
    )  # fmt: skip


def _timed(ask: DiffusionAsk, *, model: str, source: str) -> tuple[BatchTime, Estimate]:
    """The time of a batch and its parts, and the seconds with their band."""
    if ask.network is None:
        time = painted_time(ask.net, painted_rates([ask.chip]), run=ask.run)
        what = Ran(model=ask.net.word or model, source=source)
        return time, painted_told(float(np.squeeze(time.total_s)), net=ask.net, chip=ask.chip, what=what)
    run = ImageRun(compiled=ask.run.compiled)
    time = batch_time(ask.network, network_rates(ask.network, [ask.chip], run=run), batch=ask.run.batch)
    rate = float(ask.run.batch) / float(np.squeeze(time.total_s))
    one = network_speed(ask.network, ask.chip, value=rate)
    batch = float(ask.run.batch)
    return time, Estimate(value=batch / one.value, low=batch / one.high, high=batch / one.low, mark=one.mark)


KIND = TableKind(
    name="diffusion",
    marks=("parallelism", "steps", "height", "width"),
    metrics=lambda _raw: MEASURED,
    answers=each(predict),
    measured=MEASURED,
)

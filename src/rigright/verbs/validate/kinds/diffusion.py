"""images_energy.csv and diffusion.csv: seconds, watts and joules of images and videos made of noise."""

from __future__ import annotations

import numpy as np

from rigright.base.errors import AskError
from rigright.base.tables import CellReader, Row, number, text, yes
from rigright.base.words import say, with_semicolons
from rigright.cost.bands import banded
from rigright.cost.diffusion import SUBJECT, diffusion_rates, diffusion_time
from rigright.cost.known import Ran, known_of_one
from rigright.cost.power import band_of, draw_w
from rigright.verbs.validate.cells import MOST_RANKS, MOST_RATE, MOST_TOK, count, figure
from rigright.verbs.validate.diffusion_rows import read_diffusion
from rigright.verbs.validate.record import Basis, Prediction, TableKind

LATENCY, RATE, WATTS, JOULES = "latency_s", "images_or_videos_per_s", "avg_power_w", "energy_j_per_item"
MEASURED = (LATENCY, RATE, WATTS, JOULES)
UNSAID = {"height": 2.0, "width": 1.5, "frames": 1.7, "steps": 2.5, "batch": 1.1}  # either way, at 80 %
COLUMNS: dict[str, CellReader] = {
    **dict.fromkeys(
        ("id", "source", "model", "chip", "parallelism", "precision", "note", "step_cache"), text
    ),
    "compiled": yes,
    **dict.fromkeys(("height", "width", "steps", "batch"), count(MOST_TOK)),
    "frames": lambda cell: None if number(cell) == 0 else count(MOST_TOK)(cell),
    "n_gpus": lambda cell: None if number(cell) == 0 else count(MOST_RANKS)(cell),
    **dict.fromkeys(MEASURED, figure(MOST_RATE)),
}


def predict(row: Row) -> tuple[Prediction, ...]:
    """Seconds of the whole batch, samples a second, watts of all GPUs together, joules of a sample."""
    ask = read_diffusion(row)
    time = diffusion_time(ask.net, diffusion_rates([ask.chip]), run=ask.run)
    total_s = float(np.squeeze(time.total_s))
    if not np.isfinite(total_s):
        raise AskError(say("no peak rate known for {chip} in this precision", chip=ask.chip.name))
    what = Ran(kind=ask.net.kind, model=ask.net.word or row["model"], source=row.get("source") or "")
    known = known_of_one(SUBJECT, ask.chip, what=what)
    found = banded(SUBJECT, LATENCY, value=total_s, known=known)
    value, watts = float(found.value), float(draw_w([ask.chip], time.busy).value[0]) * ask.run.ranks
    seconds = np.log([found.low / value, found.high / value])
    seconds = np.sign(seconds) * np.sqrt(seconds**2 + sum(np.log(UNSAID[name]) ** 2 for name in ask.unsaid))
    power = np.log(band_of(ask.chip))
    items = ask.run.batch
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
            metric=name, group=name, measured=row.get(name), predicted=middle,
            low=float(middle * np.exp(edges[0])), high=float(middle * np.exp(edges[1])), why=why,
            basis=basis if name == LATENCY else None,
        )
        for name, (middle, edges) in figures.items()
        if np.isfinite(middle)
    )  # fmt: skip


KIND = TableKind(
    name="diffusion",
    columns=COLUMNS,
    marks=("parallelism", "steps", "height", "width"),
    metrics=lambda _raw: MEASURED,
    predict=predict,
    measured=MEASURED,
)

"""Time of images and videos made of noise: terms of runs and of classes of chips, from seconds of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lab.record import Dial, Subject, Tables
from rigright.base.tables import Row
from rigright.predict.painted import painted_rates, painted_time
from rigright.verbs.validate.kinds.diffusion import DiffusionAsk, read_diffusion

LATENCY = "latency_s"
SPREADS = {"run": 1.0, "draws": 1.0, "chips": 0.2}
PRIORS = {  # from physics and from single operators, before any run
    "traffic": 200.0, "compiled": 0.25, "layer_s": 8e-4, "rank_layer_s": 1e-3, "ring_layer_s": 2e-4,
    "copies": 30.0, "ring_copies": 30.0, "links": 1.2, "start_s": 0.1, "flat": 20.0, "deep": 40.0,
    "video": 150.0,
}  # fmt: skip
TIGHT = {"links": 0.2, "compiled": 0.5, "start_s": 0.5}
DOUBTED = "SUSPECT"  # in the note of a row whose source contradicts itself


def prepare(rows: Sequence[Row]) -> tuple[DiffusionAsk, ...]:
    """Rows read."""
    return tuple(read_diffusion(row) for row in rows)


def predict(asks: tuple[DiffusionAsk, ...], tables: Tables) -> np.ndarray:
    """Seconds of each."""
    rates = [painted_rates([ask.chip], tables=tables) for ask in asks]
    times = [
        painted_time(ask.net, rate, run=ask.run, tables=tables) for ask, rate in zip(asks, rates, strict=True)
    ]
    return np.concatenate([time.total_s for time in times])


def dials(rows: Sequence[Row], tables: Tables) -> tuple[Dial, ...]:
    """Terms of every run, and what classes and chips reach."""
    result = [
        Dial(path=(section, name), prior=PRIORS[name], spread=TIGHT.get(name, SPREADS[section]))
        for section in ("run", "draws")
        for name in tables[section]
    ]
    chips = [ask.chip for ask in prepare(rows)]
    for name in ("linear", "attention"):
        for key in {chip.kind.id for chip in chips} | {chip.id for chip in chips}:
            if name in tables["chips"].get(key, {}):
                touches = tuple(place for place, chip in enumerate(chips) if key in {chip.id, chip.kind.id})
                result.append(
                    Dial(
                        path=("chips", key, name), prior=tables["chips"][key][name],
                        spread=SPREADS["chips"], high=0.9, touches=touches,
                    )
                )  # fmt: skip
    return tuple(result)


def keys(row: Row) -> Mapping[str, str]:
    """What is left out whole, and what bands are stated by."""
    ask = read_diffusion(row)
    return {
        "source": row["source"] or "",
        "chip": ask.chip.id,
        "model": ask.net.word or row["model"],
        "metric": LATENCY,
        "part": f"{ask.net.word} {ask.chip.id}",
        "class": ask.chip.kind.id,
        "kind": ask.net.kind,
        "band": "latency",
    }


SUBJECT = Subject(
    name="speed_diffusion",
    kind="diffusion",
    teaches=lambda row: (
        bool(row.get(LATENCY)) and bool(row.get("height")) and DOUBTED not in (row.get("note") or "")
    ),
    measured=lambda row: float(row[LATENCY]),
    prepare=prepare,
    predict=predict,
    dials=dials,
    keys=keys,
)

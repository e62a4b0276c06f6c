"""`calibrate --from`: figures re-anchored to runs of the user's own, as far as so few runs are believed.

The law: errors of one chip in one engine share a part and scatter about it. The shared part has a prior as
wide as the band says; own runs narrow it (a normal prior with normal scatter, on logarithms).
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rigright.base.errors import DataError
from rigright.base.words import say
from rigright.cost.bands import band, figure_of
from rigright.cost.known import bands_of, known_of_one
from rigright.facts import anchors as store
from rigright.facts.anchors import Anchor
from rigright.facts.chips import by_id
from rigright.facts.corrections import corrections
from rigright.report.calibrated import Anchored, AnchorMade
from rigright.verbs.calibrate import toml
from rigright.verbs.calibrate.conformal import UNTOLD
from rigright.verbs.calibrate.frame import subjects
from rigright.verbs.calibrate.problem import log_ratio
from rigright.verbs.calibrate.record import Subject
from rigright.verbs.calibrate.runs import Runs, read_runs, taught

TAIL = 1.2816  # standard deviations from the middle to the edge of an 80 % band
WILD = 1.5  # logarithm: an own run further off than that is another thing than was predicted
HEAD = "# Runs of your own, measured over predicted, as far as believed; made by `rigright calibrate --from`."

Place = tuple[str, str, str, str]  # subject, chip, engine, figure


def anchor(asked: str, *, out: str | None = None) -> Anchored:
    """Read a file of own runs, hold them against predictions, and save what they shift."""
    read = read_runs(asked)
    found: dict[Place, list[float]] = {}
    faults = list(read.faults)
    for subject in (one for one in subjects() if one.kind == read.kind):
        faults += _collect(subject, read, found=found)
    if not found:
        raise DataError(_nothing(read, faults[0] if faults else None))
    made = [_made(place, np.array(ratios)) for place, ratios in sorted(found.items())]
    path = Path(out) if out is not None else store.place()
    save(path, made)
    return Anchored(
        file=read.file,
        runs=sum(one.runs for one in made),
        anchors=tuple(made),
        saved=str(path),
        faults=tuple(faults),
    )


def save(path: Path, made: Sequence[AnchorMade]) -> None:
    """Write the anchors beside those of other chips, engines and figures that stand there."""
    old = toml_anchors(path) if path.is_file() else []
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    new = [_anchor(one, as_of=today) for one in made]
    replaced = {_place(one) for one in new}
    kept = [one for one in old if _place(one) not in replaced]
    path.parent.mkdir(parents=True, exist_ok=True)
    toml.write(
        path,
        "\n".join(
            [HEAD, *("\n[[anchor]]\n" + toml.terms(asdict(one)) for one in sorted([*kept, *new], key=_place))]
        ),
    )


def toml_anchors(path: Path) -> list[Anchor]:
    """The anchors of a file."""
    with store.use(str(path)):
        return list(store.anchors())


def posterior(ratios: np.ndarray, *, spread: float, shared: float) -> tuple[float, float]:
    """Shift and remaining width: `spread` is the deviation of one run, `shared` the part all runs share."""
    between, within = shared * spread**2, (1 - shared) * spread**2
    weight = len(ratios) * between / (len(ratios) * between + within)
    left = between * within / (len(ratios) * between + within) + within
    return math.exp(weight * float(np.median(ratios))), math.sqrt(left) / spread


def _collect(subject: Subject, read: Runs, *, found: dict[Place, list[float]]) -> list[Any]:
    """Ratios of one subject's runs, put where they belong; what is odd is told."""
    rows, faults = taught(subject, read.rows)
    if not rows:
        return list(faults)
    measured = np.array([subject.measured(row) for row in rows])
    predicted = subject.predict(subject.prepare(rows), corrections(subject.name))
    told = list(faults)
    for row, ratio in zip(rows, -log_ratio(np.asarray(predicted, dtype=float), measured), strict=True):
        keys = subject.keys(row)
        if not math.isfinite(ratio):
            told.append(say("row {id}: it cannot be predicted", id=row.get("id") or "-"))
        elif abs(ratio) > WILD:
            told.append(
                say(
                    "row {id}: {times} times what is predicted; looked at, not believed",
                    id=row.get("id") or "-",
                    times=f"{math.exp(ratio):.2g}",
                )
            )
        else:
            figure = figure_of(keys.get("band") or keys["metric"]).partition(",")[0]
            found.setdefault((subject.name, keys["chip"], keys.get("engine", ""), figure), []).append(
                float(ratio)
            )
    return told


def _made(place: Place, ratios: np.ndarray) -> AnchorMade:
    subject, chip, engine, figure = place
    with store.use(store.NONE):
        low, high = map(
            float, band(subject, figure, known=known_of_one(subject, by_id()[chip], engine=engine))
        )
    spread = (math.log(high) - math.log(low)) / 2 / TAIL
    shared = bands_of(subject).get("shared", {}).get(figure, UNTOLD)
    shift, narrow = posterior(ratios, spread=spread, shared=shared)
    return AnchorMade(
        subject=subject, chip=chip, engine=engine, figure=figure, runs=len(ratios),
        measured_ratio=math.exp(float(np.median(ratios))), shift=shift, narrow=narrow,
        low_before=low, high_before=high, low=low**narrow, high=high**narrow,
    )  # fmt: skip


def _anchor(one: AnchorMade, *, as_of: str) -> Anchor:
    return Anchor(
        subject=one.subject, chip=one.chip, engine=one.engine, figure=one.figure,
        shift=float(f"{one.shift:.4g}"), narrow=float(f"{one.narrow:.4g}"), runs=one.runs, as_of=as_of,
    )  # fmt: skip


def _place(one: Anchor) -> Place:
    return one.subject, one.chip, one.engine, one.figure


def _nothing(read: Runs, first: Any) -> Any:
    if first is not None:
        return say(
            "{file} has no run that can be held against a prediction; {first}", file=read.file, first=first
        )
    return say(
        "{file}, a table of {kind}, has no measured speed: fill in the column of what was measured",
        file=read.file,
        kind=read.kind,
    )

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

import numpy as np

from rigright.base.errors import DataError
from rigright.base.words import Sentence, say
from rigright.cost.bands import band, shared_part
from rigright.cost.known import Ran, known_of_one
from rigright.facts import anchors as store
from rigright.facts.anchors import Anchor
from rigright.facts.chips import by_id
from rigright.report.calibrated import Anchored, AnchorMade
from rigright.report.validation import Judged, Prediction, Validation
from rigright.verbs.calibrate import toml
from rigright.verbs.runs.setup import NOTHING_SAID, Setup
from rigright.verbs.validate.frame import validate

TAIL = 1.2816  # standard deviations from the middle to the edge of an 80 % band
WILD = 1.5  # logarithm: an own run further off than that is another thing than was predicted
HEAD = "# Runs of your own, measured over predicted, as far as believed; made by `rigright calibrate --from`."

Place = tuple[str, str, str, str]  # subject, chip, engine, figure


def anchor(asked: str | Sequence[str], *, out: str | None = None, setup: Setup = NOTHING_SAID) -> Anchored:
    """Hold a file of own runs against predictions, and save what they shift."""
    read = validate(asked, setup=setup)
    found: dict[Place, list[float]] = {}
    faults: list[Sentence] = []
    for row in read.rows:
        faults += row.faults
        for one in row.predictions:
            faults += _collect(row, one, found=found)
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


def _collect(row: Judged, one: Prediction, *, found: dict[Place, list[float]]) -> list[Sentence]:
    """Put a run's ratio where it belongs; what is odd is told."""
    if one.measured is None:
        return []
    if not one.predicted:
        return [] if one.why is None else [say("row {id}: {why}", id=row.id, why=one.why)]
    if one.basis is None:
        return []
    ratio = one.measured / one.predicted
    if abs(math.log(ratio)) > WILD:
        return [
            say(
                "row {id}: {times} times what is predicted; looked at, not believed",
                id=row.id,
                times=f"{ratio:.2g}",
            )
        ]
    place = (one.basis.subject, one.basis.chip, one.basis.engine, one.basis.figure)
    found.setdefault(place, []).append(math.log(ratio))
    return []


def _made(place: Place, ratios: np.ndarray) -> AnchorMade:
    subject, chip, engine, figure = place
    with store.use(store.NONE):
        known = known_of_one(subject, by_id()[chip], what=Ran(engine=engine))
        low, high = (float(edge) for edge in band(subject, figure, known=known))
    shared = shared_part(subject, figure, known=known)
    spread = (math.log(high) - math.log(low)) / 2 / TAIL
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


def _nothing(read: Validation, first: Sentence | None) -> Sentence:
    if first is not None:
        return say(
            "{file} has no run that can be held against a prediction; {first}", file=read.file, first=first
        )
    return say(
        "{file}, a table of {kind}, has no measured speed: fill in the column of what was measured",
        file=read.file,
        kind=read.kind,
    )

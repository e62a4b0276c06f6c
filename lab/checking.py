"""Whether the committed corrections are what the runs give: a refit that starts from them gains nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lab.refit import Refit
from lab.refitting import refitted, subjects
from lab.writing import bands_kept

MOVED = 0.02  # logarithm: what a row's prediction may move in a fit that starts from the committed terms
SHARE = 0.02  # of the rows
STEADY = 400  # runs left out, in all ways
EDGE = 0.05  # what a term of a band may differ
SAMPLED = {  # tables whose terms are no plain fit to all runs -> why; their bands are held all the same
    "speed_serving": "fitted on a sample of runs, two classes of chips by replaying traces",
    "speed_hybrid": "terms of processors, set term by term beside those of cards in the same table",
}


def _many(done: Refit, figure: str) -> bool:
    """Whether so many runs were left out that a term of a band stands still when terms move a little."""
    return int((done.runs.figure == done.runs.figures.index(figure)).sum()) >= STEADY


def stale(names: Sequence[str] = ()) -> Iterator[str]:
    """A line for each table that a refit from the committed terms would change."""
    for subject in subjects(names):
        ((_, done, _),) = refitted([subject.name], still=subject.name in SAMPLED)
        moved = np.abs(done.fitted.after - done.fitted.before)
        share = float(np.mean(moved[np.isfinite(moved)] > MOVED))
        if share > SHARE:
            yield (
                f"{subject.name}: a refit moves {share:.0%} of its runs by more than {MOVED:.0%}: "
                f"run python -m lab refit {subject.name} --write"
            )
        wrong = [
            figure
            for figure, edges in done.bands.items()
            if figure in done.runs.figures and _many(done, figure)
            for kept in [bands_kept(subject.name).get(figure)]
            if kept is None or any(abs(edges[name] - kept[name]) > EDGE for name in edges)
        ]
        if wrong:
            yield f"{subject.name}: bands of {', '.join(wrong)} are not what the runs give"

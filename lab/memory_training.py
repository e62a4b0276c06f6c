"""Fits the few terms of training memory that physics does not give, and the 80 % bands, on measured runs.

    python -m lab.memory_training RUNS.csv... [--write]

Prints errors and coverage with each source left out; `--write` renews data/corrections/memory_training.toml.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from rigright.base.errors import RigError
from rigright.base.tables import DATA, Row, open_rows
from rigright.base.units import MIB, from_gib
from rigright.cost.unsaid import weighed
from rigright.demand import Numbers
from rigright.predict.trained import setup_of
from rigright.predict.trained_memory import COUNTED, KINDS, Terms, fullest_of
from rigright.predict.trained_unsaid import OpenFigure, tried
from rigright.verbs.runs.files import read_text
from rigright.verbs.validate.foreign import noted_cells
from rigright.verbs.validate.kinds.training import KIND, read_row

SMI = re.compile(r"nvidia-smi reserved MiB=([\d.]+)")
CARD_FULL = 0.93  # of the card: beyond it the allocator returns what it would have kept
CARD_BYTES = from_gib(80)
RESERVES = (1.0, 1.02, 1.04, 1.06, 1.08, 1.1, 1.12)
SCATTERED = (0.0, 0.05, 0.1, 0.15, 0.2)
CONTEXT_GIB, COLLECTIVES_GIB = 0.55, 1.5
AIMS = (0.8, 0.82, 0.84, 0.86, 0.88, 0.9, 0.92, 0.94, 0.96)  # quantiles of what a source needs
SURE = 0.3  # logarithm: runs whose unsaid inputs move more teach no term
LEAST = 0.05  # logarithm: releases of one framework differ by as much on the same run
WANTED = 0.85  # share of runs of an unseen source that a band shall hold
OTHER = 0.5  # weight of a source of another kind of peak
HEAD = """\
# Terms of training memory that physics does not give, written by lab/memory_training.py on
# {rows} figures of {sources} sources. reserve: what the allocator holds over what the phases need.
# scattered: more of it under FSDP with one flat tensor a layer. context_gib, collectives_gib: CUDA context
# and NCCL buffers, seen by nvidia-smi and not by PyTorch (0.5 to 0.9 GiB, and about 1.5). bands, by kind of
# peak: {coverage} of the runs of a source left out of the fit lie between these multiples of the estimate,
# once what a row leaves unsaid is added; "assumed" where it left any input open, "rounded" for figures
# written by hand.
"""


@dataclass(frozen=True, slots=True)
class MemoryRun:
    """One measured figure beside what physics alone says of it."""

    source: str
    kind: str
    assumed: bool  # the row left an input open
    measured: float
    allocated: float
    base: float  # what the allocator holds before any correction
    scattered: bool
    ranks: int
    below: float = 0.0  # logarithms of what unsaid inputs add to the band
    above: float = 0.0

    def ratio(self, terms: Terms) -> float:
        """Measured over predicted."""
        if self.kind == "allocated":
            return self.measured / self.allocated
        reserved = max(self.base * (terms["reserve"] + terms["scattered"] * self.scattered), self.allocated)
        context = terms["context_gib"] + terms["collectives_gib"] * (self.ranks > 1)
        return self.measured / (reserved + (0 if self.kind == "reserved" else from_gib(context)))


PHYSICS = {"reserve": 1.0, "scattered": 0.0, "context_gib": 0.0, "collectives_gib": 0.0}


def runs_of(paths: Iterable[str]) -> list[MemoryRun]:
    """Every row with a measured peak, and what nvidia-smi showed where the note tells it."""
    runs = []
    for path in paths:
        text = read_text(path)
        for _, raw in open_rows(text.lines, text.name):
            row, _ = noted_cells(KIND.name, raw)
            if row["peak_gib"] is not None:
                runs += _figures(raw, row)
    return runs


def _figures(raw: Mapping[str, str], row: Row) -> list[MemoryRun]:
    try:
        asked = read_row(row)
    except RigError as error:
        print(f"{row['id']}: {error}")
        return []

    # what was not said, at its middle and over its prior
    (trial,), _ = tried([OpenFigure(open=asked.peaking, figure=row["peak_kind"] or "allocated")])
    sizes = fullest_of(trial.cases, terms=PHYSICS)
    integral = weighed(sizes.allocated_bytes, trial.priors, band=(1.0, 1.0))
    moved = integral.value / float(sizes.allocated_bytes[0])
    case = asked.peaking.case
    setup, layout = setup_of(case.arch, case.training), case.layout
    run = MemoryRun(
        source=raw["source"].partition(":")[0],
        kind=row["peak_kind"],
        assumed=bool(asked.taken.assumed) or integral.decides is not None,
        measured=from_gib(row["peak_gib"]),
        allocated=integral.value,
        base=float(sizes.reserved_bytes[0]) * moved,
        scattered=setup.gathered and setup.trainer.scattered,
        ranks=layout.tp * layout.pp * layout.dp * layout.cp,
        below=math.log(integral.value / integral.low),
        above=math.log(integral.high / integral.value),
    )
    shown = SMI.search(raw["note"])
    if shown is None or float(shown.group(1)) * MIB > CARD_FULL * CARD_BYTES:
        return [run]
    return [run, replace(run, kind="device", measured=float(shown.group(1)) * MIB)]


def macro(errors: dict[str, list[float]]) -> float:
    """Mean over sources of the median absolute error."""
    return float(np.mean([np.median(np.abs(members)) for members in errors.values()]))


def fit_terms(runs: list[MemoryRun]) -> dict[str, float]:
    """The pair of terms with the least macro error on reserved and device figures."""
    known = [run for run in runs if run.kind in {"reserved", "device"} and run.below + run.above < SURE]
    return min(_candidates(), key=lambda terms: macro(_errors(known, terms)))


def _candidates() -> list[dict[str, float]]:
    return [
        {
            "reserve": reserve,
            "scattered": more,
            "context_gib": CONTEXT_GIB,
            "collectives_gib": COLLECTIVES_GIB,
        }
        for reserve, more in product(RESERVES, SCATTERED)
    ]


def _errors(runs: list[MemoryRun], terms: Terms) -> dict[str, list[float]]:
    errors: dict[str, list[float]] = {}
    for run in runs:
        errors.setdefault(run.source, []).append(1 / run.ratio(terms) - 1)
    return errors


def needed(run: MemoryRun, terms: Terms) -> float:
    """Half the width of the band (a logarithm) that holds a run beside what was unsaid."""
    off = math.log(run.ratio(terms))
    return math.sqrt(max(off**2 - (run.above if off > 0 else run.below) ** 2, 0.0))


def width(runs: Sequence[MemoryRun], kind: str, *, terms: Terms, aim: float) -> float:
    """What holds so many runs, each source alike; those of other kinds of peak count less."""
    if not runs:
        return 2 * LEAST
    groups: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        groups.setdefault((run.source, run.kind), []).append(needed(run, terms))
    weights = np.concatenate(
        [
            np.full(len(members), (1.0 if of_kind == kind else OTHER) / len(members))
            for (_, of_kind), members in groups.items()
        ]
    )
    values = np.concatenate([np.asarray(members) for members in groups.values()])
    order = np.argsort(values)
    share = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
    return max(float(np.interp(aim, share, values[order])), LEAST)


def bands(runs: Sequence[MemoryRun], terms: Terms, aim: float) -> dict[str, tuple[float, float]]:
    """A band for each kind of peak, where all was said and where it was not; one for hand-written figures."""
    edges = {}
    for kind in KINDS:
        counted = [run for run in runs if (run.kind in COUNTED) == (kind in COUNTED)]
        if kind not in COUNTED:
            edges[kind] = width(counted, kind, terms=terms, aim=aim)
            continue
        for assumed in (False, True):
            mine = [run for run in counted if run.assumed == assumed]
            edges[f"{kind}_assumed" if assumed else kind] = width(mine, kind, terms=terms, aim=aim)
        edges[f"{kind}_assumed"] = max(edges[kind], edges[f"{kind}_assumed"])
    return {name: (math.exp(-half), math.exp(half)) for name, half in edges.items()}


def band_name(run: MemoryRun) -> str:
    """Which of the bands speaks of a run."""
    return f"{run.kind}_assumed" if run.assumed and run.kind in COUNTED else run.kind


def is_inside(run: MemoryRun, terms: Terms, edges: Mapping[str, tuple[float, float]]) -> bool:
    """Whether the band, with what was unsaid, holds a run."""
    return needed(run, terms) <= math.log(edges[band_name(run)][1]) + 1e-9


@dataclass(frozen=True, slots=True)
class Left:
    """Runs of one source and kind, judged by terms and bands that never saw the source."""

    source: str
    kind: str
    errors: Numbers
    inside: float


def left_out(runs: list[MemoryRun], aim: float) -> list[Left]:
    """Each source in turn predicted from the others."""
    rests = []
    for source in sorted({run.source for run in runs}):
        others = [run for run in runs if run.source != source]
        terms = fit_terms(others)
        edges = bands(others, terms, aim)
        for kind in sorted({run.kind for run in runs if run.source == source}):
            mine = [run for run in runs if run.source == source and run.kind == kind]
            ratios = np.array([run.ratio(terms) for run in mine])
            inside = float(np.mean([is_inside(run, terms, edges) for run in mine]))
            rests.append(Left(source, kind, 1 / ratios - 1, inside))
    return rests


def coverage(left: list[Left]) -> float:
    """Share of runs inside, a source and kind by the root of its runs; hand-written figures apart."""
    counted = [rest for rest in left if rest.kind != "rounded"]
    roots = [len(rest.errors) ** 0.5 for rest in counted]
    return float(np.average([rest.inside for rest in counted], weights=roots))


def best_aim(runs: list[MemoryRun]) -> float:
    """The least quantile whose bands hold sources left out as often as is wanted."""
    tried = ((aim, coverage(left_out(runs, aim))) for aim in AIMS)
    return next((aim for aim, value in tried if value >= WANTED), AIMS[-1])


def tell(left: list[Left]) -> None:
    """Print each source left out."""
    print(f"{'left out':45} {'kind':10} runs median   p90    bias  in band")
    for rest in left:
        print(
            f"{rest.source:45} {rest.kind:10} {len(rest.errors):4} {np.median(np.abs(rest.errors)):6.1%} "
            f"{np.quantile(np.abs(rest.errors), 0.9):6.1%} {np.median(rest.errors):+6.1%} {rest.inside:6.1%}"
        )
    print(f"coverage, sources by the root of their runs: {coverage(left):.1%}")


def write(head: str, terms: dict[str, float], edges: dict[str, tuple[float, float]]) -> None:
    """Renew the table of corrections."""
    lines = [head, "[terms]"]
    lines += [f"{name} = {value:g}" for name, value in terms.items()]
    lines += ["", "[bands]"]
    lines += [f"{name} = [{low:.3f}, {high:.3f}]" for name, (low, high) in edges.items()]
    path = Path(DATA / "corrections" / "memory_training.toml")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Fit, tell, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    runs = runs_of(options.runs)
    aim = best_aim(runs)
    left = left_out(runs, aim)
    tell(left)
    terms = fit_terms(runs)
    edges = bands(runs, terms, aim)
    print(aim, terms, edges)
    if options.write:
        sources = len({run.source for run in runs})
        write(HEAD.format(rows=len(runs), sources=sources, coverage=f"{coverage(left):.0%}"), terms, edges)


if __name__ == "__main__":
    main()

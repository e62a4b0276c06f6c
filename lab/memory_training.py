"""Fits the few terms of training memory that physics does not give, and the 80 % bands, on measured runs.

    python -m lab.memory_training RUNS.csv... [--write]

Prints errors and coverage with each source left out; `--write` renews data/corrections/memory_training.toml.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from rigright.base.errors import RigError
from rigright.base.tables import DATA, Row, open_rows, read_cells
from rigright.base.units import MIB, from_gib
from rigright.cost.training_memory import Terms, training_memory
from rigright.cost.training_setup import set_up
from rigright.demand import Numbers
from rigright.verbs.runs.files import read_text
from rigright.verbs.validate.kinds.training import KIND
from rigright.verbs.validate.training_rows import read_row

SMI = re.compile(r"nvidia-smi reserved MiB=([\d.]+)")
CARD_FULL = 0.93  # of the card: beyond it the allocator returns what it would have kept
CARD_BYTES = from_gib(80)
RESERVES = (1.0, 1.02, 1.04, 1.06, 1.08, 1.1, 1.12)
SCATTERED = (0.0, 0.05, 0.1, 0.15, 0.2)
CONTEXT_GIB, COLLECTIVES_GIB = 0.55, 1.5
WIDTHS = (1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2.0, 2.5)  # by which the bands are stretched
LEAST = 0.08  # releases of one framework differ by as much on the same run
AIM = 0.82  # share of runs of an unseen source that a band shall hold
HEAD = """\
# Terms of training memory that physics does not give, written by scripts/fit_memory_training.py on
# {rows} figures of {sources} sources. reserve: what the allocator holds over what the phases need.
# scattered: more of it under FSDP with one flat tensor a layer. context_gib, collectives_gib: CUDA context
# and NCCL buffers, seen by nvidia-smi and not by PyTorch (0.5 to 0.9 GiB, and about 1.5). bands: {coverage}
# of the runs of a source left out of the fit lie between these multiples of the estimate; "assumed" where
# an input was left open, "rounded" for figures written by hand.
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One measured figure beside what physics alone says of it."""

    source: str
    kind: str
    assumed: bool  # the row left an input open
    measured: float
    allocated: float
    base: float  # what the allocator holds before any correction
    scattered: bool
    ranks: int

    def ratio(self, terms: Terms) -> float:
        """Measured over predicted."""
        if self.kind == "allocated":
            return self.measured / self.allocated
        reserved = max(self.base * (terms["reserve"] + terms["scattered"] * self.scattered), self.allocated)
        context = terms["context_gib"] + terms["collectives_gib"] * (self.ranks > 1)
        return self.measured / (reserved + (0 if self.kind == "reserved" else from_gib(context)))


PHYSICS = {"reserve": 1.0, "scattered": 0.0, "context_gib": 0.0, "collectives_gib": 0.0}


def runs_of(paths: Iterable[str]) -> list[Run]:
    """Every row with a measured peak, and what nvidia-smi showed where the note tells it."""
    runs = []
    for path in paths:
        text = read_text(path)
        for _, raw in open_rows(text.lines, text.name):
            row, _ = read_cells(raw, KIND.columns)
            if row["peak_gib"] is not None:
                runs += _figures(raw, row)
    return runs


def _figures(raw: Mapping[str, str], row: Row) -> list[Run]:
    try:
        asked = read_row(row)
    except RigError as error:
        print(f"{row['id']}: {error}")
        return []
    memory = training_memory(
        asked.arch,
        asked.training,
        layout=asked.layout,
        stage=np.arange(asked.layout.pp),
        terms=PHYSICS,
    )
    setup, layout = set_up(asked.training, hidden=1), asked.layout
    run = Run(
        source=raw["source"].partition(":")[0],
        kind=row["peak_kind"],
        assumed=bool(asked.assumed),
        measured=from_gib(row["peak_gib"]),
        allocated=float(np.max(memory.allocated_bytes)),
        base=float(np.max(memory.reserved_bytes)),
        scattered=setup.gathered and setup.trainer.scattered,
        ranks=layout.tp * layout.pp * layout.dp * layout.cp,
    )
    shown = SMI.search(raw["note"])
    if shown is None or float(shown.group(1)) * MIB > CARD_FULL * CARD_BYTES:
        return [run]
    return [run, replace(run, kind="device", measured=float(shown.group(1)) * MIB)]


def macro(errors: dict[str, list[float]]) -> float:
    """Mean over sources of the median absolute error."""
    return float(np.mean([np.median(np.abs(members)) for members in errors.values()]))


def fit_terms(runs: list[Run]) -> dict[str, float]:
    """The pair of terms with the least macro error on reserved and device figures."""
    known = [run for run in runs if run.kind in {"reserved", "device"}]
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


def _errors(runs: list[Run], terms: Terms) -> dict[str, list[float]]:
    errors: dict[str, list[float]] = {}
    for run in runs:
        errors.setdefault(run.source, []).append(1 / run.ratio(terms) - 1)
    return errors


def widened(ratios: dict[str, list[float]], width: float) -> tuple[float, float]:
    """The 10th and 90th percentile with every source and kind weighing alike, stretched by `width`."""
    if not ratios:
        return float(np.exp(-LEAST * width)), float(np.exp(LEAST * width))
    values = np.log(np.concatenate([np.asarray(members) for members in ratios.values()]))
    weights = np.concatenate([np.full(len(members), 1 / len(members)) for members in ratios.values()])
    order = np.argsort(values)
    share = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
    low, high = np.interp([0.1, 0.9], share, values[order])
    return float(np.exp(min(low, -LEAST) * width)), float(np.exp(max(high, LEAST) * width))


def bands(runs: list[Run], terms: Terms, width: float) -> dict[str, tuple[float, float]]:
    """A band for counted figures, one where inputs were assumed, one for hand-written figures."""
    counted = [run for run in runs if run.kind != "rounded"]
    return {
        "told": widened(_ratios([run for run in counted if not run.assumed], terms), width),
        "assumed": widened(_ratios([run for run in counted if run.assumed], terms), width),
        "rounded": widened(_ratios([run for run in runs if run.kind == "rounded"], terms), width),
    }


def band_name(run: Run) -> str:
    """Which of the bands speaks of a run."""
    if run.kind == "rounded":
        return "rounded"
    return "assumed" if run.assumed else "told"


def _ratios(runs: list[Run], terms: Terms) -> dict[str, list[float]]:
    ratios: dict[str, list[float]] = {}
    for run in runs:
        ratios.setdefault(f"{run.source} {run.kind}", []).append(run.ratio(terms))
    return ratios


@dataclass(frozen=True, slots=True)
class Left:
    """Runs of one source and kind, judged by terms and bands that never saw the source."""

    source: str
    kind: str
    errors: Numbers
    inside: float


def left_out(runs: list[Run], width: float) -> list[Left]:
    """Each source in turn predicted from the others."""
    found = []
    for source in sorted({run.source for run in runs}):
        others = [run for run in runs if run.source != source]
        terms = fit_terms(others)
        edges = bands(others, terms, width)
        for kind in sorted({run.kind for run in runs if run.source == source}):
            mine = [run for run in runs if run.source == source and run.kind == kind]
            ratios = np.array([run.ratio(terms) for run in mine])
            limits = np.array([edges[band_name(run)] for run in mine])
            inside = float(np.mean((limits[:, 0] <= ratios) & (ratios <= limits[:, 1])))
            found.append(Left(source, kind, 1 / ratios - 1, inside))
    return found


def coverage(left: list[Left]) -> float:
    """Share of runs inside, every source and kind alike; hand-written figures apart."""
    return float(np.mean([one.inside for one in left if one.kind != "rounded"]))


def best_width(runs: list[Run]) -> float:
    """The stretch whose coverage of sources left out comes nearest to what is wanted."""
    return min(WIDTHS, key=lambda width: abs(coverage(left_out(runs, width)) - AIM))


def tell(left: list[Left]) -> None:
    """Print each source left out."""
    print(f"{'left out':45} {'kind':10} runs median   p90    bias  in band")
    for one in left:
        print(
            f"{one.source:45} {one.kind:10} {len(one.errors):4} {np.median(np.abs(one.errors)):6.1%} "
            f"{np.quantile(np.abs(one.errors), 0.9):6.1%} {np.median(one.errors):+6.1%} {one.inside:6.1%}"
        )
    print(f"coverage, every source and kind alike: {coverage(left):.1%}")


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
    width = best_width(runs)
    tell(left_out(runs, width))
    terms = fit_terms(runs)
    edges = bands(runs, terms, width)
    print(width, terms, edges)
    if options.write:
        sources = len({run.source for run in runs})
        share = f"{coverage(left_out(runs, width)):.0%}"
        write(HEAD.format(rows=len(runs), sources=sources, coverage=share), terms, edges)


if __name__ == "__main__":
    main()

"""Terms of processors and of the bus, fitted on runs beside main memory, and what they miss of groups.

    python -m lab.main_memory HYBRID.csv [--left-out processor|source] [--sweeps N]

Prints each term with the value that misses least; data/corrections/speed_streams.toml and
bands_speed_hybrid.toml are then changed by hand. A source's rows on a processor weigh as their 0.4th power.
"""

from __future__ import annotations

import argparse
import copy
import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rigright.base.errors import RigError
from rigright.base.tables import read_cells
from rigright.facts.corrections import corrections
from rigright.verbs.validate.hybrid_asks import HybridAsk, read_hybrid
from rigright.verbs.validate.hybrid_cases import hybrid_figure
from rigright.verbs.validate.kinds.hybrid import KIND

CPU, IK, KT = ("llama.cpp cpu", "ik_llama.cpp cpu", "ktransformers cpu")
DIALS = (  # table, section, term
    (CPU, "all", "memory"), (CPU, "cpu-server", "memory"), (CPU, "cpu-numa", "memory"), (CPU, "all", "core"),
    (CPU, "all", "kv_memory"), (CPU, "all", "expert_memory"), (CPU, "all", "moe_layer_s"),
    (CPU, "all", "hop_s"),
    (CPU, "all", "token_attention_core"), (IK, "all", "token_attention_core"), (CPU, "all", "format_compute"),
    (IK, "all", "format_compute"), (CPU, "all", "expert_compute"), (CPU, "all", "expert_half_tok"),
    (CPU, "all", "attention"), (IK, "all", "attention"), (CPU, "all", "bus"), (IK, "all", "bus"),
    (KT, "cpu-numa", "memory"), (KT, "all", "format_compute"),
)  # fmt: skip
STEPS = (1.25, 1.08)
MOST = 1.2  # of a logarithm: a row that misses by more counts as this, for it says something else
METRICS = ("decode_tok_s_per_user", "prefill_tok_s")


@dataclass(frozen=True, slots=True)
class Run:
    """One measured figure and what is asked of it."""

    ask: HybridAsk
    source: str
    processor: str
    measured: float


def main() -> None:
    """Fit, and leave groups out where asked."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("table", type=Path)
    asked.add_argument("--left-out", choices=("processor", "source"))
    asked.add_argument("--sweeps", type=int, default=2)
    options = asked.parse_args()
    runs = list(read(options.table))
    tables = fit(runs, copy.deepcopy(dict(corrections("speed_streams"))), sweeps=options.sweeps)
    for table, section, term in DIALS:
        print(f"{table} [{section}] {term} = {tables['engines'][table][section][term]:.3g}")
    told("in the fit", runs, errors(runs, tables))
    if options.left_out is None:
        return
    groups = [getattr(run, options.left_out) for run in runs]
    left = np.zeros(len(runs))
    for group in dict.fromkeys(groups):
        kept = [run for run, own in zip(runs, groups, strict=True) if own != group]
        mine = [place for place, own in enumerate(groups) if own == group]
        own_tables = fit(kept, copy.deepcopy(tables), sweeps=1)
        left[mine] = errors([runs[place] for place in mine], own_tables)
    told(f"{options.left_out} left out", runs, left)


def read(path: Path) -> Iterable[Run]:
    """Rows that say what lay where, in what format."""
    with path.open(encoding="utf-8", newline="") as file:
        for raw in csv.DictReader(file):
            row, _ = read_cells(raw, KIND.columns)
            if row.get("metric") not in METRICS or not row.get("value"):
                continue
            if row.get("weights") in {None, "gguf"} or "flags in thread" in (row.get("offload") or ""):
                continue
            try:
                ask = read_hybrid(row)
            except RigError:
                continue
            yield Run(ask=ask, source=row["source"], processor=row.get("cpu") or "", measured=row["value"])


def errors(runs: Sequence[Run], tables: Mapping[str, Any]) -> np.ndarray:
    """Logarithms of predicted over measured."""
    return np.log([hybrid_figure(run.ask, tables) / run.measured for run in runs])


def weights_of(runs: Sequence[Run]) -> np.ndarray:
    """What each run counts."""
    rows = Counter((run.source, run.processor) for run in runs)
    return np.array([rows[run.source, run.processor] ** -0.6 for run in runs])


def fit(runs: Sequence[Run], tables: dict[str, Any], *, sweeps: int) -> dict[str, Any]:
    """Term by term up or down, as long as less is missed."""
    weights = weights_of(runs)

    def missed() -> float:
        return float(weights @ np.minimum(np.abs(errors(runs, tables)), MOST))

    best = missed()
    for step in STEPS[:sweeps]:
        for table, section, term in DIALS:
            own = tables["engines"][table][section]
            for factor in (step, 1 / step):
                while True:
                    before, own[term] = own[term], own[term] * factor
                    now = missed()
                    if now >= best:
                        own[term] = before
                        break
                    best = now
    return tables


def told(name: str, runs: Sequence[Run], off: np.ndarray) -> None:
    """Medians and the 80 % band, by figure."""
    weights = weights_of(runs)
    for metric in METRICS:
        mine = np.array([run.ask.metric == metric for run in runs])
        order = np.argsort(np.abs(off[mine]))
        part = np.cumsum(weights[mine][order])
        middle = np.abs(off[mine])[order][np.searchsorted(part, part[-1] / 2)]
        low, high = np.quantile(off[mine], (0.1, 0.9))
        plain = np.expm1(np.median(np.abs(off[mine])))
        band = f"measured / predicted {np.exp(-high):.2f} to {np.exp(-low):.2f}"
        print(
            f"{name}: {metric}, {mine.sum()} rows: median {plain:.1%},"
            f" weighted {np.expm1(middle):.1%}; {band}"
        )


if __name__ == "__main__":
    main()

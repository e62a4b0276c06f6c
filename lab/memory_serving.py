"""Bands of inference memory from measured runs, and what they hold of groups they have not seen.

    python -m lab.memory_serving [FILE.csv ...] [--write]

Files bear the columns of memory.csv; the logs of data/measured_serving.csv are read beside them. `--write`
renews the tables [wider] and [bands.*] of data/corrections/memory_serving.toml; the other terms there are set
by hand, from those logs. A part is as unsure as its own figures scatter; a total has a shape, stretched until
it holds.
"""

from __future__ import annotations

import argparse
import csv
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from rigright.base.errors import RigError
from rigright.base.tables import DATA, number, read_rows, text
from rigright.cost.bands import SIZES, Parts
from rigright.verbs.validate.door import SURE, enter
from rigright.verbs.validate.foreign import noted_cells
from rigright.verbs.validate.kinds.memory import KIND, memory_figure

TERMS = DATA / "corrections" / "memory_serving.toml"
SHARED = Path(__file__).parents[2] / "shared" / "measured"
FILES = ("memory.csv", "new/released_memory.csv", "new/memory_vllm.csv")
AIM = 0.84  # share of figures a band shall hold: a little more than it promises, since the next are new
STRANGER = 1.5  # a band that one source alone taught, over what that source needs
FEW = 2  # sources
ENOUGH = 5  # figures, to tell anything
LEAST_OFF = {
    "counted": 0.0015,
    "step": 0.02,
    "libraries": 0.06,
    "graphs": 0.22,
}  # logarithm: no part is surer
STRETCHES = np.geomspace(0.25, 6, 60)
LEAST_TOTAL = {
    "allocated": 0.01,
    "device": 0.01,
    "preallocated": 0.03,
}  # the same of what is counted in a total
NEAR, FAR = 0.6, 1.4  # times measured: beyond it, not the memory but the run is another
LEAST, MOST = 2.0, 4.0  # a band is wider where its like was not measured, within reason
SINGLE = {"activation": "step", "non_torch": "libraries", "cuda_graph": "graphs", "weights_per": "counted"}
LOGGED = {
    "weights_gib": "weights_per_gpu",
    "step_gib": "activation_peak_per_gpu",
    "pool_gib": "kv_cache_available_per_gpu",
    "pool_tok": "kv_tokens",
}

Pair = tuple[float, float]
Bands = dict[str, dict[str, Pair]]

SHAPES: Bands = {  # how unsure parts are beside each other; of a start each is fitted alone
    "start": {"counted": (0.998, 1.002), "step": (0.98, 1.02), "libraries": (0.9, 1.1), "graphs": (0.8, 1.25),
              "beside": (0.5, 1.6), "loading": (1.0, 2.0)},
    "allocated": {"counted": (0.99, 1.01), "step": (0.8, 1.2), "beside": (0.5, 2.0)},
    "device": {"counted": (0.985, 1.03), "step": (0.45, 2.1), "beside": (0.35, 2.4)},
    "preallocated": {"counted": (0.98, 1.02)},
}  # fmt: skip
WIDER = {"chip": 2.0, "version": 2.0, "engine": 3.0}  # where too few figures tell


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure, and the one predicted with its parts."""

    source: str
    model: str
    version: str
    what: str
    kind: str
    measured: float
    predicted: float
    parts: Mapping[str, float]
    away: tuple[str, ...]  # what of its like was not measured

    @property
    def off(self) -> float:
        """Measured over predicted, as a logarithm; what a loading may have left is no error."""
        left = min(max(self.measured - self.predicted, 0.0), self.parts["loading"])
        return float(np.log((self.measured - left) / self.predicted))


def figures(files: Iterable[Path]) -> list[Figure]:
    """Every row that is measured and can be predicted."""
    result = [figure for file in files for figure in _of_file(file)]
    return [*result, *_of_logs()]


def _of_file(file: Path) -> Iterable[Figure]:
    with file.open(encoding="utf-8", newline="") as opened:
        for raw in csv.DictReader(opened):
            cells, _ = noted_cells(KIND.name, raw)
            entered = enter(KIND.name, cells, raw=raw)
            if cells.get("value_gib") is not None and entered.wider <= SURE:
                yield from _figure(dict(entered.row))


def _of_logs() -> Iterable[Figure]:
    words = "id engine arch format kv chip graphs what source as_of confidence"
    numbers = "total_gib tp pp context_tok budget_tok max_seqs share value pool_gib"
    columns = {**dict.fromkeys(words.split(), text), **dict.fromkeys(numbers.split(), number)}
    for row in read_rows(DATA / "measured_serving.csv", columns):
        engine, _, version = row["engine"].partition(" ")
        if row["what"] not in LOGGED or row["chip"] is None:
            continue
        yield from _figure(
            dict.fromkeys(KIND.columns) | row | {
                "model": row["arch"], "engine": engine, "engine_version": version,
                "what": LOGGED[row["what"]],
                "tp": int(row["tp"]), "pp": int(row["pp"]), "max_model_len": _whole(row["context_tok"]),
                "max_num_batched_tokens": _whole(row["budget_tok"]), "max_num_seqs": _whole(row["max_seqs"]),
                "gpu_memory_utilization": row["share"], "total_memory_gib": row["total_gib"],
                "enforce_eager": str(row["graphs"] != "y"), "value_gib": row["value"],
            }
        )  # fmt: skip


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _figure(cells: dict[str, Any]) -> Iterable[Figure]:
    try:
        figure, _ = memory_figure(cells)
    except RigError:
        return
    if figure.value_bytes <= 0 or figure.kind == "file":
        return
    if figure.unit == 1:  # tokens are as sure as the pool they lie in
        return
    parts = {
        part.name: float(getattr(figure.parts, part.name)) / figure.unit
        for part in fields(Parts)
        if part.name in SIZES
    }
    yield Figure(
        source=re.split(r"[@:(]", cells["source"])[0].strip(),
        model=cells.get("model") or cells.get("arch") or "",
        version=cells.get("engine_version") or "",
        what=cells["what"],
        kind=figure.kind,
        measured=cells["value_gib"],
        predicted=figure.value_bytes / figure.unit,
        parts=parts,
        away=figure.away,
    )


def inside(figure: Figure, terms: Mapping[str, Pair], *, wider: float = 1.0) -> bool:
    """Whether the measured figure lies in the band these terms make."""
    down = up = figure.parts["mixed"] ** 2
    pool = figure.what.startswith("kv_cache_available")
    for name, (low, high) in terms.items():
        if pool and name in {"graphs", "beside"}:
            continue
        size = figure.parts[name]
        down, up = down + ((1 - low**wider) * size) ** 2, up + ((high**wider - 1) * size) ** 2
    if pool:
        down, up = up, down
    return bool(figure.predicted - down**0.5 <= figure.measured <= figure.predicted + up**0.5)


def share_inside(flags: Iterable[tuple[str, bool]]) -> float:
    """The share held, where sources count alike."""
    by = defaultdict(list)
    for source, is_inside in flags:
        by[source].append(is_inside)
    return float(np.mean([np.mean(own) for own in by.values()]))


def fitted(figures: Sequence[Figure], shapes: Bands) -> Bands:
    """Bands of each kind, on figures whose like was measured."""
    near = [
        figure for figure in figures if not figure.away and NEAR < figure.measured / figure.predicted < FAR
    ]
    bands: Bands = {}
    for kind, shape in shapes.items():
        own = [figure for figure in near if figure.kind == kind]
        if kind == "start":
            bands[kind] = {name: _scatter(own, name, shape[name]) for name in shape}
        elif len(own) >= ENOUGH:
            bands[kind] = _stretched(own, shape, least=LEAST_TOTAL[kind])
        else:
            bands[kind] = dict(shape)
    return bands


def _scatter(figures: Sequence[Figure], part: str, before: Pair) -> Pair:
    """Quantiles of a part's own figures; one source alone makes them wider."""
    own = [
        figure
        for figure in figures
        if any(figure.what.startswith(w) for w, name in SINGLE.items() if name == part)
    ]
    if len(own) < ENOUGH:
        return before
    offs = np.array([figure.off for figure in own])
    share = (1 - AIM) / 2
    low, high = np.quantile(offs, [share, 1 - share], method="nearest")
    stretch = STRANGER if len({figure.source for figure in own}) < FEW else 1.0
    floor = LEAST_OFF[part]
    return (
        round(float(np.exp(min(low * stretch, -floor))), 4),
        round(float(np.exp(max(high * stretch, floor))), 4),
    )


def _stretched(figures: Sequence[Figure], shape: Mapping[str, Pair], *, least: float) -> dict[str, Pair]:
    """The shape, by the least factor of its logarithms that holds enough; more of it of one source alone."""
    few = STRANGER if len({figure.source for figure in figures}) < FEW else 1.0

    def enough(stretch: float) -> bool:
        terms = {name: (low**stretch, high**stretch) for name, (low, high) in shape.items()}
        return share_inside([(figure.source, inside(figure, terms)) for figure in figures]) >= AIM

    sure = max(abs(math.log(side)) for side in shape["counted"])
    stretch = few * next((float(value) for value in STRETCHES if enough(value)), float(STRETCHES[-1]))
    stretch = max(stretch, least / sure)
    return {
        name: (round(float(low**stretch), 3), round(float(high**stretch), 3))
        for name, (low, high) in shape.items()
    }


def widened(figures: Sequence[Figure], bands: Bands, before: Mapping[str, float]) -> dict[str, float]:
    """How much wider a band must be where only this was not measured."""
    factors = dict(before)
    for what in before:
        own = [figure for figure in figures if figure.away == (what,)]
        if len(own) < ENOUGH:
            continue
        factors[what] = MOST
        for factor in np.arange(LEAST, MOST, 0.25):
            flags = [
                (figure.source, inside(figure, bands[figure.kind], wider=float(factor))) for figure in own
            ]
            if share_inside(flags) >= AIM:
                factors[what] = float(factor)
                break
    return factors


def report(figures: Sequence[Figure], shapes: Bands, before: Mapping[str, float]) -> Iterable[str]:
    """Errors by source and figure, and what bands hold that were made without the group."""
    by = defaultdict(list)
    for figure in figures:
        by[figure.source, figure.what].append(figure)
    for (source, what), own in sorted(by.items()):
        errors = np.abs([item.predicted / item.measured - 1 for item in own])
        text = f"{np.median(errors):7.1%} median {np.quantile(errors, 0.9):7.1%} p90"
        yield f"{source[:34]:34} {what[:28]:28} {len(own):4} {text}"
    for name in ("source", "model"):
        kept = []
        for group in sorted({getattr(item, name) for item in figures}):
            others = [item for item in figures if getattr(item, name) != group]
            bands = fitted(others, shapes)
            wider = widened(others, bands, before)
            for figure in figures:
                if getattr(figure, name) == group:
                    w = 1 + math.hypot(*(wider[what] - 1 for what in figure.away))
                    kept.append((figure.what, inside(figure, bands[figure.kind], wider=w)))
        for what in sorted({what for what, _ in kept}):
            flags = [flag for item, flag in kept if item == what]
            yield f"{name:8} left out: {what[:28]:28} holds {np.mean(flags):5.0%} of {len(flags)}"


def written(terms: str, bands: Bands, wider: Mapping[str, float]) -> str:
    """The table of terms with new bands; everything else stays."""
    head = terms[: terms.index("[wider]")]
    lines = ["[wider]", *(f"{name} = {value:g}" for name, value in wider.items()), ""]
    for kind, own in bands.items():
        lines += [
            f"[bands.{kind}]",
            *(f"{name} = [{low:g}, {high:g}]" for name, (low, high) in own.items()),
            "",
        ]
    return head + "\n".join(lines)


def main() -> None:
    """Print, and write where asked."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("tables", nargs="*", type=Path)
    asked.add_argument("--write", action="store_true")
    options = asked.parse_args()
    result = figures(options.tables or [SHARED / name for name in FILES])
    print("\n".join(report(result, SHAPES, WIDER)))
    bands = fitted(result, SHAPES)
    wider = widened(result, bands, WIDER)
    print(bands, wider)
    if options.write:
        TERMS.write_text(written(TERMS.read_text(encoding="utf-8"), bands, wider), encoding="utf-8")


if __name__ == "__main__":
    main()

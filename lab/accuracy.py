"""Writes docs/accuracy.md and its pictures: predictions against the runs beside this checkout and our own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from lab import memory_training
from lab.page import left_out, pictures, tables, traces, worst
from lab.page.points import points
from lab.page.validated import OWN, POWERS, RUNS, SPEEDS, TITLES, PredictedFigure, speed_runs, validated
from rigright.facts.corrections import corrections
from rigright.verbs.validate.record import Validation
from rigright.verbs.validate.verb import validate

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "accuracy.md"
LONE_TERMS = ("ctranslate2", "onnxruntime")  # engines whose own term one source alone gave
MOST_STALE = 0.02  # share of kept predictions that may differ from today's, by rounding of terms
HEAD = """<!-- made by python -m lab accuracy; do not edit -->

# Accuracy

Predictions compared with published runs that others measured. `rigright validate FILE.csv` prints the same
for any file, including yours.

The error is predicted over measured, minus one. "90 % below" is its 90th percentile, "bias" the median with
its sign, "in the band" the share of measured figures between low and high. Different figures are never
pooled, and an average over sources weights each source alike, even one with a single run.

"Left out" applies to a chip, model or source that is not in our files: everything is refitted without that
source (one page of it), chip or model, which is then predicted. The other columns are in sample. Bands are
tested the same way, on groups they were made without.
"""
OTHERS = (  # kinds that are stated by source alone
    ("Inference memory", "memory"),
    ("Training memory", "training"),
    ("Training memory: programs of our own table", "own"),
    ("Models in main memory", "hybrid"),
    ("Images and video", "diffusion"),
    ("Community runs", "llmfit_runs"),
)


def made() -> tuple[str, dict[Path, str], list[str]]:
    """The page, its pictures, and what is stale."""
    validations = validated()
    runs, left = speed_runs(validations), left_out.kept()
    drawn = {**pictures.draw(runs, left), **points(validations, left)}
    stale = left_out.stale(runs, left)
    parts = [HEAD, *_speeds(validations, runs=runs, left=left, drawn=drawn), *_memory(validations)]
    share = len(stale) / max(len(left), 1)
    return "\n".join(parts), drawn, stale if share > MOST_STALE else []


def _speeds(
    validations: Mapping[str, Validation],
    *,
    runs: Mapping[tuple[str, str], PredictedFigure],
    left: left_out.Left,
    drawn: Mapping[Path, str],
) -> Iterator[str]:
    yield from ("", "## Speed at a glance", "", *tables.glance(validations, runs, left))
    yield from ("", "## Coverage of 80 % bands on groups left out", "")
    yield "Each group counts by the square root of its runs. Target: 80 %; accepted on average: 75 to 88 %."
    yield from ("", *tables.covered(left_out.coverages()))
    yield from ("", "## Compared with other tools", "")
    yield "Rows: aiconfigurator's own sample. Its answers and those of its roofline were computed once."
    yield from ("", *tables.peers(runs, left))
    yield from ("", "## Real traces, replayed", "", *traces.replayed())
    yield from ("", "## Pictures", "", *_pictures(drawn))
    for kind in SPEEDS:
        metrics = {prediction.metric for row in validations[kind].rows for prediction in row.predictions}
        mine = [run for run in runs.values() if run.metric in metrics]
        yield from ("", f"## {kind.capitalize()}: by source", "")
        yield from tables.scored(
            score for score in validations[kind].scores if score.metric in {*TITLES, *POWERS}
        )
        yield from ("", f"## {kind.capitalize()}: by chip", "")
        yield from tables.by_group(mine, lambda run: run.chip, left=left, way="chip")
        yield from ("", f"## {kind.capitalize()}: the models with most runs", "")
        most = tables.MOST_MODELS
        yield from tables.by_group(mine, lambda run: run.model, left=left, way="model", most=most)
    yield from ("", "## The worst predictions, and why", "")
    yield "Reasons stand in docs/accuracy/reasons.toml; what is not known is said."
    yield from ("", *worst.worst(runs.values()))


def _pictures(drawn: Mapping[Path, str]) -> Iterator[str]:
    yield "Predicted against measured (dashed: 20 % off), and the share of runs within each error."
    yield ""
    for metric, title in TITLES.items():
        names = [path.name for path in drawn if path.stem in {metric, f"{metric}_left_out"}]
        if names:
            yield " ".join(f"![{title}](pictures/{name})" for name in names)
            yield ""


def _memory(processes: Mapping[str, Validation]) -> Iterator[str]:
    for title, name in OTHERS:
        texts = {"peak_gib"} if name in {"training", "own"} else None
        if name in processes:
            yield from ("", f"## {title}", "")
            yield from tables.scored(
                score for score in processes[name].scores if texts is None or score.metric in texts
            )
    yield from ("", "## Inference memory, without terms from a single source", "")
    yield from _without_lone_terms()
    yield from ("", "## Training memory, each source left out", "", *_left_out(), "")


def _without_lone_terms() -> Iterator[str]:
    """Peaks as they were predicted had the only source of an engine's own term not been seen."""
    engines = corrections("memory_serving")["engines"]
    own = {name: engines.pop(name) for name in LONE_TERMS}
    validation = validate(str(RUNS / "memory.csv"))
    engines.update(own)
    names = " and ".join(LONE_TERMS)
    yield (
        f"What {names} take beside their tensors is known from premAI-io/benchmarks alone; here they are "
        "predicted with the term all engines share. Shared terms were set by hand, with all sources known."
    )
    yield ""
    yield from tables.scored(score for score in validation.scores if score.metric == "total_gpu_peak")


def _left_out() -> Iterator[str]:
    """Terms and bands fitted without the source, then held against it."""
    files = (RUNS / "training.csv", RUNS / "new" / "released_training.csv", OWN)
    runs = memory_training.runs_of(map(str, files))
    left = memory_training.left_out(runs, memory_training.best_aim(runs))
    yield "Terms and bands come from all other sources; `device` includes what nvidia-smi showed."
    yield ""
    yield "| source | kind | rows | median | 90 % below | bias | in the band |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for rest in left:
        errors = np.abs(rest.errors)
        yield (
            f"| {rest.source} | {rest.kind} | {len(errors)} | {np.median(errors):.1%} | "
            f"{np.quantile(errors, 0.9):.1%} | {np.median(rest.errors):+.1%} | {rest.inside:.1%} |"
        )
    yield ""
    inside = memory_training.coverage(left)
    yield f"In the band, sources by the root of their runs, hand-written figures apart: {inside:.1%}."


def _check(page: str, drawn: Mapping[Path, str], stale: list[str]) -> int:
    """What differs from the files, as an exit code."""
    if stale:
        print(f"docs/accuracy/ belongs to other terms ({len(stale)} rows): run python -m lab bands")
        return 1
    fresh = {PAGE: page, **drawn}
    wrong = [path for path in fresh if not path.is_file() or path.read_text(encoding="utf-8") != fresh[path]]
    for path in wrong:
        print(
            f"{path.relative_to(ROOT)} is out of date: run python -m lab accuracy, and look at what changed"
        )
    return 1 if wrong else 0


def run(*, check: bool = False) -> int:
    """Write, or check."""
    if not RUNS.is_dir():
        print(f"no measured runs at {RUNS}: nothing to hold predictions against")
        return 0
    page, drawn, stale = made()
    if check:
        return _check(page, drawn, stale)
    pictures.FOLDER.mkdir(exist_ok=True)
    for path, text in {PAGE: page, **drawn}.items():
        path.write_text(text, encoding="utf-8", newline="\n")
    if stale:
        print(f"docs/accuracy/ belongs to other terms ({len(stale)} rows): run python -m lab bands")
    return 0

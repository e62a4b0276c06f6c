"""Tables of docs/accuracy.md: at a glance, beside peers, by source, chip and model, and what bands hold."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from lab.conformal import Coverage
from lab.page.left_out import Left
from lab.page.validated import RUNS, SPEEDS, TITLES, PredictedFigure
from rigright.verbs.validate.record import Score, Validation

SCORES = (
    "| figure | source | rows | answered | median | 90 % below | within 20 % | bias | in band | high / low |",
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
)
PEERS = ("aiconfigurator_0.12", "its_roofline")
MOST_MODELS = 25
TARGETS = {
    "tpot_ms": "10 %", "ttft_ms": "25 %", "decode_tok_s_per_user": "10 %", "prefill_tok_s": "15 %",
    "output_tok_s_total": "12 %", "tok_per_s_per_chip": "10 %", "samples_per_s": "15 %",
}  # fmt: skip

Pick = Callable[[PredictedFigure], str]


def glance(
    validations: Mapping[str, Validation], runs: Mapping[tuple[str, str], PredictedFigure], left: Left
) -> Iterator[str]:
    """One line a speed: errors in sample and left out, averaged over sources."""
    yield "| figure | rows | answered | median error | source left out | chip left out | model left out | within 20 % | in the band | aim |"  # noqa: E501
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    scores = [score for kind in SPEEDS for score in validations[kind].scores if score.of == "group"]
    order = list(TITLES)
    for score in sorted(
        (item for item in scores if item.metric in TITLES and item.answered),
        key=lambda item: (order.index(item.metric), item.group),
    ):
        kind_of = "" if score.group == score.metric else f", {score.group}"
        title = TITLES[score.metric] + kind_of
        mine = {
            key: run for key, run in runs.items() if (run.metric, run.group) == (score.metric, score.group)
        }
        out = (percent(_macro(mine, left, f"{by}_out")) for by in ("source", "chip", "model"))
        kept = percent(score.within_20_percent), percent(score.band_coverage)
        shown = (percent(score.median_error), *out, *kept)
        aim = TARGETS.get(score.metric, "-")
        yield f"| {title} | {score.measured} | {score.answered} | {' | '.join(shown)} | {aim} |"


def _macro(runs: Mapping[tuple[str, str], PredictedFigure], left: Left, way: str) -> float | None:
    """Mean over sources of the median error of runs left out so."""
    by_source: dict[str, list[float]] = {}
    for key, run in runs.items():
        if way in left.get(key, {}):
            by_source.setdefault(run.source, []).append(abs(float(np.expm1(left[key][way]))))
    return float(np.mean([np.median(errors) for errors in by_source.values()])) if by_source else None


def peers(runs: Mapping[tuple[str, str], PredictedFigure], left: Left) -> Iterator[str]:
    """Side by side on the rows of the one table that a peer's answers were kept for."""
    fields = _peer_rows()
    yield "| figure | rows | who | answered | median error | mean error | within 20 % | bias |"
    yield "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |"
    for metric in ("tpot_ms", "ttft_ms"):
        keys = [key for key in fields if key[1] == metric and key in runs]
        answered = [key for key in keys if fields[key][PEERS[0]]]
        ours = np.array([runs[key].off for key in keys])
        yield _peer(metric, len(keys), "rigright", offs=ours)
        out = np.array([left[key]["source_out"] for key in keys if "source_out" in left.get(key, {})])
        if len(out):
            yield _peer(metric, len(keys), "rigright, the source left out", offs=out)
        for name in PEERS:
            offs = np.array(
                [np.log(float(fields[key][name]) / runs[key].measured) for key in keys if fields[key][name]]
            )
            yield _peer(metric, len(keys), name.replace("_", " "), offs=offs)
        same = np.array([runs[key].off for key in answered])
        yield _peer(metric, len(answered), "rigright, on rows aiconfigurator answers", offs=same)


def _peer(metric: str, rows: int, who: str, *, offs: np.ndarray) -> str:
    errors = np.expm1(offs)
    sizes = np.abs(errors)
    shown = (percent(float(figure)) for figure in (np.median(sizes), np.mean(sizes), np.mean(sizes <= 0.2)))
    bias = f"{np.median(errors):+.1%}"
    return f"| {TITLES[metric]} | {rows} | {who} | {len(offs)} | {' | '.join(shown)} | {bias} |"


def _peer_rows() -> dict[tuple[str, str], dict[str, str]]:
    with (RUNS / "peer_aiconfigurator.csv").open(encoding="utf-8", newline="") as file:
        return {(row["id"], row["metric"]): row for row in csv.DictReader(file)}


def scored(scores: Iterable[Score]) -> Iterator[str]:
    """Averages over sources, then every source."""
    yield from SCORES
    for score in scores:
        if score.of in {"group", "source"} and score.answered:
            yield score_row(score)


def score_row(score: Score) -> str:
    """One line of errors."""
    source = "**all, averaged over sources**" if score.of == "group" else score.name
    figure = score.group if score.metric == score.group else f"{score.metric}, {score.group}"
    figures = (score.median_error, score.p90_error, score.within_20_percent, score.bias, score.band_coverage)
    return (
        f"| {figure} | {source} | {score.measured} | {score.answered} | {' | '.join(map(percent, figures))} "
        f"| {'-' if score.width is None else f'{score.width:.2f}'} |"
    )


def by_group(
    runs: Iterable[PredictedFigure], pick: Pick, *, left: Left, way: str, most: int | None = None
) -> Iterator[str]:
    """Errors by chip or by model, in sample and where the chip or model was left out."""
    groups: dict[tuple[str, str], list[PredictedFigure]] = {}
    for run in runs:
        groups.setdefault((pick(run), run.metric), []).append(run)
    yield f"| {way} | figure | rows | median | within 20 % | bias | {way} left out | in the band |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    chosen = sorted(groups, key=lambda key: (-len(groups[key]), key))[:most]
    for key in sorted(chosen):
        yield _group_row(key, groups[key], left=left, way=way)


def _group_row(key: tuple[str, str], runs: Sequence[PredictedFigure], *, left: Left, way: str) -> str:
    errors = np.expm1([run.off for run in runs])
    out = [
        left[run.id, run.metric][f"{way}_out"]
        for run in runs
        if f"{way}_out" in left.get((run.id, run.metric), {})
    ]
    flags = [run.holds for run in runs if run.holds is not None]
    shown = (
        percent(float(np.median(np.abs(errors)))), percent(float(np.mean(np.abs(errors) <= 0.2))),
        f"{np.median(errors):+.1%}",
        percent(float(np.median(np.abs(np.expm1(out)))) if out else None),
        percent(float(np.mean(flags)) if flags else None),
    )  # fmt: skip
    name, metric = key
    return f"| {name} | {TITLES[metric]} | {len(runs)} | {' | '.join(shown)} |"


def covered(coverages: Sequence[Coverage]) -> Iterator[str]:
    """How many runs bands hold that were made without them."""
    yield "| terms | left out | groups | runs | in the band | lowest group |"
    yield "| --- | --- | ---: | ---: | ---: | --- |"
    for average in (coverage for coverage in coverages if not coverage.name):
        mine = [coverage for coverage in coverages if coverage.by == average.by and coverage.name]
        worst = min(mine, key=lambda coverage: (coverage.inside, coverage.name))
        subject, _, way = average.by.partition(":")
        yield (
            f"| {subject} | {way} | {len(mine)} | {average.runs} | {average.inside:.1%} | "
            f"{worst.name} ({worst.runs} runs): {worst.inside:.0%} |"
        )


def percent(share: float | None) -> str:
    """A share as it is shown."""
    return "-" if share is None or np.isnan(share) else f"{share:.1%}"

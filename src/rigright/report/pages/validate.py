"""The page of `validate`: errors macro-averaged over sources, then by source, chip and model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rigright.base import telling
from rigright.base.page import Line, Page, Points, Table, number, prose, records
from rigright.base.words import Sentence, say, split
from rigright.verbs.validate.record import Judged, Prediction, Score, Validation

MOST_ROWS = 8  # of a table; the rest is stated in `--json`
_MOST_REASONS = 8
FEW = 16  # figures that are shown one by one
_UNTOLD = "-"  # the name of what rows leave empty

_TITLES = {
    "group": say("averaged over sources"),
    "source": say("by source"),
    "chip": say("by chip"),
    "model": say("by model"),
}


def page(result: Validation) -> Page:
    """The page for people."""
    head = say("{file}: {rows} rows of {kind}", file=result.file, rows=len(result.rows), kind=result.kind)
    if not result.rows:
        return Page.of(head, Line.warn(say("the table has a header but no rows")))
    beside = [(row, item) for row in result.rows for item in row.predictions if item.error is not None]
    few = beside if len(beside) <= FEW else []
    tables = (table for dimension in _TITLES if (table := _table(result, dimension)) is not None)
    assumed = dict.fromkeys(part for _, prediction in few for part in split(prediction.why))
    faults = tuple(fault for row in result.rows for fault in row.faults)
    unreadable = say("{count} unreadable measured values", count=len(faults))
    return Page.of(
        _beside_verdict(few) if few else _verdict(result),
        Line.dim(head),
        _beside(few) if few else None,
        (table for table in tables if not (few and len(table.rows) == len(few))),
        Points.of(list(assumed)[:_MOST_REASONS], title=say("assumed")),
        Points.of(_reasons(result), title=say("not answered"), tone="warn"),
        Points.of(faults[:_MOST_REASONS], title=unreadable, tone="warn"),
    )


def _beside_verdict(beside: Sequence[tuple[Judged, Prediction]]) -> Line:
    """Of few figures: how many their bands hold."""
    inside, all_of = sum(bool(prediction.holds) for _, prediction in beside), len(beside)
    sentence = say("{inside} of {all} measured values are within their 80 % band", inside=inside, all=all_of)
    return Line(text=sentence, tone="good" if inside >= 0.8 * all_of else "warn")


def _beside(beside: Sequence[tuple[Judged, Prediction]]) -> Table:
    """Few figures, each beside what was measured."""
    return records(
        beside,
        (
            (prose(say("what")), lambda pair: f"{_what(pair[1])}, {pair[0].id}"),
            (number(say("measured")), lambda pair: _short(pair[1].measured)),
            (number(say("predicted")), lambda pair: _short(pair[1].predicted)),
            (number(say("80 % band")), lambda pair: f"{_short(pair[1].low)}-{_short(pair[1].high)}"),
            (number(say("off by")), lambda pair: _percent(pair[1].error, signed=True)),
        ),
        tone=lambda pair: "good" if pair[1].holds else "warn",
    )


def _what(prediction: Prediction | Score) -> str:
    """The figure, and what of it may be pooled."""
    metric, group = prediction.metric, prediction.group
    return metric if metric == group else f"{metric} ({group})"


def _short(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _verdict(result: Validation) -> Line:
    ones = [prediction for row in result.rows for prediction in row.predictions]
    answered = sum(prediction.predicted is not None for prediction in ones)
    measured = sum(prediction.error is not None for prediction in ones)
    fields = {"answered": answered, "all": len(ones), "measured": measured}
    sentence = say("predicted {answered} of {all} values; {measured} compared with measurements", **fields)
    return Line(text=sentence, tone="good" if measured else "plain" if answered else "warn")


def _table(result: Validation, dimension: str) -> Table | None:
    scores = [score for score in result.scores if score.of == dimension and score.answered]
    if all(score.name == _UNTOLD for score in scores):
        return None
    worst = sorted(scores, key=lambda score: -score.measured)[:MOST_ROWS]
    return records(
        worst,
        (
            (say("what"), _what),
            (prose(""), lambda score: "" if score.of == "group" else score.name),
            (number(say("measured")), lambda score: str(score.measured)),
            (number(say("answered")), lambda score: str(score.answered)),
            (number(say("median error")), lambda score: _percent(score.median_error)),
            (number(say("p90 error")), lambda score: _percent(score.p90_error)),
            (number(say("within 20 %")), lambda score: _percent(score.within_20_percent)),
            (number(say("bias")), lambda score: _percent(score.bias, signed=True)),
            (number(say("in band")), lambda score: _percent(score.band_coverage)),
        ),
        title=_TITLES[dimension],
    )


def _percent(share: float | None, *, signed: bool = False) -> str:
    if share is None:
        return "-"
    percent = round(100 * share, 1) + 0.0  # no minus before a zero
    return f"{percent:+.1f} %" if signed and percent else f"{percent:.1f} %"


def _reasons(result: Validation) -> Iterator[Sentence]:
    ones = (prediction for row in result.rows for prediction in row.predictions)
    why = Counter(one.why for one in ones if one.predicted is None and one.why is not None)
    for reason, times in why.most_common(_MOST_REASONS):
        yield say("{times} times: {reason}", times=times, reason=reason) if times > 1 else reason


plain = telling.RecordPrinter(Validation)

"""The page of `validate`: errors macro-averaged over sources, then by source, chip and model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rigright.base import telling
from rigright.base.page import Line, Page, Part, Points, Shown, Table, number, prose, table
from rigright.base.words import Sentence, say, split
from rigright.verbs.validate.validation import Judged, Prediction, Score, Validation

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
_HEADS = (
    say("what"),
    prose(""),
    number(say("measured")),
    number(say("answered")),
    number(say("median error")),
    number(say("p90 error")),
    number(say("within 20 %")),
    number(say("bias")),
    number(say("in band")),
)
_BESIDE = (
    prose(say("what")),
    number(say("measured")),
    number(say("predicted")),
    number(say("80 % band")),
    number(say("off by")),
)


def page(result: Validation) -> Page:
    """The page for people."""
    head = say("{file}: {rows} rows of {kind}", file=result.file, rows=len(result.rows), kind=result.kind)
    if not result.rows:
        return Page.of(head, Line.warn(say("the table has a header but no rows")))
    beside = [
        (row, prediction)
        for row in result.rows
        for prediction in row.predictions
        if prediction.error is not None
    ]
    is_few = 0 < len(beside) <= FEW
    answer = _beside_verdict(beside) if is_few else _verdict(result)
    parts: list[Part] = [Line.dim(head)]
    if is_few:
        parts.append(_beside(beside))
    parts += [
        table
        for dimension in _TITLES
        if (table := _table(result, dimension)) is not None
        and not (is_few and len(table.rows) == len(beside))
    ]
    if is_few:
        assumed = tuple(dict.fromkeys(part for _, prediction in beside for part in split(prediction.why)))
        if assumed:
            parts.append(Points.of(assumed[:_MOST_REASONS], title=say("assumed")))
    reasons = tuple(_reasons(result))
    parts.append(Points.of(reasons, title=say("not answered"), tone="warn"))
    faults = tuple(fault for row in result.rows for fault in row.faults)
    if faults:
        title = say("{count} unreadable measured values", count=len(faults))
        parts.append(Points.of(faults[:_MOST_REASONS], title=title, tone="warn"))
    return Page.of(answer, parts)


def _beside_verdict(beside: Sequence[tuple[Judged, Prediction]]) -> Line:
    """Of few figures: how many their bands hold."""
    inside, all_of = sum(bool(prediction.holds) for _, prediction in beside), len(beside)
    sentence = say("{inside} of {all} measured values are within their 80 % band", inside=inside, all=all_of)
    return Line(text=sentence, tone="good" if inside >= 0.8 * all_of else "warn")


def _beside(beside: Sequence[tuple[Judged, Prediction]]) -> Table:
    """Few figures, each beside what was measured."""
    rows = tuple(
        (
            f"{_what(prediction)}, {row.id}",
            _short(prediction.measured),
            _short(prediction.predicted),
            f"{_short(prediction.low)}-{_short(prediction.high)}",
            _percent(prediction.error, signed=True),
        )
        for row, prediction in beside
    )
    tones = tuple("good" if prediction.holds else "warn" for _, prediction in beside)
    return table(_BESIDE, rows, tones=tones)  # type: ignore[arg-type]


def _what(prediction: Prediction | Score) -> str:
    """The figure, and what of it may be pooled."""
    return (
        prediction.metric
        if prediction.metric == prediction.group
        else f"{prediction.metric} ({prediction.group})"
    )


def _short(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _verdict(result: Validation) -> Line:
    ones = [prediction for row in result.rows for prediction in row.predictions]
    answered = sum(prediction.predicted is not None for prediction in ones)
    measured = sum(prediction.error is not None for prediction in ones)
    sentence = say(
        "predicted {answered} of {all} values; {measured} compared with measurements",
        answered=answered,
        all=len(ones),
        measured=measured,
    )
    return Line(text=sentence, tone="good" if measured else "plain" if answered else "warn")


def _table(result: Validation, dimension: str) -> Table | None:
    scores = [score for score in result.scores if score.of == dimension and score.answered]
    if all(score.name == _UNTOLD for score in scores):
        return None
    worst = sorted(scores, key=lambda score: -score.measured)[:MOST_ROWS]
    return table(_HEADS, (_cells(score) for score in worst), title=_TITLES[dimension])


def _cells(score: Score) -> tuple[Shown, ...]:
    what = _what(score)
    name = "" if score.of == "group" else score.name
    sizes = (_percent(score.median_error), _percent(score.p90_error), _percent(score.within_20_percent))
    figures = (*sizes, _percent(score.bias, signed=True))
    return (what, name, str(score.measured), str(score.answered), *figures, _percent(score.band_coverage))


def _percent(share: float | None, *, signed: bool = False) -> str:
    if share is None:
        return "-"
    percent = round(100 * share, 1) + 0.0  # no minus before a zero
    return f"{percent:+.1f} %" if signed and percent else f"{percent:.1f} %"


def _reasons(result: Validation) -> Iterator[Sentence]:
    why: Counter[Sentence] = Counter(
        prediction.why
        for row in result.rows
        for prediction in row.predictions
        if prediction.predicted is None and prediction.why is not None
    )
    for reason, times in why.most_common(_MOST_REASONS):
        yield say("{times} times: {reason}", times=times, reason=reason) if times > 1 else reason


plain = telling.RecordPrinter(Validation)

"""The metrics, and the two forms of text in which Prometheus reads them.

What stays the same of a series is written once and kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

from rigright.base.loader import records
from rigright.base.record import dataclass

_OPEN, _CLASSIC = "application/openmetrics-text", "text/plain"
_VERSIONS = {_OPEN: {"": "1.0.0", "1.0.0": "1.0.0"}, _CLASSIC: {"1.0.0": "1.0.0"}}  # asked for -> answered
_MOST_KEPT = 20_000  # series
_ODD = {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}
_EARLIEST_EXPONENT = 6  # digits before the point, from which on Go writes one

Sample = tuple[tuple[str, ...], float]  # values of labels, and the figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric."""

    name: str
    kind: str  # "gauge", "counter"; of NVIDIA's exporter "unknown", too
    unit: str | None = None
    labels: tuple[str, ...] = ()
    of: str  # the kind of record that it is read of
    field: str  # of that record
    help: str
    dcgm: str | None = None  # the same in NVIDIA's exporter
    dcgm_factor: float | None = None  # of a value into that one's unit


@cache
def metrics() -> tuple[Metric, ...]:
    """All of them, in the order they are told."""
    return records("metrics.csv", Metric)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One of the two."""

    is_open: bool  # OpenMetrics
    content_type: str

    def text(self, families: Iterable[tuple[Metric, Iterable[Sample]]]) -> str:
        """A whole page; a metric without a sample is left out."""
        lines = [line for metric, samples in families for line in self._lines(metric, samples)]
        return "".join([*lines, "# EOF\n"] if self.is_open else lines)

    def _lines(self, metric: Metric, samples: Iterable[Sample]) -> Iterator[str]:
        series = metric.name, metric.labels
        lines = [f"{_front(series, values)}{figure(value)}\n" for values, value in samples]
        if lines:
            yield _head(metric, is_open=self.is_open)
            yield from lines


def chosen(accept: str) -> Form:
    """The form that a reader asks for first."""
    for text in accept.split(","):
        kind, *options = (part.strip() for part in text.split(";"))
        version = next((part.removeprefix("version=") for part in options if part.startswith("version=")), "")
        answered = _VERSIONS.get(kind, {}).get(version)
        if answered is not None:
            escapes = "; escaping=underscores" if version else ""
            given = f"{kind}; version={answered}; charset=utf-8{escapes}"
            return Form(is_open=kind == _OPEN, content_type=given)
    return Form(is_open=False, content_type=f"{_CLASSIC}; version=0.0.4; charset=utf-8")


def figure(value: float) -> str:
    """A number as Go would write it."""
    text = repr(float(value))
    point = text.find(".")
    if point > _EARLIEST_EXPONENT and value > 0:
        digits = f"{text[0]}.{text[1:point]}{text[point + 1 :]}".rstrip("0.")
        return f"{digits}e+{point - 1:02d}"
    return _ODD.get(text, text)


@lru_cache(_MOST_KEPT)
def _front(series: tuple[str, tuple[str, ...]], values: tuple[str, ...]) -> str:
    """A line but for its figure: of a name and its labels, and what they are."""
    name, labels = series
    if not labels:
        return f"{name} "
    pairs = (f'{label}="{_escaped(value)}"' for label, value in sorted(zip(labels, values, strict=True)))
    return f"{name}{{{','.join(pairs)}}} "


@lru_cache
def _head(metric: Metric, *, is_open: bool) -> str:
    name, text, kind = metric.name, metric.help.replace("\\", r"\\").replace("\n", r"\n"), metric.kind
    if is_open:
        name, text = name.removesuffix("_total"), _escaped(metric.help)
    elif kind == "unknown":
        kind = "untyped"
    return f"# HELP {name} {text}\n# TYPE {name} {kind}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")

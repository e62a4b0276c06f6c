"""The two forms of text that Prometheus reads; what stays the same of a series is written once and kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

_OPEN, _CLASSIC = "application/openmetrics-text", "text/plain"
_VERSIONS = {_OPEN: {"": "1.0.0", "1.0.0": "1.0.0"}, _CLASSIC: {"1.0.0": "1.0.0"}}  # asked for -> answered
_MOST_KEPT = 20_000  # series
_ODD = {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}
_EARLIEST_EXPONENT = 6  # digits before the point, from which on Go writes one

Sample = tuple[tuple[str, ...], float]  # values of labels, and the figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Samples of one name."""

    name: str
    kind: str  # "gauge", "counter", "unknown"
    help: str
    labels: tuple[str, ...]
    samples: Iterable[Sample]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One of the two."""

    is_open: bool  # OpenMetrics
    content_type: str

    def text(self, families: Iterable[Family]) -> str:
        """A whole page; a family without a sample is left out."""
        lines = [line for family in families for line in self._lines(family)]
        return "".join([*lines, "# EOF\n"] if self.is_open else lines)

    def _lines(self, family: Family) -> Iterator[str]:
        series = family.name, family.labels
        lines = [f"{_front(series, values)}{figure(value)}\n" for values, value in family.samples]
        if lines:
            yield _head(family.name, family.kind, given=family.help, is_open=self.is_open)
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
def _head(name: str, kind: str, *, given: str, is_open: bool) -> str:
    if is_open:
        return f"# HELP {_bare(name)} {_escaped(given)}\n# TYPE {_bare(name)} {kind}\n"
    text = given.replace("\\", r"\\").replace("\n", r"\n")
    return f"# HELP {name} {text}\n# TYPE {name} {'untyped' if kind == 'unknown' else kind}\n"


def _bare(name: str) -> str:
    return name.removesuffix("_total")


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")

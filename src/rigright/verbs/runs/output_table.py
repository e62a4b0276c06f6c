"""Output that a table describes (data/outputs.toml): keys of JSON or patterns of logs -> rows of ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from statistics import median
from typing import Any

from rigright.base.bounded import bounded_csv
from rigright.base.tables import DATA, read_toml
from rigright.base.units import KILO
from rigright.verbs.runs.columns import RunSetup
from rigright.verbs.runs.document import (
    Document,
    OutputFormat,
    Run,
    anywhere,
    cells,
    first,
    inside,
    model_named,
    number,
    share,
    word,
)

TEXTS = frozenset({"engine", "engine_version", "model", "measured", "chip", "weights", "mode"})
FILE, HEAVY = "file", ("metrics", "requests", "file")  # of a run: the whole file, and what names no model
SIZE = " ?([0-9.]{1,12}) ?Gi?B"
_UNITS = {"s": KILO, "sec": KILO, "seconds": KILO, "us": 1 / KILO, "ns": 1 / KILO**2}  # in ms
_MEANS = ("avg", "successful.mean", "total.mean")  # where programs write the mean of a figure
_TITLE = re.compile(r"(?P<name>[^(]+?)\s*(?:\((?P<unit>[^)]*)\))?\s*\Z")
_LEVEL = re.compile(r"concurrency[-_ ]?(\d{1,18})", re.IGNORECASE)
_DAY = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})")
_PICKS: dict[str, Callable[[list[float]], float]] = {
    "most": max,
    "least": min,
    "first": lambda values: values[0],
    "steady": lambda values: median(values[1:] or values),  # the first step compiles and fills caches
}
Spec = Mapping[str, Any]


@cache
def described() -> tuple[OutputFormat, ...]:
    """Every program of the table."""
    table, output_formats = read_toml(DATA / "outputs.toml"), list[OutputFormat]()
    for name in dict.fromkeys(row["name"] for row in table["json"]):
        specs = tuple(row for row in table["json"] if row["name"] == name)
        output_formats.append(
            OutputFormat(name=name, claims=partial(_has_runs, specs), rows=partial(_json_rows, specs=specs))
        )
    for row in table["log"]:
        output_formats.append(
            OutputFormat(name=row["name"], claims=partial(_is_log, row), rows=partial(_log_rows, spec=row))
        )
    return tuple(output_formats)


def _has_runs(specs: Sequence[Spec], document: Document) -> bool:
    return any(_runs(document, specs))


def _runs(document: Document, specs: Sequence[Spec]) -> Iterator[tuple[Mapping[str, Any], Spec]]:
    """The runs of a file, each with the block that describes it."""
    heads = tuple(head for spec in specs for head in spec.get("csv", ()))
    wholes = document.objects
    if not wholes and heads and document.text[:2000].lstrip("\ufeff").lower().startswith(heads):
        wholes = (_csv_means(document.text),)
    for whole in wholes:
        for spec in specs:
            listed = whole.get(spec["each"]) if "each" in spec else [whole]
            for value in listed if isinstance(listed, list) else ():
                if isinstance(value, Mapping) and all(_stands(value, key) for key in spec["claims"]):
                    yield {**value, FILE: whole}, spec


def _stands(row: Mapping[str, Any], key: str) -> bool:
    return key in row or inside(row, key) is not None


def _csv_means(text: str) -> dict[str, Any]:
    """The tables of a CSV as JSON would have them: metric -> unit and mean."""
    read: dict[str, Any] = {}
    try:
        for _, line in bounded_csv(text.splitlines()):
            title = _TITLE.match(line[0]) if len(line) > 1 else None
            if title is not None and number(line[1]) is not None:
                name = title["name"].strip().lower().replace(" ", "_")
                read[name] = {"unit": title["unit"] or "", "avg": number(line[1])}
    except ValueError:
        return {}
    return read


def _json_rows(document: Document, setup: RunSetup, *, specs: Sequence[Spec]) -> Iterator[Run]:
    """A row for each figure of each run."""
    for row, spec in _runs(document, specs):
        fields: dict[str, object] = {"mode": "serve"}
        for column, where in spec["cells"].items():
            fields[column] = (
                _text(row, where, column=column) if column in TEXTS else _number(row, where, setup=setup)
            )
        figures = {metric: _number(row, where) for metric, where in spec["figures"].items()}
        fields["arch"] = model_named(fields.get("model"))
        both = _number(row, spec.get("both_tok", ()))
        if both:
            prompt, output = setup.number("prompt"), setup.number("output")
            output = output or (both - prompt if prompt else None)
            fields["output_tok"] = output
            fields["prompt_tok"] = both - output if output and output < both else None
        if "load" in spec:
            fields["load"] = _load(
                row, spec["load"], file=document, output_tok=fields.get("output_tok"), of=figures
            )
        for metric, value in figures.items():
            if value is not None:
                yield Run(kind="inference", cells=cells({**fields, "metric": metric, "value": value}))


def _load(
    row: Mapping[str, Any], where: Spec, *, file: Document, output_tok: Any, of: Mapping[str, float | None]
) -> float | None:
    """Requests in flight: as told, as many as were let in, as a name says, or by Little's law."""
    value, rate, seen, per_s, limit, completed = (
        _number(row, where.get(name, ())) for name in ("told", "rate", "seen", "per_s", "limit", "completed")
    )
    if value:
        return value
    ttft_ms, tpot_ms, whole_ms = of.get("ttft_ms"), of.get("tpot_ms"), of.get("latency_ms")
    if ttft_ms and tpot_ms and output_tok:
        whole_ms = ttft_ms + tpot_ms * max(output_tok - 1, 0)
    elif rate:
        whole_ms = None
    flying = max(1.0, per_s * whole_ms / KILO) if per_s and whole_ms else None
    if rate:
        return min(filter(None, (seen or flying, limit)), default=None) if seen or flying else None
    level = _LEVEL.search(file.name) or (_LEVEL.search(file.folder.name) if file.folder else None)
    named = float(level[1]) if level else None
    return min(filter(None, (limit, completed)), default=None) or named or flying


def _number(item: object, where: Any, *, setup: RunSetup | None = None) -> float | None:
    """The first figure above zero of where a cell may stand."""
    for place in [where] if isinstance(where, str) else where:
        if place.startswith("--"):
            value = None if setup is None else setup.number(place[2:])
        elif " / " in place:
            above, below = place.split(" / ")
            value = share(_number(item, above), _number(item, below))
        elif " * " in place:
            plain, times = place.split(" * ")
            value = _number(item, plain)
            value = None if value is None else value * float(times)
        elif place.startswith("count "):
            value = number(len(list(_places(item, place[6:]))))
        else:
            values = [
                value for result in _places(item, place.removeprefix("last ")) if (value := _mean(result))
            ]
            value = (values[-1] if place.startswith("last ") else values[0]) if values else None
        if value is not None:
            return value
    return None


def _text(value: object, where: Any, *, column: str) -> str:
    """The first words of where a cell may stand."""
    for place in [where] if isinstance(where, str) else where:
        words = [_named(result) for result in _places(value, place.removeprefix("alike "))]
        if place.startswith("alike ") and len(set(words)) != 1:
            continue
        text = next(filter(None, words), "")
        if column == "engine" and not place.startswith("="):
            names: dict[str, str] = read_toml(DATA / "outputs.toml")["engines"]
            text = next((engine for name, engine in names.items() if text.startswith(name)), "")
        elif column == "weights":
            text = _format(text)
        elif column == "measured":
            day = _DAY.match(text)
            text = "-".join(day.groups()) if day else ""
        if text:
            return text
    return ""


def _places(item: object, place: str) -> Iterator[Any]:
    """All that stands at "a.b", or anywhere below a as "a**b"."""
    if place.startswith("="):
        yield place[1:]
    elif "**" in place:
        above, _, key = place.partition("**")
        if above:
            yield from anywhere(inside(item, above), key)
        elif isinstance(item, Mapping):
            yield from anywhere({name: value for name, value in item.items() if name not in HEAVY}, key)
    else:
        yield inside(item, place)


def _mean(anchors: object) -> float | None:
    """A figure, or the mean of several, in ms where it bears a unit of time."""
    if not isinstance(anchors, Mapping):
        return number(anchors)
    value = first(number(inside(anchors, where)) for where in _MEANS)
    return None if value is None else value * _UNITS.get(word(anchors.get("unit")).lower(), 1.0)


def _named(match: object) -> str:
    """A name, where programs write several, or a record of it."""
    item = match[0] if isinstance(match, list) and match else match
    items = inside(item, "items")
    item = items[0] if isinstance(items, list) and items else item
    return word(inside(item, "name") or item)


def _format(text: str) -> str:
    """What an engine calls a format, as we do."""
    return str(read_toml(DATA / "outputs.toml")["formats"].get(text, ""))


def _is_log(spec: Spec, document: Document) -> bool:
    return any(all(_pattern(value).search(document.text) for value in every) for every in spec["claims"])


def _log_rows(document: Document, setup: RunSetup, *, spec: Spec) -> Iterator[Run]:
    """Each figure of the last start in a log; of a training, all in one row."""
    del setup
    text = document.text[max(document.text.rfind(spec["start"]), 0) :] if "start" in spec else document.text
    fields: dict[str, object] = {column: _first_match(text, where) for column, where in spec["cells"].items()}
    figures: dict[str, float] = {}
    for figure in spec["figures"]:
        value = _logged(text, figure["patterns"], pick=_PICKS[figure["pick"]])
        if value and figure["what"] not in figures:
            figures[figure["what"]] = value * figure.get("times", 1)
    if spec["kind"] == "training":
        yield Run(kind="training", cells=cells({**fields, **figures}))
        return
    method, dtype = str(fields["quantization"]), str(fields["dtype"])
    fields |= {
        "arch": model_named(fields["model"]),
        "format": _format(dtype if method in {"", "None"} else method),
        "context": fields["max_model_len"],
    }
    for what, value in figures.items():
        yield Run(kind=spec["kind"], cells=cells({**fields, "what": what, "value_gib": value}))


def _logged(text: str, patterns: Sequence[str], *, pick: Callable[[list[float]], float]) -> float | None:
    """A figure as the first way of saying it that occurs has it; one that is said in parts is their sum."""
    for pattern in patterns:
        result = (
            sum(number(part) or 0.0 for part in match.groups()) for match in _pattern(pattern).finditer(text)
        )
        values = [value for item in result if (value := number(item))]
        if values:
            return pick(values)
    return None


def _first_match(text: str, where: Any) -> str:
    """What the first pattern that occurs says."""
    for pattern in [where] if isinstance(where, str) else where:
        if pattern.startswith("="):
            return str(pattern[1:])
        match = _pattern(pattern).search(text)
        if match is not None:
            return next(filter(None, match.groups()), "")
    return ""


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text.replace("<size>", SIZE))

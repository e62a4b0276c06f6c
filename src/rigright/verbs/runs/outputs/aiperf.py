"""JSON and CSV of NVIDIA's aiperf and of genai-perf before it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rigright.base.bounded import bounded_csv
from rigright.base.units import KILO
from rigright.verbs.runs.document import (
    Document,
    OutputFormat,
    Run,
    anywhere,
    in_flight,
    inside,
    model_named,
    number,
    served,
    word,
)
from rigright.verbs.runs.setup import RunSetup

_MS = {"ms": 1.0, "s": KILO, "sec": KILO, "seconds": KILO, "us": 1 / KILO, "ns": 1 / KILO**2}
_TITLE = re.compile(r"(?P<name>[^(]+?)\s*(?:\((?P<unit>[^)]*)\))?\s*\Z")
_LEVEL = re.compile(r"concurrency[-_ ]?(\d{1,18})", re.IGNORECASE)
_MARKS = {"request_latency", "request_throughput"}
_HEADS = ("metric,avg", "metric,value", "statistic,avg")


def claims(found: Document) -> bool:
    """Whether aiperf or genai-perf wrote it."""
    return any(one.keys() >= _MARKS for one in found.objects) or (
        not found.objects
        and found.text[:2000].lstrip("\ufeff").lower().startswith(_HEADS)
        and _tables(found).keys() >= _MARKS
    )


def rows(found: Document, setup: RunSetup) -> Iterator[Run]:
    """The one run of a file."""
    del setup
    for one in found.objects or (_tables(found),):
        if one.keys() >= _MARKS:
            yield from _run(one, found)


def _tables(found: Document) -> dict[str, Any]:
    """The tables of a CSV as its JSON would be: metric -> unit and mean."""
    read: dict[str, Any] = {}
    try:
        for _, line in bounded_csv(found.text.splitlines()):
            title = _TITLE.match(line[0]) if len(line) > 1 else None
            if title is not None and number(line[1]) is not None:
                name = title["name"].strip().lower().replace(" ", "_")
                read[name] = {"unit": title["unit"] or "", "avg": number(line[1])}
    except ValueError:
        return {}
    return read


def _run(one: Mapping[str, Any], found: Document) -> Iterator[Run]:
    config = one.get("input_config") or {}
    ttft, between, whole = (
        _ms(one.get(name)) for name in ("time_to_first_token", "inter_token_latency", "request_latency")
    )
    output = _mean(one.get("output_sequence_length")) or _mean(one.get("output_token_count"))
    each = in_flight(_mean(one.get("request_throughput")), ttft_ms=ttft, tpot_ms=between, output_tok=output)
    if each is None and whole and (per_s := _mean(one.get("request_throughput"))):
        each = max(1.0, per_s * whole / KILO)
    level = _LEVEL.search(found.name) or (_LEVEL.search(found.folder.name) if found.folder else None)
    said = [told for value in anywhere(config, "concurrency") if (told := number(value))]
    model = _model(config)
    gpus = [word(name) for name in anywhere(one.get("telemetry_data"), "gpu_name")]
    yield from served(
        {
            "model": word(model),
            "arch": model_named(model),
            "chip": gpus[0] if gpus and len(set(gpus)) == 1 else "",
            "n_chips": len(gpus) or None,
            "prompt_tok": _mean(one.get("input_sequence_length")),
            "output_tok": output,
        },
        load=(said[-1] if said else None)  # the last phase is the one that is measured
        or (float(level[1]) if level else None)
        or each,
        figures={
            "ttft_ms": ttft,
            "tpot_ms": between,
            "output_tok_s_total": _mean(one.get("output_token_throughput")),
            "latency_ms": whole,
        },
    )


def _model(config: Mapping[str, Any]) -> object:
    """The model, where each version of the program writes it."""
    for key in ("model_names", "model_name", "model", "models"):
        for found in anywhere(config, key):
            one = found[0] if isinstance(found, list) and found else found
            named = inside(one, "items")
            one = named[0] if isinstance(named, list) and named else one
            text = word(inside(one, "name") or one)
            if text:
                return text
    return ""


def _mean(found: object) -> float | None:
    return number(inside(found, "avg"))


def _ms(found: object) -> float | None:
    mean = _mean(found)
    return None if mean is None else mean * _MS.get(word(inside(found, "unit")).lower() or "ms", 1.0)


OUTPUT = OutputFormat(name="aiperf", claims=claims, rows=rows)

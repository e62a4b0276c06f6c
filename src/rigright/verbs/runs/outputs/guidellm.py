"""JSON of guidellm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rigright.base.units import KILO
from rigright.verbs.runs.document import (
    Document,
    OutputFormat,
    Run,
    anywhere,
    first,
    inside,
    model_named,
    number,
    served,
    word,
)
from rigright.verbs.runs.setup import RunSetup

_SEEN = ("successful", "total")  # of requests: those that ended well, else all


def _benchmarks(found: Document) -> list[Mapping[str, Any]]:
    every = [one for whole in found.objects for one in whole.get("benchmarks") or () if isinstance(one, dict)]
    return [one for one in every if inside(one, "metrics.output_tokens_per_second") is not None]


def claims(found: Document) -> bool:
    """Whether guidellm wrote it."""
    lists = (one.get("benchmarks") for one in found.objects)
    return any(isinstance(one, list) for one in lists) and bool(_benchmarks(found))


def rows(found: Document, setup: RunSetup) -> Iterator[Run]:
    """Each rate of a sweep."""
    del setup
    named = _model([one.get("args") for one in found.objects])
    for one in _benchmarks(found):
        yield from _run(one, named)


def _run(one: Mapping[str, Any], named: str) -> Iterator[Run]:
    metrics = one["metrics"]
    model = _model({key: value for key, value in one.items() if key not in {"metrics", "requests"}}) or named
    whole_s = _mean(metrics, "request_latency")
    streams = (number(value) for value in anywhere(one.get("config") or one.get("args"), "streams"))
    yield from served(
        {
            "engine": "vllm",
            "model": model,
            "arch": model_named(model),
            "prompt_tok": _mean(metrics, "prompt_token_count"),
            "output_tok": _mean(metrics, "output_token_count"),
        },
        load=first(streams) or _mean(metrics, "request_concurrency"),
        figures={
            "ttft_ms": _mean(metrics, "time_to_first_token_ms"),
            "tpot_ms": _mean(metrics, "inter_token_latency_ms"),
            "output_tok_s_total": _mean(metrics, "output_tokens_per_second"),
            "latency_ms": None if whole_s is None else whole_s * KILO,
        },
    )


def _mean(metrics: Mapping[str, Any], name: str) -> float | None:
    return number(first(number(inside(metrics, f"{name}.{seen}.mean")) for seen in _SEEN))


def _model(found: object) -> str:
    keys = ("backend_model", "model", "model_name")
    return word(first(word(one) for key in keys for one in anywhere(found, key)))


OUTPUT = OutputFormat(name="guidellm", claims=claims, rows=rows)

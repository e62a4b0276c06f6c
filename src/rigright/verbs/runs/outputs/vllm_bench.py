"""JSON of `vllm bench serve`, `bench latency` and `bench throughput`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rigright.base.units import KILO
from rigright.verbs.runs.document import (
    Document,
    OutputFormat,
    Run,
    cells,
    first,
    in_flight,
    model_named,
    number,
    served,
    share,
    word,
)
from rigright.verbs.runs.setup import RunSetup

_DAY = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})")
_ENGINES = {"sglang": "sglang", "tensorrt-llm": "tensorrt-llm", "lmdeploy": "lmdeploy"}


def _is_served(one: Mapping[str, Any]) -> bool:
    return {"model_id", "output_throughput", "completed"} <= one.keys()


def _is_latency(one: Mapping[str, Any]) -> bool:
    return {"avg_latency", "latencies"} <= one.keys()


def _is_throughput(one: Mapping[str, Any]) -> bool:
    return {"elapsed_time", "total_num_tokens", "tokens_per_second"} <= one.keys()


def claims(found: Document) -> bool:
    """Whether vLLM wrote it."""
    return any(_is_served(one) or _is_latency(one) or _is_throughput(one) for one in found.objects)


def rows(found: Document, setup: RunSetup) -> Iterator[Run]:
    """Each benchmark of a file."""
    for one in found.objects:
        if _is_served(one):
            yield from _served(one)
        elif _is_latency(one):
            yield from _latency(one, setup)
        elif _is_throughput(one):
            yield from _throughput(one, setup)


def _served(one: Mapping[str, Any]) -> Iterator[Run]:
    completed = number(one["completed"])
    prompt, output = (share(number(one.get(f"total_{of}_tokens")), completed) for of in ("input", "output"))
    ttft, tpot = (number(one.get(f"mean_{of}_ms")) for of in ("ttft", "tpot"))
    limit, rate = number(one.get("max_concurrency")), number(one.get("request_rate"))
    if rate is not None and not math.isinf(rate):
        load = in_flight(number(one.get("request_throughput")), ttft_ms=ttft, tpot_ms=tpot, output_tok=output)
        load = min(load, limit) if load and limit else load
    else:
        load = min(limit, completed) if limit and completed else limit or completed
    day = _DAY.match(word(one.get("date")))
    yield from served(
        {
            "engine": _ENGINES.get(word(one.get("backend")), "vllm"),
            "engine_version": first(word(one.get(key)) for key in ("vllm_version", "version")),
            "model": word(one["model_id"]),
            "arch": model_named(one["model_id"]),
            "measured": "-".join(day.groups()) if day else "",
            "tp": number(first(one.get(key) for key in ("tensor_parallel_size", "tp"))),
            "prompt_tok": prompt,
            "output_tok": output,
        },
        load=load,
        figures={
            "ttft_ms": ttft,
            "tpot_ms": tpot,
            "output_tok_s_total": number(one.get("output_throughput")),
            "latency_ms": number(one.get("mean_e2el_ms")),
        },
    )


def _latency(one: Mapping[str, Any], setup: RunSetup) -> Iterator[Run]:
    """One batch at a time; `bench latency` runs 8 sequences of 32 + 128 tokens unless told."""
    seconds = number(one["avg_latency"])
    if seconds is not None:
        usual = {"load": setup.number("batch") or 8, "prompt_tok": 32, "output_tok": 128}
        told = {"engine": "vllm", "mode": "batch", **usual, "metric": "latency_ms", "value": seconds * KILO}
        yield Run(kind="inference", cells=cells(told))


def _throughput(one: Mapping[str, Any], setup: RunSetup) -> Iterator[Run]:
    """As many as fit; the file counts tokens of prompts and outputs together."""
    both = share(number(one["total_num_tokens"]), number(one.get("num_requests")))
    prompt, output = setup.number("prompt"), setup.number("output")
    output = output or (both - prompt if prompt and both else None)
    told = {
        "engine": "vllm",
        "mode": "max",
        "output_tok": output,
        "prompt_tok": both - output if both and output and output < both else None,
        "metric": "total_tok_s",
        "value": number(one["tokens_per_second"]),
    }
    if told["value"] is not None:
        yield Run(kind="inference", cells=cells(told))


OUTPUT = OutputFormat(name="vllm bench", claims=claims, rows=rows)

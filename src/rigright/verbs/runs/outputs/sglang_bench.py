"""JSON lines of `python -m sglang.bench_serving`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rigright.verbs.runs.document import (
    Document,
    OutputFormat,
    Run,
    first,
    inside,
    model_named,
    number,
    served,
    share,
    word,
)
from rigright.verbs.runs.setup import RunSetup

_BACKENDS = {"vllm": "vllm", "trt": "tensorrt-llm", "lmdeploy": "lmdeploy"}


def _is_run(one: Mapping[str, Any]) -> bool:
    return {"mean_ttft_ms", "output_throughput", "total_output_tokens_retokenized"} <= one.keys()


def claims(found: Document) -> bool:
    """Whether SGLang wrote it."""
    return any(_is_run(one) for one in found.objects)


def rows(found: Document, setup: RunSetup) -> Iterator[Run]:
    """Each line."""
    del setup
    for one in filter(_is_run, found.objects):
        yield from _run(one)


def _run(one: Mapping[str, Any]) -> Iterator[Run]:
    server = one.get("server_info") or {}
    completed = number(one.get("completed"))
    mean, limit = number(one.get("concurrency")), number(one.get("max_concurrency"))
    rate = number(one.get("request_rate"))
    # with a rate, the mean it saw in flight; else as many as were let in
    load = mean if rate is not None else min(limit, completed) if limit and completed else limit or completed
    backend = word(one.get("backend"))
    engine = next((engine for name, engine in _BACKENDS.items() if backend.startswith(name)), "sglang")
    path = first((inside(server, "model_path"), one.get("model"), one.get("model_id")))
    quantized = word(inside(server, "quantization"))
    yield from served(
        {
            "engine": engine,
            "engine_version": word(inside(server, "version")),
            "model": word(path),
            "arch": model_named(path),
            "weights": quantized if quantized == "fp8" else "",
            "tp": number(inside(server, "tp_size")),
            "ep": number(inside(server, "ep_size")),
            "pp": number(inside(server, "pp_size")),
            "prompt_tok": share(number(one.get("total_input_tokens")), completed),
            "output_tok": share(number(one.get("total_output_tokens")), completed),
        },
        load=load,
        figures={
            "ttft_ms": number(one.get("mean_ttft_ms")),
            "tpot_ms": number(one.get("mean_tpot_ms")),
            "output_tok_s_total": number(one.get("output_throughput")),
            "latency_ms": number(one.get("mean_e2e_latency_ms")),
        },
    )


OUTPUT = OutputFormat(name="sglang bench_serving", claims=claims, rows=rows)

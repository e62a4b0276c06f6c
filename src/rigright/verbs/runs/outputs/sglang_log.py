"""What SGLang logs as it starts: weights, KV cache, CUDA graphs. Its "GB" are GiB."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.verbs.runs.document import Document, OutputFormat, Run, cells, model_named, number
from rigright.verbs.runs.setup import RunSetup

_GB = r"([0-9.]{1,12}) GB"
_WEIGHTS = re.compile(r"Load weight end\..{0,200}?dtype=(?:torch\.)?(\w{1,20}).{0,200}?mem usage=" + _GB)
_CACHE = re.compile(
    r"KV Cache is allocated\..{0,200}?#tokens: (\d{1,12})"
    rf"(?:, K size: {_GB}, V size: {_GB}|, KV size: {_GB})?"
)
_GRAPHS = re.compile(r"Capture (?:\w{1,20} )?cuda graph end\..{0,200}?mem usage=" + _GB, re.IGNORECASE)
_TOKENS = re.compile(r"max_total_num_tokens=(\d{1,12})")
_SETTINGS = {  # column -> name among the server's arguments
    "tp": "tp_size", "pp": "pp_size", "dp": "dp_size", "gpu_memory_utilization": "mem_fraction_static",
    "max_model_len": "context_len(?:gth)?", "max_num_seqs": "max_running_requests",
    "max_num_batched_tokens": "chunked_prefill_size",
}  # fmt: skip
_MODEL = re.compile(r"model_path='([^']{1,300})'")
_QUANTIZED = re.compile(r"\bquantization='(\w{1,40})'")
_KV = re.compile(r"kv_cache_dtype='(\w{1,40})'")
_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


def claims(found: Document) -> bool:
    """Whether SGLang logged it."""
    return "KV Cache is allocated" in found.text or (
        "max_total_num_tokens=" in found.text and "max_running_requests=" in found.text
    )


def rows(found: Document, setup: RunSetup) -> Iterator[Run]:
    """Each figure of a start; those of a draft model, which come after, are left out."""
    del setup
    text = found.text
    model, quantized, kv = (_one(pattern, text) for pattern in (_MODEL, _QUANTIZED, _KV))
    weights, cache, graphs = (pattern.search(text) for pattern in (_WEIGHTS, _CACHE, _GRAPHS))
    settings = {
        column: _one(re.compile(rf"\b{name}=([0-9.]{{1,12}})"), text) for column, name in _SETTINGS.items()
    }
    common = {
        "engine": "sglang",
        "model": model,
        "arch": model_named(model),
        "format": quantized or (_DTYPES.get(weights[1], "") if weights else ""),
        **settings,
        "context": settings["max_model_len"],
        "kv": kv or "auto",
    }
    sizes = [number(size) or 0.0 for size in cache.groups()[1:]] if cache else []
    figures = {
        "weights_per_gpu": number(weights[2]) if weights else None,
        "kv_cache_available_per_gpu": number(sum(sizes)),
        "kv_tokens": number(cache[1] if cache else _one(_TOKENS, text)),
        "cuda_graph_per_gpu": number(graphs[1]) if graphs else None,
    }
    for what, value in figures.items():
        if value is not None:
            yield Run(kind="memory", cells=cells({**common, "what": what, "value_gib": value}))


def _one(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[1] if found else ""


OUTPUT = OutputFormat(name="sglang log", claims=claims, rows=rows)

"""What vLLM logs as it starts: weights, activation peak, CUDA graphs, and the KV cache that was left."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from rigright.verbs.runs.document import Document, OutputFormat, Run, cells, model_named, number
from rigright.verbs.runs.setup import RunSetup

_ENGINE = re.compile(r"Initializing (?:a V1 |an )?LLM engine \(v(\d{1,4}(?:\.\d{1,4}){1,3})")
_BOOT = "vLLM API server version"
_SERVER = re.compile(_BOOT + r" v?(\d{1,4}(?:\.\d{1,4}){1,3})")
_GIB = r" ?(?P<value>[0-9.]{1,12}) ?Gi?B"
Pick = Callable[[list[float]], float]
# figure -> how it is logged, by version, and which of several ranks counts
_FIGURES: tuple[tuple[str, tuple[str, ...], Pick], ...] = (
    (
        "weights_per_gpu",
        (
            rf"model weights take{_GIB}",
            rf"weights memory:{_GIB}",
            rf"is{_GIB} for weight",
            rf"Model loading took{_GIB}",
            rf"Loading model weights took{_GIB}",
        ),
        max,
    ),
    (
        "activation_peak_per_gpu",
        (
            rf"activation peak memory takes{_GIB}",
            rf"torch peak memory increase:{_GIB}",
            rf"{_GIB} for peak activation",
        ),
        max,
    ),
    (
        "non_torch_per_gpu",
        (
            rf"non_torch_memory takes{_GIB}",
            rf"non-torch forward increase memory:{_GIB}",
            rf"{_GIB} for non-torch memory",
        ),
        max,
    ),
    ("total_non_kv_per_gpu", (rf"Total non KV cache memory:{_GIB}",), max),
    (
        "kv_cache_available_per_gpu",
        (rf"Available KV cache memory:{_GIB}", rf"memory reserved for KV Cache is{_GIB}"),
        min,
    ),
    ("cuda_graph_per_gpu", (rf"Graph capturing finished in \d{{1,6}} secs?, took{_GIB}",), max),
    ("cuda_graph_estimated_per_gpu", (rf"Estimated CUDA graph memory:{_GIB}",), max),
    ("kv_tokens", (r"GPU KV cache size: (?P<value>[0-9,]{1,16}) tokens",), min),
)
_BLOCKS = re.compile(r"# (?:GPU|CUDA) blocks: {0,3}(\d{1,12})")
_BLOCK_TOK = 16
_SETTINGS: tuple[tuple[str, str], ...] = (  # column -> how it is said
    ("tp", r"tensor_parallel_size'?[=:] ?(\d{1,12})"),
    ("pp", r"pipeline_parallel_size'?[=:] ?(\d{1,12})"),
    ("dp", r"data_parallel_size'?[=:] ?(\d{1,12})"),
    ("max_model_len", r"max_seq_len=(\d{1,12})|max_model_len'?[=:] ?(\d{1,12})"),
    ("max_num_batched_tokens", r"max_num_batched_tokens'?[=:] ?(\d{1,12})"),
    ("max_num_seqs", r"max_num_seqs'?[=:] ?(\d{1,12})"),
    ("gpu_memory_utilization",
     r"gpu_memory_utilization(?: \(|'?[=:] ?)([01]?\.\d{1,6})|utilization is \(([01]?\.\d{1,6})"),
    ("total_memory_gib",
     r"total_gpu_memory \(([0-9.]{1,9})GiB\)|Free memory on device \([0-9.]{1,9}/([0-9.]{1,9})"),
    ("free_at_start_gib", r"Free memory on device \(([0-9.]{1,9})/"),
    ("enforce_eager", r"enforce_eager'?[=:] ?(True|False)"),
    ("kv", r"kv_cache_dtype'?[=:] ?'?([a-z0-9_]{1,20})"),
    ("dtype", r"\bdtype=(?:torch\.)?(\w{1,20})"),
    ("quantization", r"\bquantization='?(\w[\w-]{0,40})"),
)  # fmt: skip
_MODEL = re.compile(
    r"\bmodel='([^']{1,300})'|'model(?:_tag)?': '([^']{1,300})'|Starting to load model ([^\s']{1,300})"
)
_STORED = {"awq_marlin": "awq", "gptq_marlin": "gptq", "bitsandbytes": "nf4", "awq": "awq", "gptq": "gptq",
           "fp8": "fp8", "mxfp4": "mxfp4"}  # fmt: skip
_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


def claims(found: Document) -> bool:
    """Whether vLLM logged it."""
    text = found.text
    return ("KV cache" in text or "KV Cache" in text or "blocks:" in text) and (
        "GPU KV cache size" in text
        or "Available KV cache memory" in text
        or "memory reserved for KV Cache is" in text
        or (_BLOCKS.search(text) is not None and "vllm" in text.lower())
    )


def rows(found: Document, setup: RunSetup) -> Iterator[Run]:
    """Each figure of the last start in a log."""
    del setup
    text = found.text[max(found.text.rfind(_BOOT), 0) :]
    engine = _ENGINE.search(text) or _SERVER.search(text)
    model = _said(text, _MODEL)
    said = {column: told for column, pattern in _SETTINGS if (told := _said(text, pattern))}
    common = {
        "engine": "vllm",
        "engine_version": engine[1] if engine else "",
        "model": model,
        "arch": model_named(model),
        "format": _stored(said),
        **said,
        "context": said.get("max_model_len"),
        "kv": said.get("kv", "auto"),
    }
    figures = {
        name: value for name, patterns, pick in _FIGURES if (value := _logged(text, patterns, pick=pick))
    }
    blocks = [int(count) for count in _BLOCKS.findall(text)]
    if "kv_tokens" not in figures and blocks and min(blocks):
        figures["kv_tokens"] = float(min(blocks) * _BLOCK_TOK)
    for what, value in figures.items():
        yield Run(kind="memory", cells=cells({**common, "what": what, "value_gib": value}))


def _logged(text: str, patterns: tuple[str, ...], *, pick: Pick) -> float | None:
    """A figure as the first way of saying it that occurs has it."""
    for pattern in patterns:
        values = [value for match in re.finditer(pattern, text) if (value := number(match["value"]))]
        if values:
            return pick(values)
    return None


def _said(text: str, pattern: str | re.Pattern[str]) -> str:
    found = re.search(pattern, text)
    return next(filter(None, found.groups()), "") if found else ""


def _stored(said: dict[str, str]) -> str:
    """The format of the weights by the engine's method, else its dtype; "" where the model's name says it."""
    method = said.get("quantization", "None")
    return _DTYPES.get(said.get("dtype", ""), "") if method == "None" else _STORED.get(method, "")


OUTPUT = OutputFormat(name="vllm log", claims=claims, rows=rows)

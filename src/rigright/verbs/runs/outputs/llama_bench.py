"""What `llama-bench` prints: JSON, JSON lines, CSV, SQL, or its table in Markdown."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rigright.base.errors import DataError
from rigright.base.tables import open_rows
from rigright.verbs.runs.columns import ALL_LAYERS, RunSetup
from rigright.verbs.runs.document import Document, OutputFormat, Run, cells, model_named, number, word

MOST_HEAD = 4096  # letters of a head
_MARKS = {"n_prompt", "n_gen", "avg_ts", "model_type"}
_FORMAT = re.compile(
    r"\b(?P<type>(?:IQ|TQ|Q)\d\w*|MXFP4|BF16|F16|F32|NVFP4)\b(?:\s*-\s*(?P<size>Small|Medium|Large))?"
)
_TEST = re.compile(
    r"(?:pp\s*(?P<pp>\d{1,18}))?\s*\+?\s*(?:tg\s*(?P<tg>\d{1,18}))?\s*(?:@\s*d\s*(?P<depth>\d{1,18}))?\s*\Z"
)
_INSERT = re.compile(
    r"INSERT INTO \w{1,60} \((?P<names>[^)]{0,2000})\)\s{0,3}VALUES \((?P<values>.{0,4000}?)\);",
    re.IGNORECASE,
)
_DEVICES = (
    re.compile(r"^[ \t]{0,20}Device \d{1,3}: (.{1,100}?), compute capability", re.MULTILINE),
    re.compile(r"^ggml_vulkan: \d{1,3} = (.{1,100}?) \(", re.MULTILINE),
    re.compile(r"^ggml_metal_\w+: (?:GPU name:|found device:|picking default device:)\s+(.+)$", re.MULTILINE),
    re.compile(
        r"^\| {0,3}\d{1,3}\| {0,3}\[[^|\n]{1,60}\]\| {0,40}([^|\n]{1,60}?) {0,40}\|", re.MULTILINE
    ),  # SYCL
)
_KINDS = {"": "", "Small": "_S", "Medium": "_M", "Large": "_L"}
_WHOLE = ("Q2_K", "Q6_K")  # K types without a size of their own
_COLUMNS = {  # of the Markdown table -> of the others
    "model": "model_type", "backend": "backends", "ngl": "n_gpu_layers", "fa": "flash_attn",
    "type_k": "type_k", "type_v": "type_v", "n_ubatch": "n_ubatch", "n_batch": "n_batch", "sm": "split_mode",
    "ncmoe": "n_cpu_moe", "n_cpu_moe": "n_cpu_moe", "threads": "n_threads", "nkvo": "no_kv_offload",
    "test": "test", "t/s": "avg_ts",
}  # fmt: skip


def _claims(document: Document) -> bool:
    """Whether llama-bench wrote it."""
    return any(_read(document))


def _rows(document: Document, setup: RunSetup) -> Iterator[Run]:
    """Each test of a file."""
    del setup
    for row in _read(document):
        run = _run(row)
        if run is not None:
            yield run


def _read(sections: Document) -> Iterator[Mapping[str, Any]]:
    """Its tests, by the names that its JSON has."""
    if sections.objects:
        yield from (item for item in sections.objects if item.keys() >= _MARKS)
        return
    head, _, _ = sections.text.lstrip("\ufeff").partition("\n")
    if {name.strip().strip('"') for name in head[:MOST_HEAD].split(",")} >= _MARKS:
        try:
            yield from (
                row for _, row in open_rows(sections.text.lstrip("\ufeff").splitlines(), sections.name)
            )
        except DataError:
            return
    elif "INSERT INTO" in sections.text and "avg_ts" in sections.text:
        for match in _INSERT.finditer(sections.text):
            names = [name.strip() for name in match["names"].split(",")]
            values = next(csv.reader([match["values"]], quotechar="'", skipinitialspace=True), [])
            if set(names) >= _MARKS and len(names) == len(values):
                yield dict(zip(names, values, strict=True))
    elif "t/s" in sections.text:
        yield from _table(sections.text)


def _table(text: str) -> Iterator[Mapping[str, Any]]:
    """The rows of its Markdown tables, with the devices that were named before them."""
    devices = next((names for pattern in _DEVICES if (names := pattern.findall(text))), [])
    heads: list[str] = []
    for line in text.splitlines():
        parts = [part.strip() for part in line.strip().strip("|").split("|")]
        if "t/s" in parts and "test" in parts and "model" in parts:
            heads = parts
        elif heads and len(parts) == len(heads) and not parts[0].startswith("-"):
            fields = {
                _COLUMNS[name]: part for name, part in zip(heads, parts, strict=True) if name in _COLUMNS
            }
            test = _TEST.match(fields.get("test", ""))
            if test is None or not (test["pp"] or test["tg"]):
                continue
            fields["n_prompt"], fields["n_gen"] = test["pp"] or "0", test["tg"] or "0"
            fields["n_depth"], fields["gpu_info"] = test["depth"] or "0", ", ".join(devices)
            fields["avg_ts"] = fields["avg_ts"].partition("±")[0].strip()
            yield fields


def _run(item: Mapping[str, Any]) -> Run | None:
    prompt, made, depth = (int(number(item.get(name)) or 0) for name in ("n_prompt", "n_gen", "n_depth"))
    value = number(item.get("avg_ts"))
    if value is None or not prompt + made:
        return None
    metric = "total_tok_s" if prompt and made else "prefill_tok_s" if prompt else "decode_tok_s_per_user"
    backend, kind = word(item.get("backends")), word(item.get("model_type"))
    names = [name.strip() for name in word(item.get("gpu_info")).split(",") if name.strip()]
    on_cpu = backend.upper() in {"CPU", "BLAS"} or not (names or backend)
    alone = word(item.get("split_mode")) == "none"
    build = number(item.get("build_number"))
    offload = _offload(item, on_cpu=on_cpu)
    return Run(
        kind="inference",
        cells=cells(
            {
                "engine": "llama.cpp",
                "engine_version": f"b{build:.0f}" if build else "",
                "measured": word(item.get("test_time"))[:10],
                "model": word(item.get("model_filename")) or kind,
                "arch": model_named(item.get("model_filename")) or _bare(kind),
                "weights": _weights(kind),
                "kv": word(item.get("type_k")),
                "chip": "" if on_cpu or not names else names[0],
                "n_chips": None if on_cpu else 1 if alone else len(names) or None,
                "cpu": word(item.get("cpu_info")) if on_cpu or offload else "",
                "offload": offload,
                "backend": backend.split(",")[0],
                "fa": _flash(item.get("flash_attn")),
                "context_depth": depth,
                "mode": "single",
                "load": 1,
                "prompt_tok": prompt or depth,
                "output_tok": made,
                "metric": metric,
                "value": value,
                "note": f"llama-bench; depth {depth}" if depth else "llama-bench",
            }
        ),
    )


def _weights(kind: str) -> str:
    """Read "qwen2 7B Q4_K - Medium" as "gguf:Q4_K_M"."""
    match = _FORMAT.search(kind)
    if match is None:
        return ""
    name, size = match["type"], match["size"] or ""
    return f"gguf:{name}" if name in _WHOLE and size != "Small" else f"gguf:{name}{_KINDS[size]}"


def _bare(kind: str) -> str:
    """Read "qwen2 7B Q4_K - Medium" as "qwen2 7B"."""
    match = _FORMAT.search(kind)
    plain = kind if match is None else kind[: match.start()]
    return plain.replace("mostly", "").replace(" all ", " ").strip()


def _offload(row: Mapping[str, Any], *, on_cpu: bool) -> str:
    """What lies in main memory, as the flags say it."""
    layers, experts = word(str(row.get("n_gpu_layers", ""))), number(row.get("n_cpu_moe"))
    flags = []
    if not on_cpu and layers.isdecimal() and int(layers) < ALL_LAYERS:
        flags.append(f"-ngl {layers}")
    if not on_cpu and experts:
        flags.append(f"--n-cpu-moe {experts:.0f}")
    if flags and number(row.get("n_ubatch")):
        flags.append(f"-ub {number(row.get('n_ubatch')):.0f}")
    return " ".join(flags)


def _flash(value: object) -> str:
    text = str(value).lower()
    return "1" if text in {"1", "true", "on"} else "0" if text in {"0", "false", "off"} else ""


OUTPUT = OutputFormat(name="llama-bench", claims=_claims, rows=_rows)

"""mlperf_log_summary.txt of MLPerf inference."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.units import GIGA, MEGA
from rigright.verbs.runs.columns import RunSetup
from rigright.verbs.runs.document import Document, OutputFormat, Run, cells, first, number, share

_LINE = re.compile(
    r"^[ \t]{0,20}([^:=\n]{3,60}?)[ \t]{0,60}:[ \t]{0,60}(\S[^\n]{0,200}?)[ \t\r]{0,60}$", re.MULTILINE
)
_TOKENS = ("completed tokens per second", "tokens per second", "tokens per second (inferred)")
_SAMPLES = ("completed samples per second", "samples per second", "scheduled samples per second")
# folders of a submission are named by the benchmark, where its model is
_MODELS = {
    "llama2-70b": "meta-llama/Llama-2-70b-hf", "llama3.1-8b": "meta-llama/Llama-3.1-8B",
    "llama3.1-405b": "meta-llama/Llama-3.1-405B", "mixtral-8x7b": "mistralai/Mixtral-8x7B-v0.1",
    "gptj": "EleutherAI/gpt-j-6b", "deepseek-r1": "deepseek-ai/DeepSeek-R1",
    "gpt-oss-120b": "openai/gpt-oss-120b",
}  # fmt: skip


def claims(document: Document) -> bool:
    """Whether loadgen wrote it."""
    return "MLPerf Results Summary" in document.text and "SUT name" in document.text


def rows(document: Document, setup: RunSetup) -> Iterator[Run]:
    """Tokens a second of all chips, and mean waits where the log has them."""
    del setup
    fields = {name.lower(): value for name, value in _LINE.findall(document.text)}
    scenario = fields.get("scenario", "").lower().replace(" ", "")
    tokens, samples = (first(number(fields.get(name)) for name in names) for names in (_TOKENS, _SAMPLES))
    parts = [part.lower() for part in (document.folder.parts if document.folder else ())]
    model = next(
        (arch for part in reversed(parts) for name, arch in _MODELS.items() if part.startswith(name)), ""
    )
    offline = scenario == "offline"
    mean_ns = number(fields.get("mean latency (ns)"))
    load = 1.0 if scenario == "singlestream" else None
    if not offline and load is None and samples and mean_ns:
        load = max(1.0, samples * mean_ns / GIGA)  # Little's law
    common = {
        "model": model,
        "arch": model,
        "mode": "max" if offline else "serve",
        "load": None if offline else load,
        "output_tok": share(tokens, samples),
        "note": "; ".join(filter(None, ("MLPerf", scenario, fields.get("result is", "").lower()))),
    }
    figures = {
        "output_tok_s_total": tokens,
        "ttft_ms": _ms(fields.get("mean first token latency (ns)")),
        "tpot_ms": first(_ms(fields.get(f"mean time {way} output token (ns)")) for way in ("per", "to")),
    }
    for metric, value in figures.items():
        if value is not None:
            yield Run(kind="inference", cells=cells({**common, "metric": metric, "value": value}))


def _ms(ns: object) -> float | None:
    value = number(ns)
    return None if value is None else value / MEGA


OUTPUT = OutputFormat(name="mlperf summary", claims=claims, rows=rows)

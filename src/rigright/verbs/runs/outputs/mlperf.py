"""mlperf_log_summary.txt of MLPerf inference."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.units import GIGA, MEGA
from rigright.verbs.runs.document import Document, OutputFormat, Run, cells, first, number, share
from rigright.verbs.runs.setup import RunSetup

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


def claims(found: Document) -> bool:
    """Whether loadgen wrote it."""
    return "MLPerf Results Summary" in found.text and "SUT name" in found.text


def rows(found: Document, setup: RunSetup) -> Iterator[Run]:
    """Tokens a second of all chips, and mean waits where the log has them."""
    del setup
    told = {name.lower(): value for name, value in _LINE.findall(found.text)}
    scenario = told.get("scenario", "").lower().replace(" ", "")
    tokens, samples = (first(number(told.get(name)) for name in names) for names in (_TOKENS, _SAMPLES))
    parts = [part.lower() for part in (found.folder.parts if found.folder else ())]
    model = next(
        (arch for part in reversed(parts) for name, arch in _MODELS.items() if part.startswith(name)), ""
    )
    offline = scenario == "offline"
    mean_ns = number(told.get("mean latency (ns)"))
    load = 1.0 if scenario == "singlestream" else None
    if not offline and load is None and samples and mean_ns:
        load = max(1.0, samples * mean_ns / GIGA)  # Little's law
    common = {
        "model": model,
        "arch": model,
        "mode": "max" if offline else "serve",
        "load": None if offline else load,
        "output_tok": share(tokens, samples),
        "note": "; ".join(filter(None, ("MLPerf", scenario, told.get("result is", "").lower()))),
    }
    figures = {
        "output_tok_s_total": tokens,
        "ttft_ms": _ms(told.get("mean first token latency (ns)")),
        "tpot_ms": first(_ms(told.get(f"mean time {way} output token (ns)")) for way in ("per", "to")),
    }
    for metric, value in figures.items():
        if value is not None:
            yield Run(kind="inference", cells=cells({**common, "metric": metric, "value": value}))


def _ms(ns: object) -> float | None:
    found = number(ns)
    return None if found is None else found / MEGA


OUTPUT = OutputFormat(name="mlperf summary", claims=claims, rows=rows)

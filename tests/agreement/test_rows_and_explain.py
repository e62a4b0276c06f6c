"""A row of a table and the same question asked of `explain`: one figure, one band."""

from __future__ import annotations

import csv
import json

import pytest

from rigright.faces.cli.main import main
from rigright.verbs.validate.frame import validate

COLUMNS = (
    *("id", "engine", "arch", "chip", "n_chips", "tp", "weights", "kv", "backend"),
    *("mode", "load", "prompt_tok", "output_tok", "metric"),
)
SERVED = {
    "ttft_ms": ("ttft_s", 1e3),
    "tpot_ms": ("tpot_s", 1e3),
    "output_tok_s_total": ("output_tok_per_s", 1),
}
STREAMED = {"decode_tok_s_per_user": ("user_tok_per_s", 1), "prefill_tok_s": ("prefill_tok_per_s", 1)}
CASES = [
    ("h100", "h100-sxm5-80gb", 1, "vllm", "bf16", "meta-llama/Llama-3.1-8B", 64, SERVED),
    ("4x h100", "h100-sxm5-80gb", 4, "vllm", "fp8", "meta-llama/Llama-3.1-70B", 32, SERVED),
    ("2x l40s", "l40s", 2, "sglang", "bf16", "Qwen/Qwen3-14B", 16, SERVED),
    ("mi300x", "mi300x", 1, "vllm", "bf16", "Qwen/Qwen3-32B", 48, SERVED),
    ("4090", "rtx-4090", 1, "llama.cpp", "Q4_K_M", "meta-llama/Llama-3.1-8B", 1, STREAMED),
    ("m4 max", "apple-m4-max-40c", 1, "llama.cpp", "Q8_0", "Qwen/Qwen3-8B", 1, STREAMED),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[5]} on {case[0]} in {case[3]}")
def test_validate_and_explain_give_the_same_band(case, tmp_path, capsys):
    machine, chip, count, engine, form, model, load, figures = case
    prompt, output = 1024, 256
    asked = f"--engine {engine} --weights {form} --kv 16bit --concurrency {load} --prompt {prompt}"
    assert main(["explain", model, "--on", machine, *asked.split(), "--output", str(output), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    if answer["layout"]["tp"] != count and engine != "llama.cpp":
        pytest.fail("another layout was chosen than the row says")
    told = answer["speed"]
    rows = [
        {
            "id": metric, "engine": engine, "arch": model, "chip": chip, "n_chips": count, "tp": count,
            "weights": f"gguf:{form}" if engine == "llama.cpp" else form, "kv": "16bit",
            "backend": "" if engine != "llama.cpp" else "metal" if chip.startswith("apple") else "cuda",
            "mode": "serve" if load > 1 else "single", "load": load,
            "prompt_tok": prompt, "output_tok": output, "metric": metric,
        }
        for metric in figures
    ]  # fmt: skip
    path = tmp_path / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows(rows)
    for row in validate(str(path)).rows:
        (found,) = row.predictions
        name, scale = figures[found.metric]
        same = [told[name][edge] * scale for edge in ("value", "low", "high")]
        assert [found.predicted, found.low, found.high] == pytest.approx(same, rel=1e-6), found.why

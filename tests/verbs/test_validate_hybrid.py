"""Published runs beside main memory: what the law says of each, held against what was measured."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from rigright.verbs.validate.verb import validate as validate_verb
from sampled_tables import THOROUGH, part_of_file, whole_when_thorough

SHARED = Path(__file__).parents[2].parent / "shared" / "measured" / "new"
HEADER = (
    "id,source,engine,model,arch,weights,kv,gpu,n_gpus,cpu,cpu_cores,ram_gb,ram_type,ram_channels,ram_mts,"
    "offload,layers_on_gpu,experts_on_cpu,context_depth,prompt_tok,output_tok,batch,metric,value,note,vram_note"
)
MADE = """
a,s,llama.cpp,Qwen3-30B-A3B,Qwen/Qwen3-30B-A3B,gguf:Q4_K_M,f16,rtx-4090,1,AMD Ryzen 9 7950X,16,64,DDR5,2,6000,-ngl 99 --n-cpu-moe {moe},,,0,0,128,1,decode_tok_s_per_user,40,,
b,s,llama.cpp,Llama,meta-llama/Llama-3.1-8B,gguf:Q4_K_M,f16,,0,AMD Ryzen 9 7950X,16,64,DDR5,2,{mts},CPU only,0,,0,0,128,1,decode_tok_s_per_user,12,,
c,s,llama.cpp,Llama,meta-llama/Llama-3.1-8B,gguf:Q4_K_M,f16,,0,AMD Ryzen 9 7950X,16,4,DDR5,2,6000,CPU only,0,,0,0,128,1,decode_tok_s_per_user,12,,
d,s,nothing,Llama,meta-llama/Llama-3.1-8B,gguf:Q4_K_M,f16,,0,AMD Ryzen 9 7950X,16,64,DDR5,2,6000,CPU only,0,,0,0,128,1,decode_tok_s_per_user,12,,
"""  # noqa: E501 - rows of a table


def told(tmp_path, **values):
    path = tmp_path / "hybrid.csv"
    rows = MADE.strip().format(**{"moe": 10, "mts": 6000} | values)
    path.write_text(f"{HEADER}\n{rows}\n", encoding="utf-8")
    return {row.id: row.predictions[0] for row in validate_verb(str(path)).rows}


def runs(name, folder, **of):
    """A part of the rows by id, each with the one figure that it measures."""
    found = validate_verb(part_of_file(SHARED / name, folder, **of)).rows
    return {row.id: row.predictions[0] for row in found if row.predictions}


def test_what_a_row_says_decides(tmp_path):
    few, many = told(tmp_path, moe=5), told(tmp_path, moe=40)
    assert many["a"].predicted < few["a"].predicted
    slow, fast = told(tmp_path, mts=4800), told(tmp_path, mts=6400)
    assert slow["b"].predicted < fast["b"].predicted


def test_memory_that_is_too_small_reads_from_the_disk(tmp_path):
    rows = told(tmp_path)
    assert rows["c"].predicted < rows["b"].predicted / 2


def test_an_unknown_engine_is_named(tmp_path):
    row = told(tmp_path)["d"]
    assert row.predicted is None
    assert '"nothing"' in str(row.why)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the measured runs are not here")
@whole_when_thorough
def test_published_runs_are_met(tmp_path):
    rows = runs("hybrid.csv", tmp_path, every=4, by=("source", "metric")).values()
    assert sum(row.predicted is not None for row in rows) > 0.95 * len(rows)
    for metric, most in (("decode_tok_s_per_user", 0.2 if THOROUGH else 0.22), ("prefill_tok_s", 0.36)):
        held = [row for row in rows if row.metric == metric and row.predicted and row.measured]
        off = [abs(row.error) for row in held]
        inside = np.mean([row.low <= row.measured <= row.high for row in held])
        assert np.median(off) < most, metric
        assert 0.72 < inside < 0.92, metric


@pytest.mark.skipif(not SHARED.is_dir(), reason="the measured runs are not here")
@whole_when_thorough
def test_processors_that_no_fit_saw_are_met(tmp_path):
    seen = ("AMD Ryzen 7 7840HS", "Intel(R) Xeon(R) CPU E5-2680")
    of = {
        "every": 3,
        "by": ("cpu", "metric"),
        "keep": lambda row: row["cpu"].startswith(seen) and not row["chip"],
    }
    rows = runs("llmfit_runs.csv", tmp_path, **of)
    with (SHARED / "llmfit_runs.csv").open(encoding="utf-8") as file:
        cpus = {row["id"]: row["cpu"] for row in csv.DictReader(file)}
    for cpu in seen:
        mine = [row for name, row in rows.items() if cpus[name].startswith(cpu) and row.predicted]
        off = [abs(row.error) for row in mine if row.metric == "decode_tok_s_per_user"]
        assert len(off) > (20 if THOROUGH else 6)
        assert np.median(off) < 0.15, cpu

"""Readers of benchmarks' output: whatever the bytes are, rows or a sentence, and soon."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_files import FILES
from rigright.base.errors import RigError
from rigright.verbs.runs.columns import NOTHING_SAID
from rigright.verbs.runs.document import document
from rigright.verbs.runs.files import output_of

NAMES = sorted(FILES)
ODD = st.sampled_from(
    [
        "",
        "0",
        "-1",
        "1e400",
        "nan",
        "NaN",
        "Infinity",
        "null",
        "[]",
        "{}",
        "[{}]",
        '"x"',
        "9" * 300,
        "9" * 5000,
        "\x00",
        "|",
        "\n",
    ]
)
SOON_CPU_S = 3.0
FIGURES = {"value", "value_gib", "load", "tok_per_s_per_chip", "peak_gib"}


def read(name, text):
    """All rows that any reader makes of it."""
    found = document(name, text)
    output = output_of(found)
    return [] if output is None else list(output.rows(found, NOTHING_SAID))


def survives(name, text):
    try:
        runs = read(name, text)
    except RigError:
        return
    for run in runs:
        assert run.kind in {"inference", "memory", "training"}
        assert all(isinstance(cell, str) and cell for cell in run.cells.values())
        assert all(0 < float(run.cells[name]) < 1e20 for name in FIGURES & run.cells.keys())


@given(
    name=st.sampled_from(NAMES),
    cuts=st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 40), ODD), min_size=1, max_size=4),
)
def test_any_piece_may_be_replaced(name, cuts):
    text = FILES[name]
    for share, length, piece in cuts:
        at = share * len(text) // 1000
        text = text[:at] + piece + text[at + length :]
    survives(name, text)


@given(name=st.sampled_from([name for name in NAMES if name.endswith(".json")]), data=st.data())
def test_any_value_may_be_any_other(name, data):
    told = json.loads(FILES[name]) if "appended" not in name else json.loads(FILES[name].splitlines()[0])
    one = told[0] if isinstance(told, list) else told
    for key in data.draw(st.lists(st.sampled_from(sorted(one)), min_size=1, max_size=3)):
        one[key] = data.draw(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
            | st.sampled_from([[], {"avg": {}}, [[1], {"mean": 1}]])
        )  # fmt: skip
    survives(name, json.dumps(told))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 40_000,
        '{"a":' * 20_000,
        "Step 1 | " * 20_000 + "tokens_per_second_per_gpu:",
        "KV Cache is allocated." * 10_000,
        "INSERT INTO llama_bench (" * 8_000 + " avg_ts",
        "GPU KV cache size: " + "1" * 200_000,
        "MLPerf Results Summary SUT name" + " " * 100_000,
        "train_samples_per_second" + " " * 100_000,
        "model='" * 20_000 + "GPU KV cache size",
        "Metric,avg\n" + "(" * 60_000 + ",1\n",
    ],
)
def test_a_flood_is_read_soon(text):
    began_s = time.process_time()
    survives("flood.txt", text)
    assert time.process_time() - began_s < SOON_CPU_S


def test_a_name_that_no_file_system_takes_is_no_crash():
    """Found by mutants: a model as long as a name can be is looked for as a file."""
    survives("vllm_serve.json", json.dumps(json.loads(FILES["vllm_serve.json"]) | {"model_id": "9" * 300}))

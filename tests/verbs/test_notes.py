"""Notes become columns in one place, into empty cells alone; what ours say stands beside the raw files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.runs import MEASURED
from lab.typed import FILES, TYPED, typed
from rigright.verbs.validate.foreign import filled, noted
from rigright.verbs.validate.kinds import inference, vision
from sampled_tables import THOROUGH, whole_when_thorough

KINDS = {"inference": inference.KIND, "vision": vision.KIND}


def told(column, kind="inference", **cells):
    readers = KINDS[kind].columns
    row = dict.fromkeys(readers) | {"mode": "single", "metric": "prefill_tok_s"} | cells
    return filled(kind, row, raw={name: str(cell) for name, cell in cells.items()})[column]


@pytest.mark.parametrize(
    ("column", "cells", "value"),
    [
        ("context_depth", {"note": "llama-bench pp2048 @ d32768"}, 32768.0),
        ("context_depth", {"note": "depth 512", "metric": "decode_tok_s_per_user"}, None),
        ("context_depth", {"note": "depth 512", "context_depth": 8.0}, 8.0),
        ("fa", {"note": "llama-bench pp512 -fa 0"}, 0.0),
        ("ubatch_tok", {"note": "n_ubatch=32"}, 32.0),
        ("kernel", {"note": "kernel GEMV, batch 1"}, "GEMV"),
        ("file_gib", {"note": "file 3.56 GiB"}, 3.56),
        ("file_gib", {"note": "file ... GiB"}, None),
        ("prompt_left_out", {"note": "decode phase only"}, 1.0),
        ("padding_skipped", {"note": "Padding-free", "metric": "latency_ms"}, 1.0),
        ("mean_output_tok", {"note": "mean ~294 output tokens", "mode": "max"}, 294.0),
        ("mean_prompt_tok", {"note": "mean in 215 out 121", "mode": "serve"}, 215.0),
        ("mean_output_tok", {"note": "mean in 215 out 121", "mode": "serve"}, 121.0),
        ("rate_per_s", {"note": "ShareGPT @ 16 req/s", "mode": "serve"}, 16.0),
        ("rate_per_s", {"load": "16 req/s", "mode": "serve"}, 16.0),
        ("task", {"note": "MLPerf v6.0", "mode": "serve"}, "mlperf"),
        ("padding_skipped", {"kind": "vision", "note": "unpadded"}, 1.0),
    ],
)
def test_words(column, cells, value):
    assert told(column, **cells) == value


@pytest.mark.parametrize("load", ["max-throughput", "16 req/s", "inf qps"])
def test_loads_that_are_no_number_are_read(load):
    assert inference.KIND.columns["load"](load) is None


def test_every_word_fills_a_column_that_its_kind_knows():
    for name, kind in KINDS.items():
        assert noted(name)
        assert {words.column for words in noted(name)} <= set(kind.columns)


@given(st.sampled_from(sorted(KINDS)), st.text(max_size=60), st.sampled_from(["serve", "single", None]))
def test_any_note_is_read(kind, note, mode):
    readers = KINDS[kind].columns
    row = dict.fromkeys(readers) | {"note": note, "mode": mode}
    assert set(filled(kind, row, raw={"note": note})) == set(row)


@whole_when_thorough
@pytest.mark.skipif(not MEASURED.is_dir(), reason="the measured runs are not here")
def test_what_stands_beside_the_raw_files_is_what_they_say():
    """The smallest of the files, and every one of them where thorough."""
    raw = sorted((MEASURED / f"{name}.csv" for name in FILES), key=lambda path: path.stat().st_size)
    for path in raw if THOROUGH else raw[:1]:
        kept = (TYPED / path.name).read_text(encoding="utf-8")
        assert kept == typed(path), f"write {path.name} again: python -m lab typed"

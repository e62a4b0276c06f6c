"""What may move when streams are calibrated: terms that rows touch, each below what its engine builds on."""

from __future__ import annotations

import numpy as np
import pytest

from lab.subjects.speed_streams import SUBJECT
from lab.terms import put, tree
from rigright.base.tables import Row
from rigright.facts.corrections import corrections

TABLES = corrections("speed_streams")


def row(**cells: object) -> Row:
    told = {
        "id": "r", "source": "ours", "engine": "llama.cpp", "engine_version": "2024-05", "chip": "rtx-4090",
        "arch": "meta-llama/Llama-3.1-8B", "n_chips": 1, "weights": "gguf:Q4_K_M", "mode": "single",
        "load": 1.0, "prompt_tok": 0.0, "output_tok": 512.0,
        "metric": "decode_tok_s_per_user", "value": 100.0,
    }  # fmt: skip
    return {**told, **cells}


ROWS = (
    row(),
    row(chip="rtx-3090"),
    row(chip="a100-sxm4-80gb"),
    row(engine="transformers", engine_version="4.38.2", weights="bf16"),
    row(engine="fastertransformer", arch="google-bert/bert-base-uncased", weights="tf32", output_tok=0.0,
        prompt_tok=128.0, metric="latency_ms"),
)  # fmt: skip


def test_every_dial_moves_the_rows_it_says_and_no_other() -> None:
    ready = SUBJECT.prepare(ROWS)
    before = SUBJECT.predict(ready, TABLES)
    hung = tree(SUBJECT.dials(ROWS, TABLES), TABLES)
    for dial, value in zip(hung.dials, hung.values(np.zeros(len(hung.dials))), strict=True):
        after = SUBJECT.predict(ready, put(TABLES, {dial.path: 3.0 * float(value)}))
        moved = set(np.flatnonzero(~np.isclose(before, after, rtol=1e-9)).tolist())
        assert moved <= set(dial.touches or ()), dial.path


def test_a_chip_hangs_below_its_class_and_that_below_its_engine() -> None:
    dials = {dial.path: dial for dial in SUBJECT.dials(ROWS, TABLES)}
    table = ("engines", "llama.cpp cuda 2024")
    own = dials[*table, "rtx-4090", "layer_s"]
    assert own.parent == (*table, "nvidia-ada", "layer_s")
    assert dials[own.parent].parent == (*table, "all", "layer_s")
    assert dials[*table, "all", "layer_s"].parent == ("engines", "llama.cpp", "all", "layer_s")


def test_engines_with_few_chips_have_no_terms_of_chips() -> None:
    named = {dial.path[2] for dial in SUBJECT.dials(ROWS, TABLES) if dial.path[1] == "transformers"}
    assert named <= {"all", "formats"}


def test_formats_move_only_their_own_rows() -> None:
    found = {dial.path: dial for dial in SUBJECT.dials(ROWS, TABLES)}
    assert found["encoders", "fastertransformer", "formats", "tf32", "compute"].touches == (4,)


def test_what_is_left_out_whole_is_named() -> None:
    keys = SUBJECT.keys(ROWS[0])
    assert (keys["source"], keys["chip"], keys["engine"], keys["class"]) == (
        "ours", "rtx-4090", "llama.cpp cuda", "nvidia-ada",
    )  # fmt: skip
    assert SUBJECT.keys(ROWS[4])["kind"] != keys["kind"]


def test_loads_of_many_are_taught_elsewhere() -> None:
    assert SUBJECT.teaches(ROWS[0])
    assert not SUBJECT.teaches(row(mode="serve"))
    assert not SUBJECT.teaches(row(value=None))
    assert SUBJECT.measured(ROWS[0]) == pytest.approx(100)

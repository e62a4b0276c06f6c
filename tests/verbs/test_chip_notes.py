"""What a chip cannot do is said beside the figures."""

from __future__ import annotations

import pytest

from rigright.base.words import tell
from rigright.demand import ServingWish
from rigright.verbs.explain import explain


def notes(on, language="en", **wish):
    found = explain("qwen2.5-3b", on, wish=ServingWish(**wish))
    return found, [tell(note, language) for note in found.notes]


@pytest.mark.parametrize(
    ("engine", "on", "chip"),
    [
        ("vllm", "t4", "T4"), ("vllm", "v100 16gb", "V100"),
        ("sglang", "rtx 2080 ti", "2080"), ("transformers", "t4", "T4"),
    ],
)  # fmt: skip
def test_chips_without_bf16_run_in_fp16(engine, on, chip):
    found, said = notes(on, engine=engine, weights="bf16")
    (told,) = [note for note in said if "no bf16" in note]
    assert chip in told
    assert "fp16" in told
    assert found.serving.weights == "fp16"
    assert any("改用 fp16" in tell(note, "zh") for note in found.notes)
    halved, quiet = notes(on, engine=engine, weights="fp16")
    assert not any("bf16" in note for note in quiet)
    assert halved.fullest.spare_bytes == found.fullest.spare_bytes


@pytest.mark.parametrize(
    ("on", "engine"), [("rtx 3090", "vllm"), ("mi300x", "vllm"), ("rtx 3090", "transformers")]
)
def test_where_bf16_works_nothing_is_said(on, engine):
    assert not any("no bf16" in note for note in notes(on, engine=engine, weights="bf16")[1])

"""Scores of leaderboards by a model's name."""

from __future__ import annotations

import csv

import pytest

from rigright.arch.sources.quality import quality_of, score_of, scores


def test_a_score_is_the_leaderboards_newest(shared):
    with (shared / "facts" / "model_quality.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["benchmark"] == "Arena text (style control)"]
    told = {row["hub_id"]: float(row["score"]) for row in rows if row["metric"] == "full"}
    arena = {one.model: one.score for one in scores() if one.benchmark == "arena"}
    assert arena.keys() > told.keys() - {""}
    assert sum(arena[name] == score for name, score in told.items() if name) > 0.9 * len(told)


def test_better_models_score_higher_and_strangers_have_none():
    assert quality_of("deepseek-ai/DeepSeek-R1") > quality_of("meta-llama/Llama-3.1-8B-Instruct")
    assert quality_of("nobody/knows-this") is None


@pytest.mark.parametrize(
    "name", ["Qwen/Qwen2.5-72B", "google/gemma-3-27b-it", "meta-llama/Llama-3.3-70B-Instruct"]
)
def test_a_copy_or_another_training_has_the_score_of_its_model(name):
    found = score_of(name)
    assert found is not None
    assert found.source
    assert found.as_of

"""`measure --plan --read`: what a benchmark wrote while it was measured, beside the plan."""

from __future__ import annotations

import json
import os
import sys

import pytest

from benchmark_files import FILES, VLLM_SERVE
from rigright.faces.cli.main import main

FIGURES = {
    "ttft_s": {"value": 0.2, "low": 0.1, "high": 0.4},
    "tpot_s": {"value": 0.008, "low": 0.007, "high": 0.009},
    "output_tok_per_s": {"value": 2700, "low": 2000, "high": 3500},
}
PLAN = {
    "model": "meta-llama/Llama-3.1-8B",
    "wish": {"work": "serve", "users": 32},
    "plans": [
        {
            "chip": "h100-sxm5-80gb", "n_chips": 1, "layout": {"tp": 1},
            "work": {"engine": "vllm 0.11", "weights": "bf16"}, "figures": FIGURES,
        }
    ],
}  # fmt: skip


@pytest.fixture
def measured(tmp_path, capsys):
    """What is said of a command that writes this file."""
    (tmp_path / "plan.json").write_text(json.dumps(PLAN), encoding="utf-8")

    def run(content, name="run.json"):
        source, out = tmp_path / "source", tmp_path / name
        source.write_text(content, encoding="utf-8")
        words = ["--json", "--plan", str(tmp_path / "plan.json"), "--read", str(out)]
        command = ["cp", str(source), str(out)]
        assert main(["measure", *words, "--", *command]) == 0
        said = capsys.readouterr()
        return json.loads(said.err[said.err.index("{") :] if "{" in said.err else said.out)

    return run


def test_each_figure_stands_beside_the_plan(measured):
    found = {one["name"]: one for one in measured(FILES["vllm_serve.json"])["held"]}
    assert set(found) == {"ttft_s", "tpot_s", "output_tok_per_s"}
    assert found["ttft_s"]["measured"] == pytest.approx(0.2105)
    assert found["ttft_s"]["inside"]
    assert not found["tpot_s"]["inside"]
    assert found["output_tok_per_s"]["measured"] == 2730.5


def test_another_load_than_the_plans_is_said(measured):
    found = measured(json.dumps(VLLM_SERVE | {"max_concurrency": 64}))
    assert any("64" in note and "32" in note for note in found["notes"])


def test_what_cannot_be_read_is_said_after_the_command_has_run(measured):
    found = measured('{"model_id": ')
    assert found["exit_code"] == 0
    assert any("run.json" in note for note in found["notes"])


def test_an_old_file_is_said(tmp_path, capsys):
    (tmp_path / "plan.json").write_text(json.dumps(PLAN), encoding="utf-8")
    (tmp_path / "old.log").write_text(FILES["vllm.log"], encoding="utf-8")
    os.utime(tmp_path / "old.log", (1e9, 1e9))
    copy = ["-c", "pass"]
    plan, old = str(tmp_path / "plan.json"), str(tmp_path / "old.log")
    assert main(["measure", "--plan", plan, "--read", old, "--", sys.executable, *copy]) == 0
    said = capsys.readouterr()
    assert "old.log" in said.out + said.err


def test_without_a_plan_it_says_what_is_needed(capsys):
    assert main(["measure", "--read", "x.json", "--", sys.executable, "-c", "pass"]) == 2
    assert "--plan" in capsys.readouterr().err

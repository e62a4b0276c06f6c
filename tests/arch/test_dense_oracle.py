"""Families against an independent program, over random small configs; skipped where it is not installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the independent count needs torch")
pytest.importorskip("transformers", reason="the independent count needs transformers")

SCRIPT = Path(__file__).parents[2] / "scripts" / "oracle_arch.py"
KINDS = ("llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text", "phi3", "olmo2", "falcon", "gpt2")


@pytest.fixture(scope="module")
def oracle():
    spec = importlib.util.spec_from_file_location("oracle_arch", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["oracle_arch"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_both_programs_count_the_same(oracle, kind):
    verdicts = list(oracle.compare(kind, tries=4))
    assert [verdict.said for verdict in verdicts if verdict.said] == []
    assert any(not verdict.skipped for verdict in verdicts)

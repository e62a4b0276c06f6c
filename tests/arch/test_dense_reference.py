"""Dense families against another program: parameters, token tables and caches of odd little configs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rigright.arch import count
from rigright.arch.cache import ELEM_BYTES, GROWING, STATE_BYTES, WINDOW_COUNTER_BYTES, cached, entry_elems
from rigright.arch.read import read_config

HELD = json.loads((Path(__file__).parent / "dense_reference.json").read_text(encoding="utf-8"))
CASES = HELD["cases"]
PROMPTS_TOK = (128, 256)
NAMES = [f"{case['config']['model_type']}-{index}" for index, case in enumerate(CASES)]


def cache_bytes(config, prompt_tok):
    """The cache after a prompt: as a reader of the record would sum it, not as the counts do."""
    total = 0
    for mixer in cached(read_config(config, "small")):
        total += mixer.state32_elems * STATE_BYTES + mixer.state16_elems * ELEM_BYTES
        if mixer.kind in GROWING:
            total += entry_elems(mixer) * ELEM_BYTES * prompt_tok
        elif mixer.window_tok is not None:
            total += entry_elems(mixer) * ELEM_BYTES * min(prompt_tok, mixer.window_tok - 1)
            total += WINDOW_COUNTER_BYTES
    return total


def test_they_are_many_and_of_many_kinds():
    assert len(CASES) >= 200
    assert len({case["config"]["model_type"] for case in CASES}) >= 70
    assert len({json.dumps(case["config"], sort_keys=True) for case in CASES}) == len(CASES)
    assert sum(case["cache_bytes"] is not None for case in CASES) > len(CASES) / 2


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_parameters_and_the_token_table_are_exact(case):
    arch = read_config(case["config"], "small")
    assert count.params(arch) == case["params"]
    if case["embedding_params"] is not None:
        assert count.embedding_params(arch) == case["embedding_params"]


CACHED = [(name, case) for name, case in zip(NAMES, CASES, strict=True) if case["cache_bytes"] is not None]


@pytest.mark.parametrize("case", [case for _, case in CACHED], ids=[name for name, _ in CACHED])
def test_caches_are_exact(case):
    assert [cache_bytes(case["config"], prompt) for prompt in PROMPTS_TOK] == case["cache_bytes"]


def test_none_of_them_is_a_stranger():
    told = {
        name: str(warning)
        for name, case in zip(NAMES, CASES, strict=True)
        for warning in read_config(case["config"], "small").warnings
        if "not known" in str(warning)
    }
    assert told == {}

"""Families of experts, latent, hybrid and recurrent models against another program's counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rigright.arch import count
from rigright.arch.cache import ELEM_BYTES, GROWING, STATE_BYTES, WINDOW_COUNTER_BYTES, cached, entry_elems
from rigright.arch.read import read_config
from rigright.arch.record import Arch

# each case: a small config, and what Transformers makes of it on torch's meta device
CASES = json.loads((Path(__file__).parent / "experts_reference.json").read_text(encoding="utf-8"))["cases"]
PROMPTS_TOK = (128, 256)
NAMES = [f"{case['config']['model_type']}-{index}" for index, case in enumerate(CASES)]


def cache_bytes(arch: Arch, prompt_tok: int) -> float:
    total = 0.0
    for mixer in cached(arch):
        total += mixer.state32_elems * STATE_BYTES + mixer.state16_elems * ELEM_BYTES
        if mixer.kind in GROWING:
            total += entry_elems(mixer) * ELEM_BYTES * prompt_tok / mixer.every_tok
        elif mixer.window_tok:
            kept = min(prompt_tok, mixer.window_tok - 1)
            total += entry_elems(mixer) * ELEM_BYTES * kept + WINDOW_COUNTER_BYTES
    return total


def test_there_are_cases_of_many_families():
    assert len({case["config"]["model_type"] for case in CASES}) >= 60


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_parameters_equal_the_other_programs(case):
    assert count.params(read_config(case["config"], "small")) == case["params"]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_caches_equal_the_other_programs(case):
    if case["cache_bytes"] is None:
        pytest.skip("the other program cannot run this one without weights")
    arch = read_config(case["config"], "small")
    assert [cache_bytes(arch, prompt) for prompt in PROMPTS_TOK] == case["cache_bytes"]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_no_stranger_among_them(case):
    warnings = [str(warning) for warning in read_config(case["config"], "small").warnings]
    assert not [warning for warning in warnings if "not known" in warning]

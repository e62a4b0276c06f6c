"""Configs of these families with a key spoiled: an Arch or a sentence comes out, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import given

from rigright.arch import count
from rigright.arch.cache import kv_bytes_per_token, kv_constant_bytes
from rigright.arch.read import read_config
from rigright.base.errors import RigError

CASES = json.loads((Path(__file__).parent / "experts_reference.json").read_text(encoding="utf-8"))["cases"]
CONFIGS = [case["config"] for case in CASES]
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.sampled_from(
        [10**9, 10**30, float("nan"), float("inf"), 0.5, "", "auto", "M*E", [], [1, "x"], {}, {"a": 1}]
    ),
    st.lists(
        st.one_of(st.none(), st.integers(-2, 9), st.sampled_from(["dense", "sparse", "full"])), max_size=9
    ),
)


@st.composite
def spoiled(draw):
    config = dict(draw(st.sampled_from(CONFIGS)))
    keys = sorted(set(config) - {"model_type"})
    for key in draw(st.lists(st.sampled_from(keys), min_size=1, max_size=3, unique=True)):
        config[key] = draw(ODD)
    if draw(st.booleans()):
        config["layer_types"] = draw(ODD)
    if draw(st.booleans()):
        config["mlp_layer_types"] = draw(ODD)
    return config


@given(spoiled())
def test_a_spoiled_config_never_ends_in_a_traceback(config):
    try:
        arch = read_config(config, "spoiled")
    except RigError:
        return
    assert count.params(arch) >= count.active_params(arch) > 0
    assert kv_bytes_per_token(arch) >= 0
    assert kv_constant_bytes(arch) >= 0

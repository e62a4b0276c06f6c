"""A model told by its sizes: the syntax of `--shape` and of the measured runs."""

from __future__ import annotations

import csv
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spoken
from rigright.arch import cache, count
from rigright.arch.record import Mix
from rigright.arch.sources import zoo
from rigright.arch.sources.open import open_model
from rigright.arch.sources.shape import COUNTS, EXAMPLE, SWITCHES, read_shape
from rigright.base.errors import AskError, RigError


def test_the_example_is_llama_8b():
    meant = zoo.arch("meta-llama/Llama-3.1-8B")
    found = read_shape(EXAMPLE)
    assert count.params(found) == count.params(meant)
    assert cache.kv_bytes_per_token(found) == cache.kv_bytes_per_token(meant)
    assert count.flops_per_tok(found.trunk) == count.flops_per_tok(meant.trunk)


def test_experts_are_like_mixtral():
    shape = "layers=32,hidden=4096,heads=32,kv_heads=8,ffn=14336,vocab=32000,experts=8,active=2"
    meant = zoo.arch("mistralai/Mixtral-8x7B-v0.1")
    assert count.params(read_shape(shape)) == count.params(meant)
    assert count.active_params(read_shape(shape)) == count.active_params(meant)


def test_the_door_knows_a_shape():
    assert open_model(f" {EXAMPLE}, tied = yes ").tied
    assert open_model(EXAMPLE.replace(",", " , ")).family == "shape"


def test_a_window_slides_and_a_head_may_be_wide():
    found = read_shape("layers=2,hidden=100,heads=3,head_dim=64,ffn=10,vocab=10,window=4k")
    assert found.trunk.layers[0].mixer.kind == Mix.WINDOW
    assert found.trunk.layers[0].mixer.window_tok == 4096
    assert found.trunk.layers[0].mixer.key_dim == 64


def test_a_plain_ffn_ties_its_head_unless_told():
    plain = "layers=2,hidden=64,heads=4,ffn=256,vocab=1000,gated=no"
    assert read_shape(plain).tied
    assert count.params(read_shape(f"{plain},tied=no")) - count.params(read_shape(plain)) == 64_000
    assert not read_shape(plain.replace("no", "yes")).tied


def test_every_shape_of_the_measured_runs_is_as_large_as_it_is_named(shared):
    with (shared / "measured" / "training.csv").open(encoding="utf-8", newline="") as file:
        pairs = {(row["model"], row["shape"]) for row in csv.DictReader(file) if row["shape"]}
    checked = 0
    for model, shape in pairs:
        told = re.fullmatch(r"[^~\d]*?-?\s*(?:3 )?(\d+(?:\.\d+)?)([bBmMT])", model)
        size = count.params(read_shape(shape))
        if told:  # "GPT ~20B" and its like are no names of sizes
            unit = {"b": 1e9, "m": 1e6, "t": 1e12}[told[2].lower()]
            assert abs(size / (float(told[1]) * unit) - 1) < 0.35, model
            checked += 1
    assert len(pairs) >= 20
    assert checked >= 10


@pytest.mark.parametrize(
    ("shape", "named"),
    [
        ("layers=32,hidden=4096", {"keys": "heads, ffn, vocab"}),
        ("layer=32,hidden=4096", {"key": "layer", "keys": "layers"}),
        ("layers=32,layers=32", {"key": "layers"}),
        ("layers=,hidden=1", {"item": "layers="}),
        ("layers=many,hidden=1,heads=1,ffn=1,vocab=1", {"text": "many"}),
        ("layers=0,hidden=1,heads=1,ffn=1,vocab=1", {"key": "layers", "value": "0"}),
        ("layers=99999,hidden=1,heads=1,ffn=1,vocab=1", {"value": "99999", "most": "2000"}),
        ("layers=1,hidden=1e12,heads=1,ffn=1,vocab=1", {"key": "hidden", "value": "1e12"}),
        ("layers=1,hidden=10,heads=3,ffn=1,vocab=1", {"hidden": "10", "heads": "3"}),
        ("layers=1,hidden=8,heads=4,kv_heads=3,ffn=1,vocab=1", {"heads": "4", "kv_heads": "3"}),
        ("layers=1,hidden=8,heads=4,ffn=1,vocab=1,gated=perhaps", {"key": "gated", "value": "perhaps"}),
        ("layers=1,hidden=8,heads=4,ffn=1,vocab=1,experts=4", {}),
        ("layers=1,hidden=8,heads=4,ffn=1,vocab=1,experts=4,active=5", {"used": "5", "experts": "4"}),
        ("layers=2000,hidden=1000000,heads=1,ffn=1000000,vocab=1", {"params": "14000004003000000"}),
    ],
)
def test_what_cannot_be_says_so(shape, named):
    with pytest.raises(AskError) as refused:
        open_model(shape)
    assert spoken.values(refused.value.sentence).items() >= named.items()
    assert named or "active=2" in str(refused.value)


values = st.integers(-5, 10**10).map(str) | st.sampled_from(
    ["yes", "no", "", "4k", "nan", "inf", "1e309", "0x10", "=", "½"]
)


@given(st.lists(st.tuples(st.sampled_from([*COUNTS, *SWITCHES, "x"]), values), min_size=1, max_size=9))
def test_any_shape_is_read_or_refused(pairs):
    shape = ",".join(f"{key}={value}" for key, value in pairs)
    params = 1
    try:
        params = count.params(read_shape(shape))
    except RigError as error:
        params += len(str(error))
    assert params > 0

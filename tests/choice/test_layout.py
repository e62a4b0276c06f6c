"""Layouts that a machine can have, and those that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.sources.zoo import arch
from rigright.base.errors import AskError
from rigright.choice.layout import STAGED, check_layout, is_staged, surely, usual_layout
from rigright.demand import Layout, ServingWish
from rigright.facts.engines import engines, find_engine
from rigright.facts.nodes import find_node


def test_a_stage_a_layer_is_the_most():
    model, node = arch("Qwen/Qwen2.5-0.5B"), find_node("8x8 h100")
    layers = len(model.trunk.layers)
    check_layout(model, node, layout=Layout(pp=layers))
    with pytest.raises(AskError):
        check_layout(model, node, layout=Layout(pp=layers + 1))


@pytest.mark.parametrize("engine", ["vllm", "llama.cpp"])
def test_each_mig_instance_has_a_model_of_its_own(engine):
    model, node = arch("Qwen/Qwen2.5-0.5B"), find_node("4x h100 mig 1g.10gb")
    assert usual_layout(model, find_engine(engine), node=node, wish=ServingWish()) == Layout(dp=4)
    for layout in (Layout(tp=2), Layout(pp=2)):
        with pytest.raises(AskError, match="MIG"):
            check_layout(model, node, layout=layout)


def test_layers_that_an_engine_deals_out_anyway_are_no_stages_instead_of_tensors():
    for engine in engines().values():
        assert not is_staged(engine.split, 1)
        assert bool(is_staged(engine.split, 4)) == (engine.split == "tensor"), engine.id
    splits, pp = np.array(["tensor", "layer", "tensor"]), np.array([2, 2, 1])
    assert is_staged(splits, pp).tolist() == [True, False, False]


@given(serves=st.floats(0, 1e6), more=st.floats(1, 3))
def test_a_pipeline_counts_for_less_and_nothing_else_does(serves, more):
    assert surely(serves, staged=False) == serves
    assert surely(serves * STAGED * more, staged=True) >= surely(serves, staged=False) * (1 - 1e-12)

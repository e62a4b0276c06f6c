"""Layouts that a machine can have, and those that are refused."""

from __future__ import annotations

import pytest

from rigright.arch.sources.zoo import arch
from rigright.base.errors import AskError
from rigright.choice.layout import check_layout
from rigright.demand import Layout
from rigright.facts.nodes import find_node


def test_a_stage_a_layer_is_the_most():
    model, node = arch("Qwen/Qwen2.5-0.5B"), find_node("8x8 h100")
    layers = len(model.trunk.layers)
    check_layout(model, node, layout=Layout(pp=layers))
    with pytest.raises(AskError):
        check_layout(model, node, layout=Layout(pp=layers + 1))

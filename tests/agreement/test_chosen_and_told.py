"""What the program chose, typed back by hand, changes nothing: an answer says what it stands on."""

from __future__ import annotations

import random

import pytest
from drawn_questions import arch_of, node_of, seeds
from test_two_doors import COUNT, drawn

from rigright.base.errors import RigError
from rigright.base.record import replace
from rigright.choice.case import Case
from rigright.demand import ServingWish
from rigright.search.single import single


def told_of(case: Case, wish: ServingWish) -> ServingWish:
    """The wish with the engine, the formats and the layout that the case has."""
    serving, layout = case.serving, case.layout
    return replace(
        wish, engine=serving.engine, weights=serving.weights, kv=serving.kv,
        tp=layout.tp, pp=layout.pp, dp=layout.dp, ep=layout.ep, attention_dp=layout.attention_dp,
    )  # fmt: skip


@pytest.mark.parametrize("seed", seeds(8, quick=1))
def test_what_was_chosen_may_be_told(seed):
    dice = random.Random(seed + 7000)  # noqa: S311 - a draw of questions
    compared, different = 0, []
    for _ in range(COUNT):
        model, machine, wish = drawn(dice)
        arch, node = arch_of(model), node_of(machine)
        try:
            case = single(arch, node, wish=wish).case
        except RigError:  # an engine or a format that does not run there
            continue
        if " + " in machine or case.serving.offload is not None or len(case.cards) < node.n_cards:
            continue
        compared += 1
        again = single(arch, node, wish=told_of(case, wish)).case
        if (again.serving, again.layout, again.traffic) != (case.serving, case.layout, case.traffic):
            different.append((model, machine, wish, case.serving, case.layout, again.serving, again.layout))
    assert compared > COUNT // 3
    assert different == []

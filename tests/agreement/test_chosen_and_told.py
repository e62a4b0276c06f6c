"""What the program chose, typed back by hand, changes nothing: an answer says what it stands on."""

from __future__ import annotations

import random
from dataclasses import fields

import pytest
from drawn_questions import THOROUGH, arch_of, node_of, seeds
from test_two_doors import drawn
from test_two_trainings import drawn as drawn_training

from rigright.base.errors import RigError
from rigright.base.record import replace
from rigright.choice.case import Case
from rigright.demand import ServingWish, TrainingWish
from rigright.search.single import single
from rigright.verbs.training import case as training_case

COUNT = 100 if THOROUGH else 20


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


def told_training(case: training_case.TrainingOnCards, wish: TrainingWish) -> TrainingWish:
    """The wish with every choice that the training and its layout hold."""
    work, layout = case.training, case.layout
    said = {one.name for one in fields(TrainingWish)}
    chosen = {
        name: getattr(part, name) for part in (work, layout) for name in said & set(type(part).__slots__)
    }
    return replace(wish, **chosen | {"global_batch": None})  # it is what these come to


@pytest.mark.parametrize("seed", seeds(8, quick=1))
def test_what_was_chosen_of_a_training_may_be_told(seed):
    dice = random.Random(seed + 7000)  # noqa: S311 - a draw of questions
    compared, different = 0, []
    for _ in range(COUNT):
        model, machine, wish = drawn_training(dice)
        arch, node = arch_of(model), node_of(machine)
        try:
            case = training_case.build_case(arch, node, wish=wish)
        except RigError:  # a layout or a program that cannot be
            continue
        compared += 1
        again = training_case.build_case(arch, node, wish=told_training(case, wish))
        if (again.training, again.layout) != (case.training, case.layout):
            different.append((model, machine, wish, case.training, case.layout, again.training, again.layout))
    assert compared > COUNT // 3
    assert different == []

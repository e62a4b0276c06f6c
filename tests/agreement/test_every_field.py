"""Every choice of a layout, a serving and a training is said at every exit, or refused by its name.

The records are walked by reflection: a new field without a home fails here, by its name. Launch files are
walked in tests/export/test_what_leaves.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import Field, fields, replace
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from rigright.base.plain import settle
from rigright.base.words import LANGUAGES, Sentence, tell
from rigright.demand import (
    KvStore,
    Layout,
    Numbers,
    Offload,
    PlanWish,
    PostTraining,
    Serving,
    ServingWish,
    Training,
    TrainingWish,
)
from rigright.faces import short, tools
from rigright.faces.tools import as_object
from rigright.options.read import fields_of, read_wish
from rigright.options.row import TEXT
from rigright.options.rows import options_of
from rigright.report.pages import explain as explain_page
from rigright.report.pages import plan as plan_page
from rigright.report.pages import plan_next
from rigright.report.pages import simulate as simulate_page
from rigright.report.pages import training as training_page
from rigright.search.record import Plan
from rigright.verbs.explain import explain
from rigright.verbs.explain_training import explain_training
from rigright.verbs.plan import plan
from rigright.verbs.planning.planned import Planned
from rigright.verbs.simulate.setup import PlayWish
from rigright.verbs.simulate.verb import simulate

SERVED, TRAINED = {"on": "8x h100", "users": "16"}, {"on": "8x h100", "mode": "finetune", "method": "qlora"}
# what may be told in other words: of a load, its requests; of a part in main memory, the machine around it
BY_LOAD, BY_MACHINE = {"batch"}, {"offload"}


@cache
def planned(*, trains: bool) -> Planned:
    """A real plan."""
    return plan("qwen3-8b", wish=read_wish(TRAINED if trains else SERVED))


def other(record: Any, field: Field[Any]) -> Any:
    """Another value of a field, by its type alone."""
    value, kind = getattr(record, field.name), get_type_hints(type(record))[field.name]
    kinds = {*(get_args(kind) if get_origin(kind) is UnionType else (kind,))} - {NoneType}
    if kind is Numbers or kinds <= {int, float}:
        return (value or 0) + 3
    if bool in kinds:
        return not value
    parts = {Offload: Offload(layers=3), KvStore: KvStore(ram_bytes=3e11)}
    parts |= {PostTraining: PostTraining(objective="dpo")}
    known = {"engine": "sglang 0.5", "weights": "int8" if value != "int8" else "fp8"}
    made = next((part for kind, part in parts.items() if kind in kinds), known.get(field.name))
    if made is not None:
        return made
    return "another" if value != "another" else "one"


def variants(kind: type, of: Plan) -> Iterator[tuple[str, Plan]]:
    """The plan with each of its choices changed, one at a time: a layout that is cut, then its work."""
    for group in ("layout", "work"):
        record = getattr(of, group)
        if isinstance(record, kind):
            for field in fields(record):
                yield (
                    field.name,
                    replace(of, **{group: replace(record, **{field.name: other(record, field)})}),
                )


RECORDS = [(Layout, False), (Serving, False), (Layout, True), (Training, True)]


def cut(*, trains: bool) -> Plan:
    """A plan that is cut every way, so that whatever hangs on a cut matters."""
    first = planned(trains=trains).plans[0]
    return replace(first, layout=replace(first.layout, tp=2, pp=2, dp=2, ep=2, cp=2))


@pytest.mark.parametrize(("kind", "trains"), RECORDS)
def test_the_json_of_a_plan_holds_every_choice_for_scripts_and_agents(kind, trains):
    result, base = planned(trains=trains), cut(trains=trains)

    def told(one: Plan) -> tuple[str, str]:
        data = plan_page.plain(replace(result, result=replace(result.result, plans=(one,))), "en")
        data = settle(data, "en")
        return json.dumps(data), json.dumps(short.shortened(as_object(data), most=short.SHORT))

    before = told(base)
    silent = [
        name
        for name, one in variants(kind, base)
        if any(a == b for a, b in zip(before, told(one), strict=True))
    ]
    assert silent == []


@pytest.mark.parametrize(("kind", "trains"), RECORDS)
def test_the_next_command_says_every_choice_or_names_what_it_cannot(kind, trains):
    result, base = planned(trains=trains), cut(trains=trains)
    before = plan_next.explain_flags(base, wish=result.wish)
    silent = []
    for name, one in variants(kind, base):
        lost = plan_next.lost_choices(one)
        if name in lost:
            shown = replace(result, result=replace(result.result, plans=(one,)))
            lines = [tell(part.text, language) for language in LANGUAGES for part in _notes(shown)]
            if sum(name in line for line in lines) != len(LANGUAGES):
                silent.append(f"{name}: refused without its name")
            if any(" explain " in line for line in plan_next.next_commands(shown, one)):
                silent.append(f"{name}: refused, and asked all the same")
        elif plan_next.explain_flags(one, wish=result.wish) == before and name not in BY_LOAD | BY_MACHINE:
            silent.append(name)
    assert silent == []


def _notes(result: Planned) -> list[Any]:
    page = plan_page.page(result, details=True)
    return [part for part in page.parts if isinstance(getattr(part, "text", None), Sentence)]


def test_what_only_explain_can_be_told_is_not_simulated():
    base = cut(trains=False)
    known = fields_of("simulate", kinds=TEXT)
    for name, one in variants(Serving, base):
        lines = [line for line in plan_next.next_commands(planned(trains=False), one) if " simulate " in line]
        assert bool(lines) == (name in known | BY_LOAD | BY_MACHINE), name


@pytest.mark.parametrize("percentile", ["95", "50", "99.9"])
def test_compare_is_asked_what_the_plan_was_asked(percentile):
    said = {
        "users": "16", "ttft": "1.5s", "tpot": "60ms", "percentile": percentile, "cached": "30%",
        "engine": "vllm", "weights": "fp8", "growth": "2x", "tariff": "0.12", "watts": "1.5kW",
        "budget": "90000 CNY",
    }  # fmt: skip
    wish = read_wish({"on": "8x h100", **said})
    words = plan_next._work_flags(replace(planned(trains=False), wish=wish))
    starts = [place for place, word in enumerate(words) if word.startswith("--")]
    spoken = {
        words[a][2:]: " ".join(words[a + 1 : b])
        for a, b in zip(starts, [*starts[1:], len(words)], strict=True)
    }
    again = read_wish(spoken, verb="compare")
    names = {field.name for field in fields(PlanWish)} & fields_of("compare")
    kept = {name: (getattr(again, name), getattr(wish, name)) for name in names}
    assert [n for n, (a, b) in kept.items() if a != b and (isinstance(a, str) or a != pytest.approx(b))] == []


def records(kind: type) -> list[tuple[Callable[[Any], Any], Any]]:
    """What each verb tells of a record of that kind, and its answer."""
    if kind is Training:
        trained = explain_training("qwen3-8b", "8x h100", wish=TrainingWish(method="lora"))
        return [(lambda one: training_page.plain(one, "en"), trained)]
    served = explain("qwen3-8b", "8x h100", wish=ServingWish(users=16))
    played = simulate("qwen3-8b", "8x h100", load=PlayWish(concurrency=4, requests=20))
    return [
        (lambda one: explain_page.plain(one, "en"), served),
        (lambda one: simulate_page.plain(one, "en"), played),
    ]


@pytest.mark.parametrize(("group", "kind"), [("layout", Serving), ("serving", Serving), ("layout", Training),
                                             ("training", Training)])  # fmt: skip
def test_the_json_of_explain_and_simulate_holds_every_choice(group, kind):
    for plain, answer in records(kind):
        record = getattr(answer, group)
        before = plain(answer)[group]
        changed = {one.name: replace(record, **{one.name: other(record, one)}) for one in fields(record)}
        told = {name: plain(replace(answer, **{group: one}))[group] for name, one in changed.items()}
        assert [name for name, one in told.items() if one == before] == [], type(answer).__name__


@pytest.mark.parametrize(
    ("verb", "wish"), [("explain", ServingWish), ("explain", TrainingWish), ("plan", PlanWish)]
)
def test_every_field_of_a_wish_has_an_option_and_agents_have_the_same(verb, wish):
    typed_as_money = {"budget_said"}  # --budget in its own currency
    untold = {field.name for field in fields(wish)} - fields_of(verb) - typed_as_money
    assert untold == set()
    arguments = {name.replace("_", "-") for name in tools.arguments(verb, None)} | {
        "prices"
    }  # a file: kept back
    assert {option.name for option in options_of(verb)} <= arguments


def test_options_are_typed_as_they_are_read():
    for option in options_of("plan"):
        for text in ("3", "0.5", "50ms", "8k", "90000 CNY", "bf16", "1.5kW", "95"):
            try:
                value = option.value(text)
            except Exception:  # noqa: BLE001, S112 - no value of this one
                continue
            if option.metavar and isinstance(value, int | float):
                assert option.value(option.written(value)) == pytest.approx(value), (option.name, text)

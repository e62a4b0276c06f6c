"""Whatever a machine's record holds, no check breaks, every sentence is told, and no script acts."""

from __future__ import annotations

import re
import types
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any, Union, get_args, get_origin, get_type_hints

from boxes import box, broken, eight, h100, rtx4090, xid
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rigright.base.plain import dumps
from rigright.base.words import CHINESE, LANGUAGES, Sentence, tell
from rigright.doctor.examine import case_of, examine
from rigright.doctor.record import Finding, Wanted
from rigright.facts.chips import by_id
from rigright.machine.record import Machine
from rigright.machine.system import Event
from rigright.report.fix_script import script
from rigright.report.formats import html, markdown, text
from rigright.report.pages import doctor as pages
from rigright.report.screen import Screen

SPOKEN = ("", "?", "nvidia", "amd", "NVIDIA H100 80GB HBM3", "NVIDIA GeForce RTX 4090", "10de:2330", "ok")
ODD = ("lost", "none", "nvme0n1", "0000:19:00.0", "NV18", "PHB", "550.54.15", "x\n$(touch y)`id`", "{a}")
WORDS = st.sampled_from(SPOKEN + ODD)
NUMBERS = st.integers(min_value=0, max_value=10**15)
FLOATS = st.floats(min_value=0, max_value=1e15, allow_nan=False)
SEVERAL, MOST_CHANGED = 3, 8


def of_type(kind: Any) -> st.SearchStrategy:
    """Any value of a field's type, small."""
    origin = get_origin(kind)
    if origin in {Union, types.UnionType}:
        return st.one_of(*(of_type(one) for one in get_args(kind)))
    if origin is tuple:
        inner = get_args(kind)
        if inner[-1] is Ellipsis:
            return st.lists(of_type(inner[0]), max_size=SEVERAL).map(tuple)
        return st.tuples(*map(of_type, inner))
    if kind is Sentence:
        return st.just(Sentence("{text}", (("text", "why"),)))
    if is_dataclass(kind):
        return st.deferred(lambda: record_of(kind))
    simple = {str: WORDS, int: NUMBERS, float: FLOATS, bool: st.booleans(), type(None): st.none()}
    return simple[kind]


def record_of(kind: type) -> st.SearchStrategy:
    """A record with some fields filled in; the others as they are where nobody looked."""
    hints = get_type_hints(kind)
    told = {one.name: of_type(hints[one.name]) for one in fields(kind) if one.name != "schema"}
    needed = {"vendor", "index", "name", "path", "kind", "address", "id", "slot", "source", "text", "a", "b"}
    needed |= {one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING}
    required = {name: strategy for name, strategy in told.items() if name in needed}
    optional = {name: strategy for name, strategy in told.items() if name not in needed}
    return st.fixed_dictionaries(required, optional=optional).map(lambda given: kind(**given))


@st.composite
def changed(draw, record):
    """A sound record with some of its fields as nobody expects them."""
    hints = get_type_hints(type(record))
    names = draw(st.lists(st.sampled_from(sorted(hints)), max_size=MOST_CHANGED, unique=True))
    return replace(record, **{name: draw(of_type(hints[name])) for name in names})


@st.composite
def machines(draw):
    """Sound cards, changed, in a machine of which anything may be told."""
    make = draw(st.sampled_from([h100, rtx4090]))
    cards = [draw(changed(make(index))) for index in range(draw(st.integers(min_value=0, max_value=4)))]
    return replace(draw(changed(box(cards))), devices=tuple(cards))


WANTED = st.builds(
    Wanted,
    chips=st.lists(st.sampled_from(sorted(by_id())), max_size=4).map(tuple),
    tp=st.integers(min_value=1, max_value=8),
    training=st.booleans(),
)


@settings(suppress_health_check=[HealthCheck.data_too_large])
@given(machine=machines() | record_of(Machine), wanted=st.none() | WANTED)
def test_no_check_breaks_and_everything_can_be_shown(machine, wanted):
    examined = examine(case_of(machine, wanted=wanted))
    assert broken(examined.checks) == []
    for language in LANGUAGES:
        page = pages.page(examined, everything=True)
        for form in (text, markdown, html):
            assert form.render(page, Screen(language=language, width=60))
        assert dumps(pages.plain(examined, language), language)
        assert_inert(script(examined, language))


def assert_inert(told):
    """Every line but the two that start it is a comment: nothing a machine says becomes a command."""
    first, *rest = told.splitlines()
    assert first == "#!/usr/bin/env bash"
    assert [line for line in rest if line and not line.startswith("#")] == ["set -euo pipefail"]


@given(line=st.text(max_size=200), code=st.integers(min_value=0, max_value=300))
def test_what_a_log_says_never_leaves_the_comments(line, code):
    event = Event(kind="xid", text=line, pci="0000:19:00", code=code)
    assert_inert(script(examine(case_of(Machine(events=(event,)))), "en"))


def test_every_verdict_of_a_busy_machine_has_its_chinese():
    machine = eight({3: {"recovery": "gpu reset", "thermal__gpu_c": 93}}, events=(xid(79),))
    for one in examine(case_of(machine)).checks:
        for verdict in one.verdicts:
            if isinstance(verdict, Finding):
                for sentence in (verdict.title, verdict.why, *(step.says for step in verdict.fix)):
                    assert re.search("[\u4e00-\u9fff]", tell(sentence, CHINESE)), sentence

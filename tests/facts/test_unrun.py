"""What keeps an engine from running weights on a chip: told with what does run, and only where it is so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.words import CHINESE, tell
from rigright.facts.chips import by_id, chips
from rigright.facts.engines import engines, engines_of, how_runs, runnings, unrun
from rigright.facts.formats import formats
from spoken import values

known = st.sampled_from(sorted({row.engine for row in runnings()}))
forms = st.sampled_from([*formats(), "gguf:Q4_K_M"])
cards = st.sampled_from(chips())


@given(engine=known, form=forms, chip=cards)
def test_it_is_told_just_where_it_does_not_run(engine, form, chip):
    assert (unrun(engine, form, chip=chip) is None) == (how_runs(engine, form, chip=chip) is not None)


@given(engine=known, form=forms, chip=cards)
def test_what_is_offered_instead_is_true(engine, form, chip):
    told = unrun(engine, form, chip=chip)
    if told is None:
        return
    offered = values(told)
    for other in offered.get("forms", "").split(", "):
        concrete = "gguf:Q4_K_M" if other == "gguf" else other
        assert not other or how_runs(engine, concrete, chip=chip) is not None
    for other in offered.get("engines", "").split(", "):
        assert not other or other in engines_of(chip)


@given(engine=known, form=forms, chip=cards)
def test_it_names_the_chip_in_both_languages(engine, form, chip):
    told = unrun(engine, form, chip=chip)
    if told is not None:
        assert chip.name in str(told)
        assert chip.name in tell(told, CHINESE)
        assert tell(told, CHINESE) != str(told)


def test_of_an_engine_nobody_has_a_row_for_nothing_is_claimed():
    strange = set(engines()) - {row.engine for row in runnings()}
    assert strange
    for engine in strange:
        assert unrun(engine, "bf16", chip=by_id()["h100-sxm5-80gb"]) is None


@pytest.mark.parametrize(
    ("engine", "form", "chip", "instead"),
    [
        ("vllm", "nvfp4", "mi300x", {"form": "nvfp4", "forms": "bf16"}),
        ("vllm", "bf16", "t4", {"form": "bf16", "forms": "fp16"}),
        ("vllm", "bf16", "apple-m4-max-40c", {"engines": "llama.cpp"}),
        ("llama.cpp", "awq4", "rtx-4090", {"form": "awq4", "forms": "gguf"}),
    ],
)
def test_known_cases_are_told_so(engine, form, chip, instead):
    told = values(unrun(engine, form, chip=by_id()[chip]))
    assert told.keys() == {"engine", "chip", *instead}
    assert (told["engine"], told["chip"]) == (engine, by_id()[chip].name)
    assert all(told[name].startswith(first) for name, first in instead.items())

"""How far a case goes: the search for it is exact and asks the law few times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.words import tell
from rigright.demand import ServingWish
from rigright.predict import ranks
from rigright.predict.ranks import largest, largest_alone
from rigright.report.pages import explain as pages
from rigright.report.pages import fit as fit_pages
from rigright.verbs.explain import explain
from rigright.verbs.fit import FitWish, fit


@given(st.integers(0, 10_000), st.integers(1, 10_000), st.floats(0.01, 3), st.integers(1, 500))
def test_the_largest_is_found_one_by_one_however_crooked_the_line(edge, most, bend, step):
    def spare(candidate):
        asked.append(candidate)
        left = edge - candidate
        return (left // step if left < 0 else left) * (bend if candidate < edge / 2 else 1.0)

    asked = []
    assert largest_alone(spare, most) == min(edge, most)
    assert largest(lambda candidates: edge - np.asarray(candidates), most) == min(edge, most)
    assert len(asked) < 3 * 14 + 4


@pytest.mark.parametrize(
    ("model", "on", "engine"),
    [("gemma-2-9b", "8x h100", "transformers"), ("llama-3.1-8b", "2x rtx 3090", "llama.cpp")],
)
def test_cards_handled_one_by_one_ask_the_law_a_few_dozen_times(monkeypatch, model, on, engine):
    law, asked = ranks.stage_memories, []

    def counted(*told, **named):
        asked.append(told)
        return law(*told, **named)

    monkeypatch.setattr(ranks, "stage_memories", counted)
    assert explain(model, on, wish=ServingWish(engine=engine)).limits is not None
    assert len(asked) < 150  # bare cards and whole stages, for some 35 candidates


@pytest.mark.parametrize("model", ["falcon-mamba-7b", "mamba-codestral-7b-v0.1"])
def test_where_nothing_grows_there_is_no_limit_and_no_pool_of_tokens(model):
    found = explain(model, "rtx 4090", wish=ServingWish(engine="vllm"))
    assert found.fits
    assert found.limits.context_tok is None
    assert found.limits.pool_tok is None
    assert found.limits.batch > 1
    said = [
        tell(one, "zh")
        for part in pages.page(found, details=True).parts
        for row in getattr(part, "rows", ())
        for one in row
    ]
    assert any("不限" in one for one in said), said
    assert pages.plain(found, "en")["limits"]["context_tok"] is None
    crowded = explain(model, "rtx 4090", wish=ServingWish(engine="vllm", batch=100_000))
    assert crowded.limits.context_tok == 0


def test_a_list_says_no_limit_too():
    listed = fit("h100", wish=FitWish(family="mamba", engine="vllm"))
    endless = [row for row in listed.models if row.is_endless]
    assert endless
    assert all(row.context_tok is None for row in endless)
    told = [
        tell(cell, "zh")
        for part in fit_pages.page(listed).parts
        for row in getattr(part, "rows", ())
        for cell in row
    ]
    assert "不限" in told

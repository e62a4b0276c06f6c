"""How far a case goes: the search for it is exact and asks the law few times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.demand import ServingWish
from rigright.verbs.explain import explain
from rigright.verbs.serving import cards
from rigright.verbs.serving.limits import largest


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(2, 70))
def test_the_largest_is_found_however_what_is_open_is_cut(edge, most, parts):
    found = largest(lambda candidates: edge - np.asarray(candidates), most, parts=parts)
    assert found == min(edge, most)


@pytest.mark.parametrize(
    ("model", "on", "engine"),
    [("gemma-2-9b", "8x h100", "transformers"), ("llama-3.1-8b", "2x rtx 3090", "llama.cpp")],
)
def test_cards_handled_one_by_one_ask_the_law_a_few_dozen_times(monkeypatch, model, on, engine):
    law, asked = cards.stage_memories, []

    def counted(*told, **named):
        asked.append(told)
        return law(*told, **named)

    monkeypatch.setattr(cards, "stage_memories", counted)
    assert explain(model, on, wish=ServingWish(engine=engine)).limits is not None
    assert len(asked) < 150  # bare cards and whole stages, for some 35 candidates

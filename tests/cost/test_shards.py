"""How weights are cut over ranks: what all ranks hold together is the weight, or copies of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.record import Cut
from rigright.cost.shards import share
from rigright.demand import Layout

ranks = st.sampled_from([1, 2, 4, 8, 16])
cuts = st.sampled_from(list(Cut))


@given(cut=cuts, tp=ranks, heads=st.sampled_from([1, 2, 8]))
def test_ranks_hold_a_weight_whole_or_more(cut, tp, heads):
    held = float(share(cut, Layout(tp=tp), kv_heads=heads))
    assert 1 / tp <= held <= 1
    assert held * tp >= 1


@pytest.mark.parametrize("cut", [Cut.OUT, Cut.IN, Cut.VOCAB])
def test_matrices_are_cut_evenly(cut):
    assert share(cut, Layout(tp=8)) == pytest.approx(1 / 8)


@given(cut=cuts, tp=ranks)
def test_ranks_with_their_own_sequences_hold_all_but_experts(cut, tp):
    """Each makes whole tokens of its own: attention, shared parts, tables of words and the head."""
    own = float(share(cut, Layout(tp=tp, ep=tp, attention_dp=True)))
    assert own == (1 / tp if cut == Cut.EXPERT else 1)


def test_many_layouts_at_once_are_each_alone():
    tp = np.array([1, 2, 8])
    for cut in Cut:
        together = share(cut, Layout(tp=tp), kv_heads=4)
        assert together.tolist() == [float(share(cut, Layout(tp=one), kv_heads=4)) for one in tp.tolist()]

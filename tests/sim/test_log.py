"""The log of a replica: folded as it grows, it tells what the whole of it told."""

from __future__ import annotations

import numpy as np
import pytest
from players import make_load, make_shop

from rigright.sim import log as log_file
from rigright.sim.fleet import ReplicaFleet, play
from rigright.sim.tally import Targets, tally

FIELDS = ("passes", "busy_share", "decode_only_share", "cache_most", "cache_mean", "served", "span_s")


def told(policy, monkeypatch, rows):
    monkeypatch.setattr(log_file, "FOLDED_ROWS", rows)
    load = make_load([(0.02 * one, 50 + 11 * (one % 40), 3 + one % 25) for one in range(400)])
    played = play(load, ReplicaFleet(shop=make_shop(policy)))
    return load, played, tally(load, played, targets=Targets())


@pytest.mark.parametrize("policy", ["vllm", "sglang", "static"])
def test_a_folded_log_tells_the_same(policy, monkeypatch):
    _, _, whole = told(policy, monkeypatch, 10**9)
    monkeypatch.setattr(log_file, "MOST_GAPS", 50)
    load, played, folded = told(policy, monkeypatch, 32)
    for name in FIELDS:
        assert getattr(folded, name) == pytest.approx(getattr(whole, name), rel=1e-9), name
    assert folded.itl_s.mean == pytest.approx(whole.itl_s.mean, rel=1e-9)
    assert folded.itl_s.most == pytest.approx(whole.itl_s.most, rel=1e-9)
    for mark in ("p50", "p90", "p95", "p99"):
        assert getattr(folded.itl_s, mark) == pytest.approx(getattr(whole.itl_s, mark), rel=1e-3)
    _, weights = played.servers[0].log.gaps()
    assert weights.sum() == load.output_tok.sum() - load.count
    for one, other in zip(folded.timeline, whole.timeline, strict=True):
        assert one.cache_share == pytest.approx(other.cache_share, abs=0.05)
        assert one.running == other.running


def test_a_long_log_keeps_few_rows(monkeypatch):
    monkeypatch.setattr(log_file, "FOLDED_ROWS", 64)
    log = log_file.Log()
    for one in range(10_000):
        log.add((float(one + 1), 1.0, 1, one % 7, 5, one % 3, 0))
    assert len(log.columns()["end_s"]) < 64
    curves = log.curves()
    assert len(curves.end_s) < 10_000 / log_file.THINNED + 64
    assert (np.diff(curves.end_s) > 0).all()
    assert curves.filled[-1] == pytest.approx(50_000)
    assert log.busy_s == pytest.approx(10_000)

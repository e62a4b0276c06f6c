"""The day that prices are held against."""

from __future__ import annotations

from datetime import date

import pytest

from rigright.base.errors import AskError
from rigright.demand import PlanWish
from rigright.verbs.own import today
from rigright.verbs.plan import plan as plan_verb


def test_a_day_may_be_named(monkeypatch):
    monkeypatch.setenv("RIGRIGHT_TODAY", "2026-11-21")
    assert today() == date(2026, 11, 21)


def test_what_is_no_day_says_so(monkeypatch):
    monkeypatch.setenv("RIGRIGHT_TODAY", "soon")
    with pytest.raises(AskError, match="RIGRIGHT_TODAY"):
        today()


def test_a_price_grows_stale_and_its_band_wider(monkeypatch):
    asked = PlanWish(work="chat", chips=("4090",), buy=True, engines=("vllm",), weights=("awq4",))
    found = []
    for day in ("2025-08-01", "2027-08-01"):
        monkeypatch.setenv("RIGRIGHT_TODAY", day)
        found.append(plan_verb("qwen3-8b", wish=asked).first.supply)
    fresh, old = found
    assert (fresh.stale, old.stale) == (False, True)
    assert old.usd.high - old.usd.low > fresh.usd.high - fresh.usd.low

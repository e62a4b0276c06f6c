"""Money in other currencies: rough rates with their dates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import AskError
from rigright.facts.currencies import currencies, find_currency, to_usd


def test_a_dollar_is_a_dollar():
    assert to_usd(8000, "USD") == 8000


def test_sixty_thousand_yuan_are_some_eight_thousand_dollars():
    assert 7000 < to_usd(60000, "cny") < 10000


@given(st.sampled_from(sorted(currencies())), st.floats(0.01, 1e9))
def test_there_and_back(code, amount):
    assert to_usd(amount, code) * find_currency(code).per_usd == pytest.approx(amount)


def test_every_rate_has_its_date_and_source():
    assert all(one.as_of and one.source and one.per_usd > 0 for one in currencies().values())


def test_an_unknown_currency_lists_those_there_are():
    with pytest.raises(AskError, match="USD, CNY"):
        find_currency("XYZ")

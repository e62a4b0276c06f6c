"""Questions that several stories ask."""

from __future__ import annotations

from datetime import date

import pytest

from rigright.arch.sources.open import open_model
from rigright.search.market import market_on

TODAY = date(2026, 11, 21)


@pytest.fixture(scope="session")
def market():
    return market_on(TODAY)


@pytest.fixture(scope="session")
def llama8():
    return open_model("llama-3.1-8b")


@pytest.fixture(scope="session")
def llama70():
    return open_model("llama-3.1-70b")


@pytest.fixture(scope="session")
def mixtral():
    return open_model("mixtral-8x7b")

"""Places: tariffs and carbon, each row sourced, and names found in both languages."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import AskError
from rigright.base.money import currencies
from rigright.facts import tariffs as module
from rigright.facts.prices import dated
from rigright.facts.tariffs import carbon_at, currency_at, find_place, places, tariff_at, tariffs
from spoken import values

KINDS = {"residential", "residential-valley", "commercial", "industrial", "carbon"}


def test_every_figure_is_sourced_dated_and_of_a_known_place():
    for row in tariffs():
        assert row.place in places(), row
        assert row.kind in KINDS, row
        assert dated(row.as_of), row
        assert row.source, row
        assert row.licence, row
        assert row.confidence in {"high", "med", "low"}, row
        assert row.confidence == "low" or "recalled" not in row.source, row
        if row.kind == "carbon":
            assert row.currency is None, row
            assert 0 < row.value < 1500, row
        else:
            assert 0.005 < row.value / currencies()[row.currency].per_usd < 0.8, row


def test_every_place_says_something_and_answers_to_its_code():
    known = {row.place for row in tariffs()}
    for code, place in places().items():
        assert code in known, place
        assert find_place(code) == place
        assert place.parent is None or place.parent in places(), place


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ("US-CA", "US-CA"), ("us_ca", "US-CA"), ("California", "US-CA"), ("DE", "DE"), ("germany", "DE"),
        ("德国", "DE"), ("CN-GD", "CN-GD"), ("Guangdong", "CN-GD"), ("guangdong province", "CN-GD"),
        ("广东", "CN-GD"), ("广东省", "CN-GD"), ("上海市", "CN-SH"), ("FRA", "FR"), ("UK", "GB"),
        ("us-central1", "gcp:us-central1"), ("内蒙古自治区", "CN-NM"),
    ],
)  # fmt: skip
def test_names_of_places(asked, code):
    assert find_place(asked).place == code


@pytest.mark.parametrize("asked", ["Gwangdong", "germny", "Atlantis", "", "x" * 300])
def test_unknown_places_are_refused_with_what_is_near(asked):
    with pytest.raises(AskError) as caught:
        find_place(asked)
    assert caught.value.hint is not None


def test_georgia_is_two_places():
    with pytest.raises(AskError) as refused:
        find_place("Georgia")
    assert "Georgia" in values(refused.value.sentence).values()


@given(asked=st.text(max_size=40))
def test_any_text_is_a_place_or_refused(asked):
    with suppress(AskError):
        assert find_place(asked).place in places()


def test_what_is_not_known_there_is_taken_from_near_and_said():
    shanghai, note = tariff_at(find_place("CN-SH"), company=False)
    assert (shanghai.value, shanghai.currency, note) == (0.617, "CNY", None)
    company, note = tariff_at(find_place("CN-SH"), company=True)
    assert company.place == "CN"
    assert note is not None
    assert tariff_at(find_place("Kenya"), company=False) is None
    assert carbon_at(find_place("CN-GD")).value == 441.9
    assert carbon_at(find_place("CN-XZ")).place == "CN", "of the country where the province is not known"
    assert currency_at(find_place("广东")) == "CNY"
    assert currency_at(find_place("Kenya")) is None


def test_the_newest_figure_of_a_kind_counts(monkeypatch):
    row = next(row for row in tariffs() if row.kind == "residential")
    older = replace(row, as_of="2001-01", value=0.001)
    for rows in ((older, row), (row, older)):
        monkeypatch.setattr(module, "tariffs", lambda rows=rows: rows)
        assert tariff_at(places()[row.place], company=False) == (row, None)

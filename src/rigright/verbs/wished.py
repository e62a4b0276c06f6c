"""What was asked, as a wish: in the money of the place that was named, where nobody named another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rigright.demand import PlanWish
from rigright.facts.tariffs import currency_at, find_place
from rigright.options.read import read_wish


def wish_of(
    words: Mapping[str, str | None], *, verb: str = "plan", beside: Sequence[str | None] = ()
) -> PlanWish:
    """The wish that options tell; `beside`: what else was typed."""
    return read_wish(words, verb=verb, beside=beside, local=local_of(words))


def local_of(words: Mapping[str, str | None]) -> str | None:
    """What is paid with at the place of a question."""
    place = words.get("place")
    return currency_at(find_place(place)) if place else None

"""What was asked, as a wish: in the money of the place that was named, where nobody named another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rigright.base.words import ENGLISH
from rigright.demand import PlanWish
from rigright.facts.tariffs import currency_at, find_place
from rigright.options.read import home_of, read_wish


def wish_of(
    words: Mapping[str, str | None], *, verb: str = "plan", beside: Sequence[str | None] = (),
    language: str = ENGLISH,
) -> PlanWish:  # fmt: skip
    """The wish that options tell; `beside`: what else was typed."""
    return read_wish(words, verb=verb, home=paid_in(words, beside, language=language))


def paid_in(words: Mapping[str, str | None], beside: Sequence[str | None], *, language: str) -> str:
    """The currency of who asks: by the place of a question, else by its words and language."""
    place = words.get("place")
    local = currency_at(find_place(place)) if place else None
    return home_of((*words.values(), *beside), language, place=local)

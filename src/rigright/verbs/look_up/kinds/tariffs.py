"""Tariffs: what a kWh costs in a place, and the carbon in it."""

from __future__ import annotations

from rigright.base.words import Sentence, say
from rigright.facts.tariffs import KwhPrice, find_place, places, tariffs
from rigright.verbs.look_up.fields import field, provenance
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery


def _find(asked: LookUpQuery) -> tuple[KwhPrice, ...]:
    """Every figure of the place that is named; all where none is."""
    if not asked.words:
        return tariffs()
    place = find_place(" ".join(asked.words)).place
    return tuple(kwh_price for kwh_price in tariffs() if kwh_price.place == place)


def _place(code: str) -> Sentence:
    """A place by its name."""
    return say("{text}", text=places()[code].shown)


KIND = ListingKind(
    record=KwhPrice,
    summary=say("electricity tariffs and carbon by place"),
    title=say("Electricity tariffs"),
    fields=(
        field("place", say("place"), show=_place, listed=True),
        field("kind", say("kind"), listed=True),
        field("value", say("value"), listed=True),
        field("unit", say("unit"), listed=True),
        field("currency", say("currency"), listed=True),
        field("as_of", say("as of"), "since", listed=True),
        *provenance(),
    ),
    find=_find,
)

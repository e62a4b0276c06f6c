"""Clouds: instances with their chips and dated prices."""

from __future__ import annotations

from rigright.base.errors import AskError
from rigright.base.page import Shown
from rigright.base.units import GIGA, TERA
from rigright.base.words import say
from rigright.facts.chips import by_id
from rigright.facts.clouds import Offer, offers, providers_of
from rigright.facts.find import find_chips, names_chip
from rigright.verbs.look_up.fields import field, provenance
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery, Unit
from rigright.verbs.look_up.words import (
    doubt_notes,
    price_date_shown,
    source_shown,
    stale_notes,
    with_words,
)


def _find(asked: LookUpQuery) -> tuple[Offer, ...]:
    """Offers of the providers named, of the instances or chips the other words mean."""
    named = {provider for word in asked.words for provider in providers_of(word)}
    rest = " ".join(word for word in asked.words if not providers_of(word))
    of_provider = tuple(offer for offer in offers() if not named or offer.provider in named)
    wanted = _chips(rest)
    called = with_words(of_provider, rest, texts=lambda offer: offer.instance)
    result = tuple(offer for offer in of_provider if offer in called or offer.chip in wanted)
    if not result:
        raise AskError(say('no cloud in the table offers "{text}"', text=" ".join(asked.words)))
    return result


def _chips(text: str) -> frozenset[str]:
    """The chips that words mean; a family of instances is found by its own name."""
    return frozenset(chip.id for chip in find_chips(text)) if text and names_chip(text) else frozenset()


def _notes(asked: LookUpQuery, kept: tuple[Offer, ...]) -> tuple[Shown, ...]:
    dates = {offer.as_of for offer in kept}
    newest = max((as_of for as_of in dates if as_of), default=None)
    return (
        say(
            "prices in $/hour, each as of its own date; newest: {date}",
            date=price_date_shown(newest, asked.today),
        ),
        *stale_notes(dates, asked.today),
        *doubt_notes(kept),
    )


KIND = ListingKind(
    record=Offer,
    summary=say("cloud instances, with dated prices"),
    title=say("Cloud instances"),
    fields=(
        field("instance", say("instance"), listed=True, flexible=True),
        field("provider", say("cloud"), "cloud", listed=True),
        field("n_chips", say("chips"), "chips", "gpus", listed=True),
        field(
            "chip=rents",
            say("chip"),
            show=lambda chip: by_id()[chip].name if chip in by_id() else chip,
            listed=True,
            flexible=True,
        ),
        field("usd_per_h", say("$/hour"), "price", "usd", listed=True),
        field("usd_per_chip_h", say("$/chip-hour"), "per_chip", listed=True),
        field("as_of", say("as of"), "since", listed=True),
        field("mem_bytes", say("memory per GPU, GB"), "mem", "memory"),
        field("vcpus", say("vCPUs")),
        field("ram_bytes", say("RAM GB"), "ram"),
        field("nvme_bytes", say("local disk TB"), unit=Unit(TERA)),
        field("link", say("link between chips")),
        field("network_bytes_per_s", say("network Gbit/s"), "network", unit=Unit(GIGA / 8)),
        field("spot_usd_per_h", say("$/hour, spot"), "spot"),
        field("region", say("region")),
        field("currency", say("currency")),
        field("native_per_h", say("per hour in that currency")),
        *(listing_field for listing_field in provenance() if listing_field.key != "as_of"),
    ),
    find=_find,
    notes=_notes,
    sources=source_shown,
)

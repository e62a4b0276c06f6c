"""Clouds: instances with their chips and dated prices."""

from __future__ import annotations

from rigright.base.errors import AskError
from rigright.base.page import Shown
from rigright.base.units import GIGA, TERA
from rigright.base.words import say
from rigright.facts.chips import by_id
from rigright.facts.clouds import BITS, Offer, offers, providers_of
from rigright.facts.find import find_chips
from rigright.verbs.look_up.fields import figure, memory, moment, provenance, told
from rigright.verbs.look_up.listing import Asked, Field, Kind
from rigright.verbs.look_up.words import doubt_notes, price_date_shown, source_shown, stale_notes

_MONEY = "{:,.2f}"


def _find(asked: Asked) -> tuple[Offer, ...]:
    """Offers of the providers named, of the instances or chips the other words mean."""
    named = {provider for word in asked.words for provider in providers_of(word)}
    rest = " ".join(word for word in asked.words if not providers_of(word))
    of_provider = tuple(offer for offer in offers() if not named or offer.provider in named)
    by_name = tuple(offer for offer in of_provider if rest.casefold() in offer.instance.casefold())
    if by_name:
        return by_name
    wanted = {chip.id for chip in find_chips(rest)}
    found = tuple(offer for offer in of_provider if offer.chip in wanted)
    if not found:
        raise AskError(say('no cloud in the table rents "{text}" out', text=" ".join(asked.words)))
    return found


def _notes(asked: Asked, kept: tuple[Offer, ...]) -> tuple[Shown, ...]:
    dates = {offer.as_of for offer in kept}
    newest = max((as_of for as_of in dates if as_of), default=None)
    return (
        say(
            "prices are dollars an hour as of their own dates, the newest {date}",
            date=price_date_shown(newest, asked.today),
        ),
        *stale_notes(dates, asked.today),
        *doubt_notes(kept),
    )


KIND = Kind(
    summary=say("what clouds rent out, with dated prices"),
    title=say("Cloud instances"),
    fields=(
        told("instance", say("instance"), listed=True, flexible=True),
        told("provider", say("cloud"), "cloud", listed=True),
        figure("n_chips", say("chips"), "chips", "gpus", listed=True),
        Field(
            key="chip",
            head=say("chip"),
            read=lambda offer: offer.chip or offer.said,
            show=lambda chip: by_id()[chip].name if chip in by_id() else chip,
            flexible=True,
        ),
        figure("usd_per_h", say("$ an hour"), "price", "usd", written=_MONEY, listed=True),
        figure("usd_per_chip_h", say("$ a chip-hour"), "per_chip", written=_MONEY, listed=True),
        moment("as_of", say("as of"), "since"),
        memory("mem_bytes", say("memory of a chip GB"), "mem", "memory"),
        figure("vcpus", say("vCPUs")),
        memory("ram_bytes", say("RAM GB"), "ram"),
        figure("nvme_bytes", say("local disk TB"), scale=TERA),
        told("link", say("link between chips")),
        figure("network_bytes_per_s", say("network Gbit/s"), "network", scale=GIGA / BITS),
        figure("spot_usd_per_h", say("$ an hour, spot"), "spot", written=_MONEY),
        told("region", say("region")),
        told("currency", say("currency")),
        figure("native_per_h", say("an hour in that currency"), written=_MONEY),
        *(field for field in provenance() if field.key != "as_of"),
    ),
    find=_find,
    notes=_notes,
    sources=source_shown,
)

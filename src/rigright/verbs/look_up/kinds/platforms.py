"""Platforms: boards, servers and racks that hold the cards."""

from __future__ import annotations

from rigright.base.words import say
from rigright.facts.parts import Platform, platforms
from rigright.verbs.look_up.fields import doubt, field, provenance
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery
from rigright.verbs.look_up.words import doubt_notes, matching, source_shown


def _find(asked: LookUpQuery) -> tuple[Platform, ...]:
    return matching(
        platforms(),
        asked.words,
        text_of=lambda platform: f"{platform.id} {platform.name} {platform.socket} {platform.kind}",
    )


KIND = ListingKind(
    record=Platform,
    summary=say("boards, servers and racks for GPUs"),
    title=say("Platforms"),
    fields=(
        field("name", say("platform"), listed=True, flexible=True),
        doubt(),
        field("socket", say("socket"), listed=True, flexible=True),
        field("gpus", say("two-slot cards"), listed=True, right=True),
        field("lanes", say("lanes for cards"), listed=True, flexible=True),
        field("mem_max_bytes", say("max. memory GB"), "mem", "memory", listed=True),
        field("price_usd", say("price $"), listed=True, right=True),
        field("id", say("id")),
        field("kind", say("kind")),
        field("gpus_max", say("max. cards")),
        field("slots", say("slots")),
        field("mem_slots", say("memory slots")),
        field("psu_count", say("power supplies")),
        field("psu_w", say("W each")),
        field("system_w", say("whole machine W"), "power"),
        field("psu_redundancy", say("spare power supplies")),
        *provenance(),
    ),
    find=_find,
    notes=lambda _asked, kept: doubt_notes(kept),
    sources=source_shown,
)

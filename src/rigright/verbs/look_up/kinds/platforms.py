"""Platforms: boards, servers and racks that hold the cards."""

from __future__ import annotations

from rigright.base.words import say
from rigright.facts.platforms import Platform, platforms
from rigright.verbs.look_up.fields import doubt, figure, memory, provenance, told
from rigright.verbs.look_up.listing import Asked, Field, Kind
from rigright.verbs.look_up.words import doubt_notes, matching, source_shown


def _find(asked: Asked) -> tuple[Platform, ...]:
    return matching(
        platforms(), asked.words, text_of=lambda one: f"{one.id} {one.name} {one.socket} {one.kind}"
    )


def _span(least: float | None, most: float | None) -> str | None:
    """Both ends of a range: "2-4", "8"."""
    if least is None or most is None:
        return None
    return f"{least:,.0f}" if least == most else f"{least:,.0f}-{most:,.0f}"


KIND = Kind(
    summary=say("boards, servers and racks that hold cards"),
    title=say("Platforms"),
    fields=(
        told("name", say("platform"), listed=True, flexible=True),
        doubt(),
        told("socket", say("socket"), listed=True, flexible=True),
        Field(
            key="gpus",
            head=say("two-slot cards"),
            read=lambda one: _span(one.gpus_min, one.gpus_max),
            right=True,
        ),
        told("lanes", say("lanes for cards"), listed=True, flexible=True),
        memory("mem_max_bytes", say("most memory GB"), "mem", "memory", listed=True),
        Field(
            key="price_usd",
            head=say("price $"),
            read=lambda one: _span(one.price_min_usd, one.price_max_usd),
            right=True,
        ),
        told("id", say("id")),
        told("kind", say("kind")),
        figure("gpus_max", say("most cards")),
        Field(
            key="slots",
            head=say("slots"),
            read=lambda one: _span(one.slots_min, one.slots_max),
            detail=True,
        ),
        Field(
            key="mem_slots",
            head=say("memory slots"),
            read=lambda one: _span(one.mem_slots_min, one.mem_slots_max),
            detail=True,
        ),
        figure("psu_count", say("power supplies")),
        figure("psu_w", say("W of each"), written="{:,.0f}"),
        figure("system_w", say("whole machine W"), "power", written="{:,.0f}"),
        told("psu_redundancy", say("spare power supplies")),
        *provenance(),
    ),
    find=_find,
    notes=lambda _asked, kept: doubt_notes(kept),
    sources=source_shown,
)

"""Benchmarks: what healthy hardware reached, and the least operators accept."""

from __future__ import annotations

from rigright.base.words import Sentence, say
from rigright.facts.bench import Reference, references
from rigright.verbs.look_up.fields import doubt, field, provenance
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery
from rigright.verbs.look_up.words import doubt_notes, matching, source_shown


def _find(asked: LookUpQuery) -> tuple[Reference, ...]:
    return matching(
        references(),
        asked.words,
        text_of=lambda reference: f"{reference.what} {reference.on} {reference.chip or ''}",
    )


def _kind_shown(kind: str) -> Sentence:
    return {
        "measured": say("measured"),
        "least": say("minimum accepted"),
        "claim": say("a claim"),
    }.get(kind, say("unknown"))


KIND = ListingKind(
    record=Reference,
    summary=say("benchmark results of healthy hardware"),
    title=say("Benchmark reference values"),
    fields=(
        field("what", say("benchmark"), listed=True, flexible=True),
        doubt(),
        field("on", say("ran on"), listed=True, flexible=True),
        field("said", say("figure"), listed=True),
        field("kind", say("kind"), show=_kind_shown, listed=True),
        field("chip", say("id")),
        field("n_chips", say("chips")),
        field("value", say("value, SI")),
        field("unit", say("unit")),
        *provenance(),
    ),
    find=_find,
    notes=lambda _asked, kept: doubt_notes(kept),
    sources=source_shown,
)

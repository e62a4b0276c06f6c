"""Myths of the guides: the claim, and the right figure."""

from __future__ import annotations

from rigright.base.words import Sentence, say
from rigright.facts.guides import Myth, find_myth, myths
from rigright.verbs.look_up.fields import field
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery


def right(myth: Myth) -> Sentence:
    """What holds instead, with its figures."""
    return Sentence(myth.right, tuple((name, figure.shown) for name, figure in myth.figures.items()))


def claim(myth: Myth) -> Sentence:
    """What is said, and wrong."""
    return Sentence(myth.claim)


def _find(asked: LookUpQuery) -> tuple[Myth, ...]:
    if not asked.words:
        return myths()
    if all(word.isdigit() for word in asked.words):
        return tuple(find_myth(word) for word in asked.words)
    words = [word.lower() for word in asked.words]
    return tuple(
        myth for myth in myths() if all(word in f"{myth.claim} {myth.right}".lower() for word in words)
    )


KIND = ListingKind(
    record=Myth,
    summary=say("what the guides say wrong, with the right figure"),
    title=say("Myths, and the right figure"),
    fields=(
        field("id", say("no."), listed=True),
        field("claim", say("claim"), law=claim, listed=True, flexible=True),
        field("right", say("right"), law=right, listed=True, flexible=True),
        field("guide", say("guide")),
        field("figures", say("figures"), show=lambda _: ""),
    ),
    find=_find,
    sources=lambda myth: myth.source,
)

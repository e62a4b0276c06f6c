"""Myths of the guides: the claim, and the right figure computed from our own tables and laws."""

from __future__ import annotations

from rigright.base.words import Sentence, say
from rigright.facts.myths import Myth, find_myth, myths
from rigright.verbs.look_up.fields import field
from rigright.verbs.look_up.figure import Figure, show
from rigright.verbs.look_up.figures import compute
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery


def right(myth: Myth) -> Sentence:
    """What holds instead, with figures computed from our tables."""
    return Sentence(myth.right, tuple((name, show(compute(law))) for name, law in myth.figures))


def claim(myth: Myth) -> Sentence:
    """What is said, and wrong."""
    return Sentence(myth.claim)


def figures(myth: Myth) -> dict[str, Figure]:
    """The figures of the right statement, by their names in it."""
    return {name: compute(law) for name, law in myth.figures}


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
        field("figures", say("figures"), law=figures, show=lambda _: ""),
    ),
    find=_find,
    sources=lambda myth: myth.source,
)

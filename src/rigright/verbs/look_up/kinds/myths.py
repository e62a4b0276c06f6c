"""Myths of the guides: the claim, and the right figure computed from our own tables and laws."""

from __future__ import annotations

from rigright.base.words import Sentence, say
from rigright.facts.myths import Myth, find_myth, myths
from rigright.verbs.look_up.figure import show
from rigright.verbs.look_up.figures import compute
from rigright.verbs.look_up.listing import Asked, Field, Kind


def right(myth: Myth) -> Sentence:
    """The right statement with its figures filled in."""
    return Sentence(myth.right, tuple((name, show(compute(law))) for name, law in myth.figures))


def figures(myth: Myth) -> dict[str, object]:
    """Each figure by its name: the value and its unit."""
    found = {name: compute(law) for name, law in myth.figures}
    return {name: {"value": figure.value, "unit": figure.unit} for name, figure in found.items()}


def _find(asked: Asked) -> tuple[Myth, ...]:
    if not asked.words:
        return myths()
    if all(word.isdigit() for word in asked.words):
        return tuple(find_myth(word) for word in asked.words)
    words = [word.lower() for word in asked.words]
    return tuple(
        myth for myth in myths() if all(word in f"{myth.claim} {myth.right}".lower() for word in words)
    )


KIND = Kind(
    summary=say("what the guides say wrong, with the right figure"),
    title=say("Myths, and the right figure"),
    fields=(
        Field(key="id", head=say("no."), read=lambda myth: myth.id, right=True),
        Field(key="claim", head=say("claim"), read=lambda myth: Sentence(myth.claim), flexible=True),
        Field(key="right", head=say("right"), read=right, flexible=True),
        Field(key="guide", head=say("guide"), read=lambda myth: myth.guide, detail=True),
        Field(key="figures", head=say("figures"), read=figures, show=lambda _: "", detail=True),
    ),
    find=_find,
    sources=lambda myth: myth.source,
)

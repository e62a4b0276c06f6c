"""What a sentence says beside its words: the values that fill it, which stay when its words get better."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Bilingual, Sentence


def pairs(said: object) -> Iterator[tuple[str, object]]:
    """Each value of a sentence by its name, those of sentences inside it in their place."""
    if isinstance(said, Sentence):
        for name, value in said.values:
            yield from pairs(value) if isinstance(value, Sentence) else [(name, value)]


def pairs_whole(said: object) -> Iterator[tuple[str, object]]:
    """The same, and each sentence inside it whole before its own values."""
    if isinstance(said, Sentence):
        for name, value in said.values:
            yield name, value
            yield from pairs_whole(value)


def values(*said: object) -> dict[str, str]:
    """Values of sentences by their names, as they are shown; of values of one name the first."""
    found: dict[str, str] = {}
    for one in said:
        for name, value in pairs(one):
            found.setdefault(name, str(value))
    return found


def shown(*said: object) -> list[str]:
    """What is shown of anything but words: the values of sentences, and text that is none."""
    return [
        text
        for one in said
        for text in (
            [str(value) for _, value in pairs(one)]
            if isinstance(one, Sentence)
            else []
            if isinstance(one, Bilingual)
            else [str(one)]
        )
    ]


def same(one: object, other: object) -> bool:
    """Whether two sentences are of one kind, whatever fills them."""
    return isinstance(one, Sentence) and isinstance(other, Sentence) and one.text == other.text

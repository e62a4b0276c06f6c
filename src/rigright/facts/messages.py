"""Errors of frameworks and tools, as they print them, and what each means."""

from __future__ import annotations

from functools import cache

from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_toml
from rigright.base.words import Sentence, in_both

MOST_CHARS = 20_000  # of a text that is looked through


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorMessage:
    """One kind of message."""

    id: str
    marks: tuple[tuple[str, ...], ...]  # of each group one stands in it, in lower case
    means: Sentence
    do: Sentence
    command: str  # that shows more


@cache
def error_messages() -> tuple[ErrorMessage, ...]:
    """Every row, in order."""
    return tuple(
        ErrorMessage(
            id=row["id"],
            marks=tuple(tuple(group.split("|")) for group in row["marks"]),
            means=in_both(*row["means"], values={}),
            do=in_both(*row["do"], values={}),
            command=row["command"],
        )
        for row in read_toml(DATA / "messages.toml")["message"]
    )


def message_in(text: str) -> ErrorMessage | None:
    """The message that a text repeats."""
    plain = text[:MOST_CHARS].casefold()
    return next(
        (one for one in error_messages() if all(any(word in plain for word in group) for group in one.marks)),
        None,
    )

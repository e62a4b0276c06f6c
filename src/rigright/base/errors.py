"""The one exception tree: each error says what was asked, what is there, what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from rigright.base.words import Sentence, say

T = TypeVar("T")
EXIT_INTERRUPT = 130  # Ctrl-C, as a shell gives it (`__main__` has its own: it waits for no import)
Hint = Sentence | Callable[[], Sentence | None] | None  # or what looks for it


class RigError(Exception):
    """Something a person can understand and mend: what is wrong, and a hint on what to type instead."""

    exit_code = 1

    def __init__(self, sentence: Sentence, *, hint: Hint = None) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence
        self._hint = hint

    @property
    def hint(self) -> Sentence | None:
        """What to type instead; what takes a search is looked for when somebody reads it."""
        if self._hint is not None and not isinstance(self._hint, Sentence):
            self._hint = self._hint()
        return self._hint

    def __reduce__(self) -> str | tuple[Any, ...]:
        """As it travels between processes: with its hint, not with what looks for it."""
        self._hint = self.hint
        return super().__reduce__()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """The hint as a note, for those who see a traceback."""
            if name != "__notes__" or self.hint is None:
                raise AttributeError(name)
            self.__notes__ = [str(self.hint)]
            return self.__notes__

    @property
    def whole(self) -> Sentence:
        """What is wrong and the hint in one line, for a cell or a note."""
        if self.hint is None:
            return self.sentence
        return say("{first}; {second}", first=self.sentence, second=self.hint)


class AskError(RigError):
    """The question itself is wrong: an unknown name, a bad value, a missing choice."""

    exit_code = 2


class DataError(RigError):
    """A file or table cannot be read as what it claims to be."""

    exit_code = 3


class MissingError(RigError):
    """Something needed is not here: a file, an extra, a driver, the network."""

    exit_code = 4


class CommandError(RigError):
    """A command of the user's cannot be started; the exit code is the one a shell would give."""

    exit_code = 127


def maybe(read: Callable[[], T]) -> T | None:
    """What is read; none where it is refused."""
    try:
        return read()
    except RigError:
        return None


def clash(first: str, second: str) -> AskError:
    """The error for two choices that shut each other out."""
    return AskError(
        say("{first} and {second} cannot be combined", first=first, second=second),
        hint=say("remove one of them"),
    )


def unknown(
    what: Sentence, asked: str, *, near: Iterable[str] | Callable[[], Iterable[str]] = (),
    known: Iterable[str] = (), see: str | None = None,
) -> AskError:  # fmt: skip
    """The error for a name that nothing answers to: what is near, else all there are, else where to look.

    `near`: names, or what looks for them once somebody reads the hint.
    """

    def hint() -> Sentence | None:
        texts = near() if callable(near) else near
        close, every = ", ".join(dict.fromkeys(texts)), ", ".join(dict.fromkeys(known))
        if close and see:
            return say("did you mean {near}? `{see}` lists all", near=close, see=see)
        if close:
            return say("did you mean {near}?", near=close)
        if every:
            return say("choose {known}", known=every)
        return None if see is None else say("`{see}` lists all", see=see)

    return AskError(say('unknown {what} "{text}"', what=what, text=asked[:80]), hint=hint)

"""The one exception tree: each error says what was asked, what is there, what to do."""

from __future__ import annotations

from collections.abc import Iterable

from rigright.base.words import Sentence, say


class RigError(Exception):
    """Something a person can understand and mend: what is wrong, and a hint on what to type instead."""

    exit_code = 1

    def __init__(self, sentence: Sentence, *, hint: Sentence | None = None) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence
        self.hint = hint
        if hint is not None:
            self.__notes__ = [str(hint)]  # for those who see a traceback

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


def unknown(
    what: Sentence, asked: str, *, near: Iterable[str] = (), known: Iterable[str] = (), see: str | None = None
) -> AskError:
    """The error for a name that nothing answers to: what is near, else all there are, else where to look."""
    wrong = say('unknown {what} "{text}"', what=what, text=asked[:80])
    close, every = ", ".join(dict.fromkeys(near)), ", ".join(dict.fromkeys(known))
    if close and see:
        return AskError(wrong, hint=say("did you mean {near}? `{see}` lists all", near=close, see=see))
    if close:
        return AskError(wrong, hint=say("did you mean {near}?", near=close))
    if every:
        return AskError(wrong, hint=say("choose {known}", known=every))
    return AskError(wrong, hint=None if see is None else say("`{see}` lists all", see=see))

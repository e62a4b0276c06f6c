"""The one exception tree: each error says what was asked, what is there, what to do."""

from __future__ import annotations

from rigright.base.words import Sentence


class RigError(Exception):
    """Something a person can understand and mend; faces print it as one sentence."""

    exit_code = 1

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


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

"""Whatever goes wrong, as one sentence, a name for scripts, and an exit code."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from rigright import __version__
from rigright.base.errors import RigError
from rigright.base.files import EXIT_SYSTEM
from rigright.base.record import dataclass
from rigright.base.words import Sentence, clean, say, tell

DEBUG = "RIGRIGHT_DEBUG"
EXIT_BUG, EXIT_INTERRUPT, EXIT_PIPE = 70, 130, 141


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What a user and a script are told."""

    kind: str
    sentence: Sentence
    exit_code: int
    hint: Sentence | None = None

    def record(self, language: str) -> dict[str, dict[str, str | int]]:
        """What a script reads."""
        problem: dict[str, str | int] = {
            "kind": self.kind,
            "message": clean(tell(self.sentence, language)),
            "exit_code": self.exit_code,
        }
        if self.hint is not None:
            problem["hint"] = clean(tell(self.hint, language))
        return {"error": problem}


def trouble(error: Exception, argv: Sequence[str]) -> Trouble:
    """Make of an exception what a person can use."""
    if isinstance(error, RigError):
        kind = type(error).__name__.removesuffix("Error").lower()
        return Trouble(kind=kind, sentence=error.sentence, exit_code=error.exit_code, hint=error.hint)
    if isinstance(error, OSError):
        why, file = error.strerror or str(error), error.filename
        told = say("{file}: {why}", file=file, why=why) if file else say("the system refused: {why}", why=why)
        return Trouble(kind="system", sentence=told, exit_code=EXIT_SYSTEM)
    if isinstance(error, MemoryError):
        told = say("this machine has not enough free memory for that; ask for less at once")
        return Trouble(kind="system", sentence=told, exit_code=EXIT_SYSTEM)
    if isinstance(error, EOFError) and "marshal" in str(error):  # Python keeps what a full disk took of it
        told = say(
            "Python's compiled files are cut off: the disk was full once; delete __pycache__ under {at}",
            at=Path(__file__).parents[2],
        )
        return Trouble(kind="system", sentence=told, exit_code=EXIT_SYSTEM)
    told = say(
        "this is a bug in rigright {version} ({what}); please report it with the command `{command}` "
        "and what the same command prints with {debug}=1",
        version=__version__,
        what=f"{type(error).__name__}: {error}".rstrip(": "),
        command=shlex.join(["rigright", *argv]),
        debug=DEBUG,
    )
    return Trouble(kind="bug", sentence=told, exit_code=EXIT_BUG)


def debugging() -> bool:
    """Whether the user wants tracebacks."""
    return os.environ.get(DEBUG, "") not in {"", "0"}

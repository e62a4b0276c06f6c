"""Whatever goes wrong, as one sentence, a name for scripts, and an exit code."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rigright import __version__
from rigright.base import telling
from rigright.base.errors import RigError
from rigright.base.files import EXIT_SYSTEM
from rigright.base.record import Sparse, dataclass
from rigright.base.words import Sentence, clean, say

DEBUG = "RIGRIGHT_DEBUG"
EXIT_BUG, EXIT_PIPE = 70, 141


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why there is no answer, in place of one."""

    kind: str  # "ask": the question is wrong; "data": a file is; "missing", "system" or "bug"
    message: Sentence  # what is wrong
    exit_code: int  # of the command: 2 ask, 3 data, 4 missing, 5 system, 70 bug
    hint: Sparse[Sentence | None] = None  # what to do or to write instead

    def record(self, language: str) -> dict[str, Any]:
        """What a script reads."""
        fields = telling.RecordPrinter(Trouble)(self, language)
        error = {key: clean(value) if isinstance(value, str) else value for key, value in fields.items()}
        return {"schema_version": telling.SCHEMA_VERSION, "error": error}


def trouble(error: Exception, argv: Sequence[str]) -> Trouble:
    """Make of an exception what a person can use."""
    if isinstance(error, RigError):
        kind = type(error).__name__.removesuffix("Error").lower()
        return Trouble(kind=kind, message=error.sentence, exit_code=error.exit_code, hint=error.hint)
    if isinstance(error, OSError):
        why, file = error.strerror or str(error), error.filename
        sentence = (
            say("{file}: {why}", file=file, why=why) if file else say("the system refused: {why}", why=why)
        )
        return Trouble(kind="system", message=sentence, exit_code=EXIT_SYSTEM)
    if isinstance(error, MemoryError):
        sentence = say("not enough free memory on this machine; split the question into smaller ones")
        return Trouble(kind="system", message=sentence, exit_code=EXIT_SYSTEM)
    if isinstance(error, EOFError) and "marshal" in str(error):  # Python keeps what a full disk took of it
        sentence = say(
            "Python's compiled files are truncated (the disk was probably full): delete __pycache__ in {at}",
            at=Path(__file__).parents[2],
        )
        return Trouble(kind="system", message=sentence, exit_code=EXIT_SYSTEM)
    sentence = say(
        "bug in rigright {version} ({what}); please report it with the command `{command}` "
        "and its output with {debug}=1",
        version=__version__,
        what=f"{type(error).__name__}: {error}".rstrip(": "),
        command=shlex.join(["rigright", *argv]),
        debug=DEBUG,
    )
    return Trouble(kind="bug", message=sentence, exit_code=EXIT_BUG)


def debugging() -> bool:
    """Whether the user wants tracebacks."""
    return os.environ.get(DEBUG, "") not in {"", "0"}

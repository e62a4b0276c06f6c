"""Why nothing came from a node, in words that say what to do: from what its landing, ssh or srun said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rigright.base.words import Sentence, say
from rigright.machine.far.landing import LATE as LANDING_LATE
from rigright.machine.far.parcel import NO_PYTHON
from rigright.machine.far.talk import Talked

LATE = say("no answer in time; --timeout gives it longer")
BROKEN_OFF = say("broken off before it answered")
MOST_SHOWN = 200  # characters of a foreign complaint
_MEANINGS = (
    ("permission denied", say("it does not let us in: no key of ours is accepted there")),
    ("host key verification failed", say("its key is not known here, or has changed; log in by hand once")),
    ("could not resolve hostname", say("its name is not known here")),
    ("name or service not known", say("its name is not known here")),
    ("connection refused", say("no ssh server listens there")),
    ("connection timed out", say("it cannot be reached: no answer to a connection")),
    ("operation timed out", say("it cannot be reached: no answer to a connection")),
    ("no route to host", say("it cannot be reached: there is no route to it")),
    ("network is unreachable", say("it cannot be reached: there is no route to it")),
    ("connection reset", say("it closed the connection")),
    ("connection closed", say("it closed the connection")),
    ("a password is required", say("sudo asks for a password there; allow it without, or leave --sudo out")),
    ("sudo: command not found", say("there is no sudo; leave --sudo out")),
    ("no space left on device", say("its disk is full: there is no room for a temporary folder")),
    ("read-only file system", say("no temporary folder can be made there: its disk is read-only")),
)
_GRAVE = ("error", "fatal", "unrecognized", "invalid", "failed", "denied")


def is_word(line: bytes) -> bool:
    """Whether a line is a landing's own word on why it cannot go on."""
    return line.startswith((NO_PYTHON.encode(), LANDING_LATE.encode()))


def trouble(talked: Talked, words: Sequence[bytes] = ()) -> Sentence:
    """The reason, the surest first."""
    for word in words:
        if word.startswith(NO_PYTHON.encode()):
            line = word.decode("utf-8", "replace")
            version = line.partition("Python ")[2].strip()[:20]
            if version and not version.startswith(("3.11", "3.12", "3.13", "3.14")):
                return say(
                    "its Python is {version}, and 3.11 is needed; --python names another one there",
                    version=version,
                )
            return say("no Python 3.11 or newer is found there; --python names one")
    if talked.ended == "broken off":
        return BROKEN_OFF
    if words or talked.ended == "late":
        return LATE
    return meant(talked.complaints) or say("it ended without an answer (exit code {code})", code=talked.code)


def meant(complaints: Iterable[str]) -> Sentence | None:
    """What a program's complaints mean; its last words where nobody knows."""
    lines = [line for line in complaints if line]
    for line in lines:
        low = line.lower()
        found = next((meaning for part, meaning in _MEANINGS if part in low), None)
        if found is not None:
            return found
    grave = [line for line in lines if any(word in line.lower() for word in _GRAVE)]
    last = next(reversed(grave or lines), None)
    return say("{text}", text=last[:MOST_SHOWN]) if last else None

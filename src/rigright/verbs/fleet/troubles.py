"""Why nothing came from a node, in words that say what to do: from what its landing, ssh or srun said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rigright.base.words import Sentence, say
from rigright.machine.remote.landing import LATE as LANDING_LATE
from rigright.machine.remote.parcel import NO_PYTHON, OLDEST
from rigright.machine.remote.talk import Talked

LATE = say("timed out; see --timeout")
BROKEN_OFF = say("interrupted before it answered")
MOST_SHOWN = 200  # characters of a foreign complaint
_MEANINGS = (
    ("permission denied", say("permission denied: the node accepts none of your SSH keys")),
    ("host key verification failed", say("host key unknown or changed: log in once by hand")),
    ("could not resolve hostname", say("host name does not resolve")),
    ("name or service not known", say("host name does not resolve")),
    ("connection refused", say("connection refused: no SSH server listening")),
    ("connection timed out", say("unreachable: connection timed out")),
    ("operation timed out", say("unreachable: connection timed out")),
    ("no route to host", say("unreachable: no route to host")),
    ("network is unreachable", say("unreachable: no route to host")),
    ("connection reset", say("connection closed by the node")),
    ("connection closed", say("connection closed by the node")),
    (
        "a password is required",
        say("sudo needs a password on the node: allow passwordless sudo, or drop --sudo"),
    ),
    ("sudo: command not found", say("no sudo on the node: drop --sudo")),
    ("no space left on device", say("disk full: no room for a temporary directory")),
    ("read-only file system", say("read-only disk: cannot create a temporary directory")),
)
_LABEL = re.compile(rb"^ *\d{1,6}: ")  # of srun
_GRAVE = ("error", "fatal", "unrecognized", "invalid", "failed", "denied")


def landing_complaint(line: bytes) -> bytes | None:
    """A landing's own word on why it cannot go on, without srun's label; None where it is none."""
    word = _LABEL.sub(b"", line)
    return word if word.startswith((NO_PYTHON.encode(), LANDING_LATE.encode())) else None


def is_without_python(words: Iterable[bytes]) -> bool:
    """Whether a node said that it has no Python for us."""
    return any(word.startswith(NO_PYTHON.encode()) for word in words)


def trouble(talked: Talked, words: Sequence[bytes] = ()) -> Sentence:
    """The reason, the surest first."""
    for word in words:
        if word.startswith(NO_PYTHON.encode()):
            line = word.decode("utf-8", "replace")
            version = line.partition("Python ")[2].strip()[:20]
            if version and tuple(map(int, re.findall(r"\d{1,4}", version)[:2])) < OLDEST:
                return say(
                    "Python {version} on the node, 3.10 or newer needed; see --python",
                    version=version,
                )
            return say("no Python 3.10 or newer on the node; see --python")
    if talked.ended in {"broken off", "absent"}:
        return BROKEN_OFF
    if words or talked.ended == "late":
        return LATE
    return meant(talked.complaints) or say("exited without an answer (exit code {code})", code=talked.code)


def complaint_about(node: str, talked: Talked) -> Sentence | None:
    """What a program that came to its end complained of one node."""
    lines = [line for line in talked.complaints if re.search(rf"\b{re.escape(node)}\b", line)]
    return meant(lines) if talked.ended == "done" else None


def meant(complaints: Iterable[str]) -> Sentence | None:
    """What a program's complaints mean; its last words where nobody knows."""
    lines = [line for line in complaints if line]
    for line in lines:
        low = line.lower()
        sentence = next((meaning for part, meaning in _MEANINGS if part in low), None)
        if sentence is not None:
            return sentence
    grave = [line for line in lines if any(word in line.lower() for word in _GRAVE)]
    last = next(reversed(grave or lines), None)
    return say("{text}", text=last[:MOST_SHOWN]) if last else None

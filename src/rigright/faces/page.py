"""What the page asks, and its answers: the same whether a server carries them or a worker of the browser."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.record import dataclass
from rigright.base.units import KIB, MIB
from rigright.base.words import LANGUAGES, sentences
from rigright.faces import tools
from rigright.faces.reply import FORMS, Printed, reply

ASKED = ("plan", "explain", "fit", "compare", "build", "cost", "look_up", "probe", "doctor")
FILES = {"doctor": "from", "validate": "files"}  # what a dropped file is to a command
MOST_ASKED, MOST_FILE = 64 * KIB, 64 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A command with its options."""

    verb: str
    said: dict[str, Any]
    form: str = "json"
    language: str = LANGUAGES[0]

    def answer(self) -> Printed:
        """What the command line prints."""
        return reply(self.verb, self.said, form=self.form, language=self.language)


def forms(language: str) -> dict[str, Any]:
    """What each command takes, in the reader's language."""
    known = sentences(language)
    found = {verb: tools.schema(verb, None) for verb in ASKED}
    for schema in found.values():
        for one in schema["properties"].values():
            one["description"] = known.get(one["description"], one["description"])
    return found


def read(sent: bytes | str) -> Question | None:
    """A question as the page sends it; None where it is none."""
    try:
        asked = bounded_json(sent)
        verb, said = asked["verb"], asked["said"]
        form, language = asked.get("form", "json"), language_of(asked.get("lang"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if verb not in ASKED or form not in FORMS or not _is_plain(said):
        return None
    return Question(verb=verb, said=said, form=form, language=language)


def dropped(sent: bytes, *, verb: str, form: str, language: str) -> Printed:
    """A file that was dropped: a machine for the doctor, runs to hold predictions against."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dropped"
        path.write_bytes(sent)
        found = reply(verb, {}, form=form, language=language, trusted={FILES[verb]: str(path)})
    return replace(found, text=found.text.replace(f"{folder}{os.sep}", ""))  # nobody knows that folder


def language_of(text: Any) -> str:
    """A language that we have."""
    return text if text in LANGUAGES else LANGUAGES[0]


def _is_plain(said: Any) -> bool:
    """Whether options are texts, numbers and yes or no, or short lists of texts."""
    if not isinstance(said, dict) or len(said) > 64:
        return False
    lists = [value for value in said.values() if isinstance(value, list)]
    single = [value for value in said.values() if not isinstance(value, list)]
    return all(isinstance(one, str) for many in lists for one in many[:64]) and all(
        value is None or isinstance(value, str | int | float) for value in single
    )

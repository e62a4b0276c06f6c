"""What the page asks, and its answers: the same whether a server carries them or a worker of the browser."""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.plain import dumps
from rigright.base.record import dataclass
from rigright.base.units import KIB, MIB
from rigright.base.words import LANGUAGES, Sentence, sentences, tell
from rigright.faces import tools
from rigright.faces.reply import FORMS, Printed, reply
from rigright.options.row import SAMPLES, TEXT, Option
from rigright.options.rows import groups_of, kinds_of, modes
from rigright.verbs.export import every_launch
from rigright.verbs.offered import offered

ASKED = ("plan", "explain", "fit", "compare", "build", "cost", "look_up", "probe", "doctor")
EXPORT = "export"  # the files of a plan, by the options of `plan`
FILES = {"doctor": "from", "validate": "files"}  # what a dropped file is to a command
SINCE = ("1h", "24h", "7d")  # how far back the machine is shown
MOST_NAME = 80  # letters of a file's
MOST_ASKED, MOST_FILE = 64 * KIB, 64 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class PageQuestion:
    """A command with its options."""

    verb: str
    fields: dict[str, Any]
    form: str = "json"
    language: str = LANGUAGES[0]
    number: int = 1  # of the plans, the one to export
    details: bool = False

    def answer(self) -> Printed:
        """What the command line prints."""
        if self.verb == EXPORT:
            return exported(self.fields, number=self.number, language=self.language)
        return reply(self.verb, self.fields, form=self.form, language=self.language, details=self.details)


def forms(language: str) -> dict[str, Any]:
    """What each command takes, in the reader's language, and the names that are known."""
    known = sentences(language)
    verbs = {verb: tools.schema(verb, None) for verb in ASKED}
    for verb, schema in verbs.items():
        placed = _placed(verb)
        for name, value in schema["properties"].items():
            value["description"] = known.get(value["description"], value["description"])
            if name in placed:
                group, option = placed[name]
                value["group"] = tell(group, language)
                value["modes"] = [mode for mode in modes() if kinds_of(mode) & _works(option, mode)]
    return {"verbs": verbs, **offered(language)}


def _placed(verb: str) -> dict[str, tuple[Sentence, Option]]:
    """Each option of a command with the group it stands in, by its field."""
    return {
        option.name.replace("-", "_"): (group, option)
        for group, options in groups_of(verb)
        for option in options
    }


def _works(option: Option, mode: str) -> frozenset[str]:
    """The works an option says something about; what only images have is no field of a chat."""
    return option.works if kinds_of(mode) <= SAMPLES or TEXT & option.works else option.works - SAMPLES


def exported(fields: dict[str, Any], *, number: int, language: str) -> Printed:
    """The files of a plan for each program that starts it, and why others do not."""
    printed = reply("plan", fields, language=language)
    if printed.failed:
        return printed
    files = every_launch(bounded_json(printed.text), number=number)
    given = {
        target: {"error": sentence} if isinstance(sentence, Sentence) else {"files": sentence}
        for target, sentence in files.items()
    }
    return Printed(text=dumps({"targets": given}, language) + "\n", exit_code=0)


def read(sent: bytes | str) -> PageQuestion | None:
    """A question as the page sends it; None where it is none."""
    try:
        asked = bounded_json(sent)
        verb, value = asked["verb"], asked["said"]
        form, language = asked.get("form", "json"), language_of(asked.get("lang"))
        number, details = int(asked.get("number", 1)), asked.get("details") is True
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if verb not in (*ASKED, EXPORT) or form not in FORMS or number < 1 or not _is_plain(value):
        return None
    return PageQuestion(verb=verb, fields=value, form=form, language=language, number=number, details=details)


def dropped(
    sent: bytes, *, verb: str, form: str, language: str, name: str = "", every: bool = False
) -> Printed:
    """A file that was dropped: a machine for the doctor, runs to hold predictions against.

    `name`: what it is called there; `every`: what is fine too.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / (re.sub(r"[^\w.-]", "_", name)[-MOST_NAME:].lstrip(".-") or "dropped")
        path.write_bytes(sent)
        more = {"all": True} if every and verb == "doctor" else {}
        printed = reply(verb, {}, form=form, language=language, trusted={FILES[verb]: str(path), **more})
    return replace(printed, text=printed.text.replace(f"{folder}{os.sep}", ""))  # nobody knows that folder


def language_of(text: Any) -> str:
    """A language that we have."""
    return text if text in LANGUAGES else LANGUAGES[0]


def _is_plain(stated: Any) -> bool:
    """Whether options are texts, numbers and yes or no, or short lists of texts."""
    if not isinstance(stated, dict) or len(stated) > 64:
        return False
    lists = [value for value in stated.values() if isinstance(value, list)]
    single = [value for value in stated.values() if not isinstance(value, list)]
    return all(isinstance(item, str) for many in lists for item in many[:64]) and all(
        value is None or isinstance(value, str | int | float) for value in single
    )

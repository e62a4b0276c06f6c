"""One question's answer as text: the JSON of the command line to the letter, or another form of the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rigright.base import shelf
from rigright.base.plain import dumps
from rigright.base.record import dataclass
from rigright.faces import question, tools
from rigright.faces.cli.main import answering
from rigright.faces.cli.trouble import trouble
from rigright.report.screen import Screen

FORMS = ("json", "html", "csv", "markdown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What `--json` and the other forms print, and the exit code; `failed`: it is the record of an error."""

    text: str
    exit_code: int
    failed: bool = False


def reply(
    verb: str,
    fields: Mapping[str, Any],
    *,
    form: str = "json",
    language: str = "en",
    details: bool = False,
    trusted: Mapping[str, Any] | None = None,
) -> Printed:
    """Answer a stranger: nothing said names a file; `trusted` is what the server itself says.

    `details`: everything, for eyes.
    """
    try:
        named = {**tools.allowed(verb, fields, root=None)} if trusted is None else {**trusted}
        named |= {"details": True} if details else {}
        options = question.read(verb, named={**named, "lang": language})
        with answering(verb.replace("_", "-"), options) as answer:
            if form == "json":
                return Printed(text=dumps(answer.data(language), language) + "\n", exit_code=answer.exit_code)
            screen = Screen(width=100, colour=False, unicode=True, language=language)
            page = answer.sheet() if form == "csv" and answer.sheet is not None else answer.page()
            bears = "body" if form == "html" else "render"
            render = shelf.take("rigright.report.formats", form, bears=bears)
            return Printed(text=str(render(page, screen)), exit_code=answer.exit_code)
    except Exception as error:  # noqa: BLE001 - a stranger gets a sentence, as a person does
        result = trouble(error, [verb.replace("_", "-")])
        text = dumps(result.record(language), language) + "\n"
        return Printed(text=text, exit_code=result.exit_code, failed=True)

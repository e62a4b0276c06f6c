"""A page written to a file: HTML, or PDF by a browser."""

from __future__ import annotations

from pathlib import Path

from rigright.base.errors import AskError, MissingError
from rigright.base.files import expanded, unwritten, write_whole
from rigright.base.words import say


def is_plan(what: str) -> bool:
    """Whether a name is that of a file with a plan, and not of a model."""
    return what.lower().endswith(".json") and Path(what).name != "config.json"


def write(file: str, html: str) -> None:
    """Write the document; its ending says as what."""
    path = expanded(file)
    ending = path.suffix.lower()
    if ending not in {".html", ".htm", ".pdf"}:
        raise AskError(say('cannot write "{file}"', file=file), hint=say("end its name in .html or .pdf"))
    try:
        if ending != ".pdf":
            write_whole(path, html)
            return
        from rigright.machine.browser import printed

        made = printed(html)
        if made is None:
            raise MissingError(
                say("PDF output needs Chromium, Chrome or Edge; none worked here"),
                hint=say("write .html and print that from any browser"),
            )
        write_whole(path, made)
    except OSError as error:
        raise unwritten(file, error) from None

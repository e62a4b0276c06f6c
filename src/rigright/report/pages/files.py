"""The page of files that are printed for somebody else to use."""

from __future__ import annotations

from collections.abc import Mapping

from rigright.base import telling
from rigright.base.page import Page, number, prose, table
from rigright.base.record import dataclass
from rigright.base.words import say


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedFiles:
    """Files for somebody else to use."""

    files: Mapping[str, str]  # name -> text


def page(files: Mapping[str, str]) -> Page:
    """What the files are called and how long they are; their text is printed as it is."""
    rows = tuple((name, str(text.count("\n"))) for name, text in files.items())
    columns = (prose(say("file")), number(say("lines")))
    return Page.of(say("files"), table(columns, rows))


def text(files: Mapping[str, str]) -> str:
    """One file as it is; several each under its name, in a comment."""
    if len(files) == 1:
        return next(iter(files.values()))
    return "\n".join(f"# {name}\n{content}" for name, content in files.items())


plain = telling.RecordPrinter(PrintedFiles)

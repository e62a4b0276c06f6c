"""Reads files of runs, and folders of them; "-" is standard input."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rigright.base import shelf
from rigright.base.errors import AskError, DataError, MissingError, RigError
from rigright.base.files import STDIN, called, read_bounded
from rigright.base.tables import MAX_TABLE_BYTES
from rigright.base.words import say
from rigright.verbs.runs.document import Document, OutputFormat, document
from rigright.verbs.runs.output_table import described

FOLDER = "rigright.verbs.runs.outputs"
MOST_FILES = 2000  # of a folder
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_LOOKED_AT = {".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".log", ".txt", ".md", ".sql", ".out", ""}


@dataclass(frozen=True, slots=True)
class Text:
    """A table's name and all of it."""

    name: str
    text: str

    @property
    def lines(self) -> Iterator[str]:
        """Its lines with their ends, one by one: a list of them would take many times the file."""
        return (match[0] for match in _LINE.finditer(self.text))


def read_text(asked: str) -> Text:
    """The whole table, bounded; what is no text is an error."""
    if not asked.strip():
        raise AskError(say("the file name is empty"))
    name, content = called(asked), read_bounded(asked, MAX_TABLE_BYTES)
    # what PowerShell's ">" writes is UTF-16
    coding = "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        text = content.decode(coding)
    except UnicodeDecodeError:
        raise DataError(say("{file} is not UTF-8 text; save it as CSV in UTF-8", file=name)) from None
    return Text(name, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognisedFile:
    """A file, and the reader that knows it; none where it is to be a table of ours."""

    table: Text
    document: Document
    output: OutputFormat | None

    @property
    def name(self) -> str:
        """The file's name."""
        return self.table.name


def gather(asked: Sequence[str]) -> Iterator[RecognisedFile]:
    """Every file that was named; of a folder those that a reader knows."""
    for text in asked:
        if text != STDIN and text.strip() and Path(text).is_dir():
            yield from _folder(Path(text))
        else:
            yield _recognised(text)


@cache
def outputs() -> tuple[OutputFormat, ...]:
    """Every reader, those of programs first: of the table, and of programs that are unlike all others."""
    every: list[OutputFormat] = [*described(), *shelf.load(FOLDER, "OUTPUT").values()]
    return tuple(sorted(every, key=lambda output_format: (output_format.by_hand, output_format.name)))


def output_of(read: Document) -> OutputFormat | None:
    """The first reader that knows a document; none where it is to be a table of ours."""
    return next((output_format for output_format in outputs() if output_format.claims(read)), None)


def _recognised(asked: str) -> RecognisedFile:
    table = read_text(asked)
    folder = None if asked == STDIN else Path(asked).absolute().parent
    read = document(table.name, table.text, folder=folder)
    return RecognisedFile(table=table, document=read, output=output_of(read))


def _folder(folder: Path) -> Iterator[RecognisedFile]:
    """What readers know in a folder and below; a run that wrote JSON and CSV counts once."""
    taken: set[tuple[str, str, str]] = set()
    for path in _paths(folder):
        try:
            file = _recognised(str(path))
        except RigError:
            continue
        place = (str(path.parent), path.stem, file.output.name if file.output else "")
        if file.output is not None and place not in taken:
            taken.add(place)
            yield file
    if not taken:
        raise MissingError(
            say("no runs in folder {folder}", folder=folder),
            hint=say("supported: {known}; give your own table as a file", known=known()),
        )


def _paths(folder: Path) -> list[Path]:
    paths: list[Path] = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths += (Path(place, name) for name in sorted(names) if Path(name).suffix.lower() in _LOOKED_AT)
        if len(paths) > MOST_FILES:
            raise AskError(
                say("{folder} holds more than {most} files", folder=folder, most=f"{MOST_FILES:,}"),
                hint=say("give the folder of one benchmark"),
            )
    # JSON says more than the CSV beside it
    return sorted(paths, key=lambda path: (path.parent, path.stem, path.suffix.lower() != ".json"))


def known() -> str:
    """The programs whose output is read."""
    return ", ".join(output_format.name for output_format in outputs() if not output_format.by_hand)

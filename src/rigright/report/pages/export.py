"""What was exported, as a page and as data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from rigright.base import telling
from rigright.base.page import Page, Points, number, table
from rigright.base.record import dataclass, derived
from rigright.base.words import say
from rigright.facts.launching import FlagCheck


def page(written: tuple[str, ...], files: Mapping[str, str]) -> Page:
    """The files that were written, or could be."""
    if written:
        folder = str(PurePath(written[0]).parent)
        title = say("{count} files written to {folder}", count=len(written), folder=folder)
        return Page.of(title, Points.of(written), tone="good")
    columns = (say("file"), number(say("lines")))
    rows = tuple((name, str(text.count("\n"))) for name, text in files.items())
    return Page.of(say("files"), table(columns, rows))


def held_page(rows: tuple[FlagCheck, ...]) -> Page:
    """What a server was given otherwise than planned."""
    wrong = [row for row in rows if not row.kept]
    if not wrong:
        return Page.of(say("✓ the server runs as planned"))
    heads = (say("flag"), say("planned"), say("on the server"), say("what it costs"))
    cells = tuple((flag.flag, flag.planned or "-", flag.running or "-", flag.costs or "") for flag in wrong)
    title = say("✗ the server does not run as planned")
    return Page.of(title, table(heads, cells))


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """Files that start a plan."""

    written: tuple[str, ...]  # their names, where they were written
    files: Mapping[str, str]  # name -> text


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagChecks:
    """A server that runs, beside its plan."""

    flags: tuple[FlagCheck, ...]

    @derived
    def as_planned(self) -> bool:
        """Whether it was given all that was planned."""
        return all(flag.kept for flag in self.flags)


plain = telling.RecordPrinter(Exported)
held_plain = telling.RecordPrinter(FlagChecks)

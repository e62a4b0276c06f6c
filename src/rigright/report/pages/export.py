"""What other programs are given: files, a server beside its plan, tools for agents, as pages and as data."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any

from rigright.base import telling
from rigright.base.page import Commands, Line, Page, Points, number, prose, table
from rigright.base.record import dataclass, derived
from rigright.base.words import say
from rigright.facts.launching import FlagCheck

# files that are run, in their order
_STARTS = {
    "quantize.py": "cd {} && python3 {}",
    "quantize.sh": "cd {} && sh {}",
    "serve*.sh": "cd {} && sh {}",
    "router.sh": "cd {} && sh {}",
    "train.sh": "cd {} && sh {}",
    "generate.py": "cd {} && python3 {}",
    "job.sbatch": "cd {} && sbatch {}",
    "compose.yaml": "cd {} && docker compose -f {} up",
    "bench.sh": "cd {} && sh {}",
}


def page(written: tuple[str, ...], files: Mapping[str, str]) -> Page:
    """The files that were written, or could be."""
    if not written:
        return files_page(files)
    folder = str(PurePath(written[0]).parent)
    title = say("{count} files written to {folder}", count=len(written), folder=folder)
    steps = [
        start.format(shlex.quote(folder), shlex.quote(str(PurePath(path).name)))
        for pattern, start in _STARTS.items()
        for path in written
        if fnmatchcase(PurePath(path).name, pattern)
    ]
    return Page.of(Line.good(title), Points.of(written), *([Commands.next(steps)] if steps else ()))


def files_page(files: Mapping[str, str]) -> Page:
    """What the files are called and how long they are; their text is printed as it is."""
    rows = ((name, str(content.count("\n"))) for name, content in files.items())
    return Page.of(say("files"), table((prose(say("file")), number(say("lines"))), rows))


def text(files: Mapping[str, str]) -> str:
    """One file as it is; several each under its name, in a comment."""
    if len(files) == 1:
        return next(iter(files.values()))
    return "\n".join(f"# {name}\n{content}" for name, content in files.items())


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedFiles:
    """Files for somebody else to use."""

    files: Mapping[str, str]  # name -> text


def tools_page(listed: Mapping[str, Mapping[str, Any]]) -> Page:
    """The tools that an agent is offered, each with what it must and may be given."""
    rows = []
    for name, row in listed.items():
        more = sorted({*row["properties"]} - {*row["required"]})
        rows.append((name, ", ".join(row["required"]) or "-", ", ".join(more)))
    columns = (say("tool"), say("needs"), prose(say("takes")))
    title, steps = say("{count} tools", count=len(rows)), ("rigright mcp --http 9478",)
    return Page.of(title, table(columns, rows), Commands.next(steps))


def ended_page() -> Page:
    """After the last question."""
    return Page.of(say("no more requests"))


plain = telling.RecordPrinter(Exported)
files_plain = telling.RecordPrinter(PrintedFiles)
held_plain = telling.RecordPrinter(FlagChecks)

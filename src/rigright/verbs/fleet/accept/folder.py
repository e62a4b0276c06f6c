"""The folder of an acceptance: every answer a file as it comes, every meeting a line; asked again it goes on.

`answers/`, `load/` and `again/` hold one file a node, as `fleet --from` and `doctor --from` read them.
`meetings.jsonl` holds what nodes measured together. A line that was cut off by a kill is no line, and a file
is there whole or not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from rigright.base.bounded import bounded_json
from rigright.base.errors import AskError, DataError
from rigright.base.files import read_bounded, save_text, unwritten
from rigright.base.units import MIB
from rigright.base.words import say
from rigright.machine.stored import plain, restored
from rigright.verbs.fleet.accept.accepted import DRAIN, Accepted, Met, NodeJudged
from rigright.verbs.fleet.hosts import file_of
from rigright.verbs.fleet.nodes import NodeReport, report_of

_SCHEMA = 1
_MOST_BYTES = 64 * MIB
_ABOUT, _MEETINGS, _REPORTS = "accept.json", "meetings.jsonl", "reports"
Stage = Literal["answers", "load", "again"]
STAGES: tuple[Stage, ...] = ("answers", "load", "again")


class Folder:
    """What is known so far, on disk."""

    def __init__(self, path: str, *, settings: dict[str, Any]) -> None:
        """Open or make it; the settings must be those it was begun with."""
        self.path = Path(path)
        try:
            for stage in STAGES:
                (self.path / stage).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritten(path, error) from None
        about = self.path / _ABOUT
        fresh = {"rigright_accept": _SCHEMA, **settings}
        if not about.exists():
            save_text(about, json.dumps(fresh, indent=1) + "\n")
            return
        begun = _read(about)
        for name, value in fresh.items():
            if begun.get(name) != value:
                before, now = _shown(begun.get(name)), _shown(value)
                why = say("{folder} was started with {name} {before}, now it is {now}",
                          folder=path, name=name, before=before, now=now)  # fmt: skip
                raise AskError(why, hint=say("use the same options, or another folder"))

    def reports(self, stage: Stage) -> Iterator[NodeReport]:
        """Every answer of a stage; a file that cannot be read is asked for again."""
        for file in sorted((self.path / stage).glob("*.json")):
            with suppress(DataError):
                data = _read(file)
                if isinstance(data.get("node"), str):
                    yield report_of(data["node"], {**data, "machine": data})

    def keep_met(self, limit: Met) -> None:
        """What nodes measured together."""
        line = "\n" + json.dumps(plain(limit)) + "\n"  # after whatever a kill left of the line before
        try:
            with (self.path / _MEETINGS).open("a", encoding="utf-8") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise unwritten(self.path / _MEETINGS, error) from None

    def met(self) -> list[Met]:
        """Every meeting so far."""
        file = self.path / _MEETINGS
        if not file.exists():
            return []
        limits: list[Met] = []
        for line in read_bounded(file, _MOST_BYTES).splitlines():
            with suppress(DataError, ValueError):
                limits.append(restored(Met, bounded_json(line), where=_MEETINGS))
        return limits


def _read(file: Path) -> dict[str, Any]:
    try:
        data = bounded_json(read_bounded(file, _MOST_BYTES))
    except ValueError as error:
        raise DataError(say("cannot read {file}: {why}", file=file, why=str(error)[:200])) from None
    if not isinstance(data, dict):
        raise DataError(say("cannot read {file}: {why}", file=file, why="{}"))
    return data


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    return "-" if value is None else str(value)


def keep_reports(result: Accepted, text: Callable[[NodeJudged], str]) -> Accepted:
    """A report of each node that fails, and their names; those of an earlier verdict are removed."""
    folder = Path(result.folder)
    failing = result.named("fail")
    try:
        (folder / _REPORTS).mkdir(parents=True, exist_ok=True)
        for old in (folder / _REPORTS).glob("*.md"):
            old.unlink()
    except OSError as error:
        raise unwritten(folder, error) from None
    save_text(folder / DRAIN, "".join(f"{item.node}\n" for item in failing))
    reports = []
    for verdict in failing:
        file = (folder / _REPORTS / file_of(verdict.node)).with_suffix(".md")
        save_text(file, text(verdict))
        reports.append(str(file))
    return replace(result, reports=tuple(reports))

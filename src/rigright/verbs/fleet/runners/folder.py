"""From files that came by any other way, one a node: whatever `probe --from` reads, or a log of our agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.errors import AskError, RigError
from rigright.base.words import say
from rigright.machine.opened import open_machine, plain_bytes, read_machine
from rigright.machine.remote.envelope import heard
from rigright.machine.stored import plain
from rigright.verbs.fleet.jobs import NodeOutcome, Runner, reply_of

_MOST_FILES = 20_000


class _SavedAnswers(Runner):
    """Every file of a folder, each named by its node."""

    name, flag = "files", "from"
    runs_jobs = False  # what is kept cannot be asked again

    def expected(self) -> Iterator[NodeOutcome]:
        """All that they say."""
        folder = Path(self.wish.where)
        if not folder.is_dir():
            raise AskError(say("there is no folder {folder}", folder=self.wish.where))
        files = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
        if not files:
            raise AskError(
                say("{folder} is empty; put one file or folder per node there", folder=self.wish.where)
            )
        for file in files[:_MOST_FILES]:
            try:
                yield from _read(file)
            except RigError as error:
                yield NodeOutcome(node=file.stem, trouble=error.sentence)


def _read(file: Path) -> Iterator[NodeOutcome]:
    if file.is_dir():
        yield NodeOutcome(node=file.name, reply={"machine": plain(open_machine(file))})
        return
    raw = plain_bytes(file)
    rows = heard(raw)
    for row in rows:
        yield NodeOutcome(node=str(row.get("node") or file.stem)[:253], reply=row)
    if not rows:
        data: Any = None
        with suppress(ValueError):
            data = bounded_json(raw)
        data = data if isinstance(data, dict) else {}
        machine = data.get("machine")  # beside it, in what `bench --save` writes
        if not isinstance(machine, dict):
            read = read_machine(raw, name=f"*{file.suffix}")  # so that nodes with the same trouble are one
            machine = plain(replace(read, origin=file.name))
        yield NodeOutcome(node=file.stem, reply=reply_of(data) | {"machine": machine})


RUNNER = _SavedAnswers

"""From files that came by any other way, one a node: whatever `probe --from` reads, or a log of our agent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.errors import AskError, RigError
from rigright.base.files import read_bounded
from rigright.base.words import say
from rigright.machine.opened import open_machine, read_machine
from rigright.machine.opened.archive import MOST_BYTES
from rigright.machine.possible import possible
from rigright.machine.remote.envelope import heard
from rigright.machine.stored import plain
from rigright.verbs.fleet.jobs import Runner
from rigright.verbs.fleet.nodes import NodeReport, report_of

_MOST_FILES = 20_000


class _SavedAnswers(Runner):
    """Every file of a folder, each named by its node."""

    name, flag = "files", "from"
    runs_jobs = False  # what is kept cannot be asked again

    def expected(self) -> Iterator[NodeReport]:
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
                yield NodeReport(node=file.stem, trouble=error.sentence)

    def argv(self, nodes: Sequence[str], line: str) -> tuple[str, ...]:
        """None: all that these nodes say lies here."""
        del nodes, line
        return ()


def _read(file: Path) -> Iterator[NodeReport]:
    if file.is_dir():
        yield NodeReport(node=file.name, machine=possible(open_machine(file)))
        return
    raw = read_bounded(file, MOST_BYTES)
    rows = heard(raw)
    yield from (report_of(str(row.get("node") or file.stem)[:253], row) for row in rows)
    if not rows:
        data: Any = None
        with suppress(ValueError):
            data = bounded_json(raw)
        data = data if isinstance(data, dict) else {}
        if not isinstance(data.get("machine"), dict):  # beside results, in what `bench --save` writes
            read = read_machine(raw, name=f"*{file.suffix}")  # so that nodes with the same trouble are one
            data = {**data, "machine": plain(replace(read, origin=file.name))}
        yield report_of(file.stem, data)


RUNNER = _SavedAnswers

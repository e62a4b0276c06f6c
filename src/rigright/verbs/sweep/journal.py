"""The journal of a sweep: every answer on disk as it comes, so that nothing is lost and a sweep goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rigright import __version__
from rigright.base.bounded import bounded_json
from rigright.verbs.sweep.sheet import Answered, Cells, SweepQuestion

ENDING = ".part"


def journal_of(out: str) -> Path | None:
    """Where answers lie until all are there; nowhere where they go into a device or a pipe."""
    path = Path(out)
    return path.with_name(path.name + ENDING) if path.is_file() or not path.exists() else None


def stamp(questions: Sequence[SweepQuestion]) -> str:
    """What tells that a journal belongs to these questions and this program."""
    asked = json.dumps([__version__, [dict(question.words) for question in questions]], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()


def kept(path: Path, *, mark: str) -> dict[int, Answered]:
    """Answers of an earlier sweep of the same questions; a line that was cut off is not one."""
    try:
        with path.open(encoding="utf-8") as file:
            if file.readline().rstrip("\n") != mark:
                return {}
            return {answered.index: answered for answered in map(_read, file) if answered is not None}
    except (OSError, UnicodeDecodeError):
        return {}


@contextmanager
def writing(path: Path, *, mark: str, fresh: bool) -> Iterator[IO[str]]:
    """The journal, open for more answers."""
    with path.open("w" if fresh else "a", encoding="utf-8") as file:
        file.write(f"{mark}\n" if fresh else "\n")
        yield file


def write(file: IO[str], answered: Answered) -> None:
    """One answer, at once on disk."""
    file.write(json.dumps([answered.index, dict(answered.cells), answered.why]) + "\n")
    file.flush()


def _read(line: str) -> Answered | None:
    try:
        index, cells, why = bounded_json(line)
        return Answered(index=int(index), cells=Cells(dict(cells)), why=str(why))
    except (ValueError, TypeError):
        return None

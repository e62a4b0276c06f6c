"""From files that came by any other way: one `rigright probe --json`, or an envelope, a node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rigright.base.errors import AskError
from rigright.base.units import MIB
from rigright.base.words import say
from rigright.machine.far.envelope import heard
from rigright.verbs.fleet.came import Came, Way

NAME = "files"
ENDINGS = (".json", ".txt", ".log", ".out")
MOST_FILES = 20_000
MOST_BYTES = 64 * MIB


def run(way: Way) -> Iterator[Came]:
    """Every file of the folder, each named by its node."""
    folder = Path(way.where)
    if not folder.is_dir():
        raise AskError(say("there is no folder {folder}", folder=way.where))
    files = [one for one in sorted(folder.iterdir()) if one.suffix in ENDINGS and one.is_file()]
    if not files:
        raise AskError(
            say("{folder} holds no answers; put one `rigright probe --json` a node there", folder=way.where)
        )
    for file in files[:MOST_FILES]:
        yield from _read(file)


def _read(file: Path) -> Iterator[Came]:
    try:
        with file.open("rb") as open_file:
            raw = open_file.read(MOST_BYTES + 1)
    except OSError as error:
        yield Came(
            node=file.stem, trouble=say("cannot read {file}: {why}", file=file, why=error.strerror or error)
        )
        return
    told = heard(raw) if len(raw) <= MOST_BYTES else []
    for one in told:
        yield Came(node=str(one.get("node") or file.stem)[:253], told=one)
    if told:
        return
    data = _json(raw)
    if data is None:
        yield Came(node=file.stem, trouble=say("{file} holds no answer of a node", file=file.name))
    else:
        yield Came(node=file.stem, told=data)


def _json(raw: bytes) -> dict[str, Any] | None:
    """One JSON answer: a machine as `probe --json` prints it, or a whole answer of a node."""
    try:
        data = json.loads(raw) if len(raw) <= MOST_BYTES else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    return data if "machine" in data else {"machine": data}

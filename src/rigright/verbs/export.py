"""Files for other programs, made of what rigright knows."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from rigright.base import shelf
from rigright.base.errors import AskError
from rigright.base.files import unwritten, write_whole
from rigright.base.words import ENGLISH, say
from rigright.export.asked import Asked

TARGETS = "rigright.export.targets"
_PLACE = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}")


def export(
    target: str,
    *,
    watched: tuple[str, ...] = (),
    alertmanagers: tuple[str, ...] = (),
    token_file: str | None = None,
    every_s: float | None = None,
    language: str = ENGLISH,
) -> dict[str, str]:
    """File name -> text, of one target; `watched` is where `watch --serve` answers."""
    known = shelf.names(TARGETS)
    if target not in known:
        near = difflib.get_close_matches(target, known, n=1)
        if near:
            raise AskError(
                say('nothing is exported to "{target}"; did you mean {near}?', target=target, near=near[0])
            )
        raise AskError(
            say('nothing is exported to "{target}"; there are {known}', target=target, known=", ".join(known))
        )
    usual = Asked()
    asked = Asked(
        watched=tuple(map(_place, watched)) or usual.watched,
        alertmanagers=tuple(map(_place, alertmanagers)),
        token_file=token_file,
        every_s=usual.every_s if every_s is None else every_s,
        language=language,
    )
    files: dict[str, str] = shelf.take(TARGETS, target, bears="export")(asked)
    return files


def _place(text: str) -> str:
    """A host and a port."""
    if not _PLACE.fullmatch(text) or not 0 < int(text.rpartition(":")[2]) < 65536:
        raise AskError(say('"{text}" is no HOST:PORT; write for example node1:9477', text=text))
    return text


def write(files: dict[str, str], folder: str) -> tuple[str, ...]:
    """Write them into a folder that is there or is made; what lies there already is not touched."""
    place = Path(folder)
    there = [name for name in files if (place / name).exists()]
    if there:
        raise AskError(
            say(
                "{folder} holds {file} already; name another folder, or remove it",
                folder=folder,
                file=there[0],
            )
        )
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_whole(place / name, text)
    except OSError as error:
        raise unwritten(folder, error) from None
    return tuple(str(place / name) for name in files)

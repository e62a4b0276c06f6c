"""Whole machines: a list of parts judged, and the parts around the cards put together."""

from __future__ import annotations

import sys
from pathlib import Path

from rigright.base.files import read_bounded
from rigright.build.judge import judge
from rigright.build.listed import MOST_BYTES, lines_of
from rigright.build.said import rig_of
from rigright.report.assembled import CheckedList

STDIN = "-"


def check(file: str, *, room: str | None = None) -> CheckedList:
    """Judge the list of parts in a file; `room` is a line `room:` more."""
    if file == STDIN:
        raw, name = sys.stdin.buffer.read(MOST_BYTES + 1)[:MOST_BYTES], "stdin"
    else:
        raw, name = read_bounded(file, MOST_BYTES), Path(file).name
    return check_text(raw, name=name, room=room)


def check_text(raw: bytes | str, *, name: str = "list", room: str | None = None) -> CheckedList:
    """Judge a list of parts."""
    lines = lines_of(raw, name=name)
    if room is not None:
        lines = (*(one for one in lines if one.kind != "room"), *lines_of(f"room: {room}", name="--room"))
    rig = rig_of(lines)
    return CheckedList(rig=rig, rulings=judge(rig), lines=tuple((one.kind, one.text) for one in lines))

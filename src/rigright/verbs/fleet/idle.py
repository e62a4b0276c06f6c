"""The state of every Slurm node, as sinfo says it."""

from __future__ import annotations

import re
import shutil

from rigright.base.errors import MissingError
from rigright.base.patience import patience
from rigright.base.words import say
from rigright.machine.remote.talk import talk
from rigright.verbs.fleet.troubles import BROKEN_OFF, LATE, meant

IDLE = "idle"
PATIENCE_S = 30.0
_STATE = re.compile(r"[a-z]+")


def states() -> dict[str, str]:
    """Node -> its state; at least one of them is idle."""
    lines: list[bytes] = []
    sinfo = shutil.which("sinfo") or "sinfo"
    talked = talk((sinfo, "-h", "-N", "-o", "%N %T"), heard=lines.append, patience_s=patience(PATIENCE_S))
    if talked.ended != "done" or talked.code:
        why = LATE if talked.ended == "late" else meant(talked.complaints) or BROKEN_OFF
        raise MissingError(say("sinfo failed: {why}", why=why))
    fields: dict[str, str] = {}
    for line in lines:
        name, _, state = line.decode("utf-8", "replace").strip().partition(" ")
        word = (
            None if state.endswith("*") else _STATE.match(state.strip().lower())
        )  # "idle*" does not respond
        if name:
            fields.setdefault(name, word[0] if word else "not responding")
    if IDLE not in fields.values():
        shown = ", ".join(sorted(set(fields.values()))) or "?"
        raise MissingError(
            say("no idle Slurm nodes (states: {states}); choose nodes with srun options", states=shown)
        )
    return fields

"""AMD's instruction sets as programs are told of them."""

from __future__ import annotations

import re

from rigright.doctor.record import CheckInput
from rigright.doctor.stack import variable

OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
_VERSION = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{1,2})")


def override_of(case: CheckInput) -> str | None:
    """The instruction set that the variable claims for every card; None where it claims none."""
    match = _VERSION.fullmatch((variable(case, OVERRIDE) or "").strip())
    if match is None:
        return None
    major, minor, stepping = (int(part) for part in match.groups())
    return f"gfx{major}{minor:x}{stepping:x}"


def generation(isa: str) -> str:
    """What all of a generation share: gfx1103 -> "11", gfx90a -> "9"."""
    return isa.removeprefix("gfx")[:-2]

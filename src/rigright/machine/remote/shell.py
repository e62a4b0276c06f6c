"""What a machine without a new Python is read by: one shell script, filled in with what our readers ask for.

Its answer is no form of its own: files, folders, links and commands as they were, for the readers of a live
machine (`opened/collected.py`). So whatever they learn to see, they see there too.
"""

from __future__ import annotations

import re

from rigright.base.tables import DATA
from rigright.machine.parts.surroundings import BEGIN, NAMED
from rigright.machine.remote.parcel import AS_ROOT
from rigright.machine.running.services import MATTER

SCRIPT = "fleet/collect.sh"
MARK = "rigright-collect"


def start_shell(*, as_root: bool = False) -> str:
    """What starts it: the script comes on standard input."""
    return f"{AS_ROOT if as_root else ''}sh -s"


def script(mark: str = MARK) -> str:
    """The whole script; `mark` begins the lines that tell what follows, so that no file can play one."""
    names = "|".join(map(re.escape, (*sorted(NAMED), "HOME", "container", *BEGIN)))
    text = (DATA / SCRIPT).read_text(encoding="utf-8")
    filled = text.replace("@SERVICES@", " ".join(MATTER)).replace("@VARIABLES@", names)
    return filled.replace(f"\nMARK={MARK}\n", f"\nMARK={re.sub('[^a-z0-9-]', '', mark)}\n", 1)

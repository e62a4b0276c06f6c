"""Words of a typed line that name a machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from rigright.base.errors import RigError
from rigright.facts.nodes import find_node

_SMALL = re.compile(r"\d{1,3}(?:\.\d+)?\Z")


def machine_in(words: Sequence[str]) -> list[str]:
    """The last of them that name a machine, not the model before them; "phi 4" is a model."""
    for start in range(len(words)):
        text = " ".join(words[start:])
        with suppress(RigError):
            if not _SMALL.match(text) and find_node(text).cards:
                return list(words[start:])
    return []

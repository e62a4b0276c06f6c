"""What lspci wrote, with as many of -v and -n as it was given."""

from __future__ import annotations

import re

from rigright.machine.pci.lspci import read_lspci
from rigright.machine.record import Read

_HEAD = re.compile(r"^(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] \S.*?: ", re.MULTILINE)


def matches(text: str) -> bool:
    """Whether it begins as a list of the bus does."""
    first = text.lstrip().partition("\n")[0]
    return _HEAD.match(first) is not None


def read(text: str) -> Read:
    """The functions on the bus."""
    return Read(fields=(("pci", read_lspci(text)),))
